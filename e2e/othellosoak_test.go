//go:build soak

package e2e

import "testing"

// So many connections are displaced that their pins are in cells.
func TestOthelloThousands(t *testing.T) {
	if pins, rows := tryAgents(t, 1600); pins < 1000 || rows == 0 {
		t.Errorf("%d pins, %d rows of cells", pins, rows)
	}
}
