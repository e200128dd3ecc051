//go:build !race

package main

import (
	"strings"
	"testing"
)

// The bar is four times the digest table. Half of that is asserted, as the machine may be busy, and at a size that needs no
// memory beyond a core's own cache, which others do not share.
func TestOthelloIsFasterThanADigestTable(t *testing.T) {
	d := newData(64 << 10)
	var tables []table
	for _, kind := range kinds {
		if kind.name == "Othello, 16 bits" || strings.HasPrefix(kind.name, "digest") {
			x, err := kind.build(d)
			if err != nil {
				t.Fatal(err)
			}
			tables = append(tables, x)
		}
	}
	best := measure(tables, d, 30)
	ratio := best[1].independent / best[0].independent
	t.Logf("Othello %.1f ns, digest table %.1f ns: %.1f times", best[0].independent, best[1].independent, ratio)
	if ratio < 2 {
		t.Errorf("%.1f times as fast as the digest table, want 2 (4 on an idle machine)", ratio)
	}
}
