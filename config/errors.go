package config

import (
	"fmt"
	"strings"
)

// Error is one thing wrong in a file.
type Error struct {
	File    string
	Line    int    // 0: the file as a whole
	Key     string // path such as "vips[0].backends[1].port"; "": the place in the line is not a key
	Message string // what is wrong, and what is allowed
}

// Error is "FILE:LINE: KEY: what is wrong".
func (e Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	if e.Key != "" {
		b.WriteString(": " + e.Key)
	}
	b.WriteString(": " + e.Message)
	return b.String()
}

// Errors is all that is wrong in a file, in the order of its lines.
type Errors []Error

// Error is one line for each.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "\n")
}
