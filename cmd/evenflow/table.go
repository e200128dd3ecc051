package main

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// table is rows of cells, printed in columns.
type table struct {
	rows [][]string
}

func newTable(header ...string) *table { return &table{[][]string{header}} }

// add appends a row; an empty cell is printed as "-".
func (t *table) add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		if row[i] = printable(fmt.Sprint(c), false); row[i] == "" {
			row[i] = "-"
		}
	}
	t.rows = append(t.rows, row)
}

// String is the table with columns two spaces apart.
func (t *table) String() string {
	var widths []int
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	for _, row := range t.rows {
		for i, c := range row {
			b.WriteString(c)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c)+2))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// printable replaces what would move a terminal's cursor or worse: names come from switches and other people.
func printable(s string, lines bool) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || lines && r == '\n' {
			return r
		}
		return '?'
	}, s)
}

// age is a time gone by in one unit, such as "42s" or "3d".
func age(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// since is the age of a moment, empty for none.
func (t *terminal) since(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return age(t.now().Sub(at))
}
