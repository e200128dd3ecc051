package nat

import "unsafe"

// prefetch has the processor begin to fetch the line of memory at p, and waits for nothing.
//
//go:noescape
func prefetch(p unsafe.Pointer)
