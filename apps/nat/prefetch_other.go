//go:build !amd64

package nat

import "unsafe"

func prefetch(unsafe.Pointer) {}
