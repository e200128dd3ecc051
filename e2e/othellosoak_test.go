//go:build soak

package e2e

import "testing"

// The whole proof: so many connections are displaced that their pins are in cells.
func TestOthelloProofWhole(t *testing.T) {
	if pins, rows := tryProof(t, 5000, 120, 600); pins < 1000 || rows == 0 {
		t.Errorf("%d pins, %d rows of cells", pins, rows)
	}
}
