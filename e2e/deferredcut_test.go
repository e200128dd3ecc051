package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// While the only cable to some backends is out, their connections wait, and are not given to others, who would reset them; when it is back they
// go on.
func TestDeferredCut(t *testing.T) {
	p := newHandOver(t, 9, nil)
	p.begin(60, 0, 0)
	p.cables["s1-s2"].Cut()
	p.Eventually(patience, func() error { // it is known, and packets have met that
		for line := range strings.Lines(p.sw(1).Ofctl("dump-flows", "table=60")) {
			if strings.Contains(line, "nw_dst="+address+" ") && !strings.Contains(line, "n_packets=0,") {
				return nil
			}
		}
		return fmt.Errorf("nothing is without a way")
	})
	p.cables["s1-s2"].Restore()
	p.awaitReady()
	asked := p.asked.Load()
	p.Eventually(patience, func() error {
		if n := p.asked.Load() - asked; n < 600 {
			return fmt.Errorf("%d answers", n)
		}
		return nil
	})
	if broken, moved := p.end(); broken != 0 || moved != 0 {
		t.Errorf("%d connections are broken, %d moved", broken, moved)
	}
}
