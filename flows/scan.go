package flows

import (
	"fmt"
	"strings"
)

// SyntaxError says where a text is wrong and what would be right.
type SyntaxError struct {
	What   string // rule, match, actions, group, meter
	Text   string // the whole text
	Offset int    // of what is wrong, in bytes
	Near   string // what is wrong
	Err    error  // why, and what is allowed
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s %q: at byte %d, %q: %v", e.What, e.Text, e.Offset, e.Near, e.Err)
}

// Unwrap is Err.
func (e *SyntaxError) Unwrap() error { return e.Err }

const delimiters = ", \t\r\n"

// scanner reads items, separated by commas and white space, of text[pos:end].
type scanner struct {
	what, text string
	pos, end   int
}

// item is KEY, KEY=VALUE, KEY:VALUE or KEY(VALUE).
type item struct {
	pos        int
	text       string
	key, value string
	sep        byte // '=', ':', '(', or 0: there is no value
}

func (s *scanner) fail(it item, format string, args ...any) error {
	return &SyntaxError{What: s.what, Text: s.text, Offset: it.pos, Near: it.text, Err: fmt.Errorf(format, args...)}
}

// next is the next item; not ok at the end. A comma or space in parentheses is part of the item.
func (s *scanner) next() (it item, ok bool) {
	for s.pos < s.end && strings.IndexByte(delimiters, s.text[s.pos]) >= 0 {
		s.pos++
	}
	it.pos = s.pos
	for depth := 0; s.pos < s.end; s.pos++ {
		c := s.text[s.pos]
		if c == '(' {
			depth++
		} else if c == ')' {
			depth--
		} else if depth <= 0 && strings.IndexByte(delimiters, c) >= 0 {
			break
		}
	}
	it.text = s.text[it.pos:s.pos]
	it.key = it.text
	if i := strings.IndexAny(it.text, "=:("); i >= 0 {
		it.key, it.sep, it.value = it.text[:i], it.text[i], it.text[i+1:]
	}
	return it, it.text != ""
}

// inner is the items within the parentheses of it.
func (s *scanner) inner(it item) (*scanner, error) {
	if it.sep != '(' || !strings.HasSuffix(it.value, ")") {
		return nil, s.fail(it, "want %s(…)", it.key)
	}
	end := it.pos + len(it.text) - 1
	return &scanner{what: s.what, text: s.text, pos: end - len(it.value) + 1, end: end}, nil
}
