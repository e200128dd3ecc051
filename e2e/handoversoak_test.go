//go:build soak

package e2e

import (
	"testing"

	"github.com/evenflow/evenflow/apps/vip"
)

// The whole proof over tunnels: 300 TCP connections and 100 flows of datagrams through twenty changes, and what breaks without hand-over.
func TestHandOverTunnelsWhole(t *testing.T) {
	for _, kind := range []string{"geneve", "vxlan"} {
		t.Run(kind, func(t *testing.T) {
			t.Run("kept", func(t *testing.T) { tryHandOver(t, handOverTunnelled(t, kind, nil), 20) })
			t.Run("lacking", func(t *testing.T) {
				tryLacking(t, func(t *testing.T, set func(*vip.Spec)) *handOver { return handOverTunnelled(t, kind, set) })
			})
		})
	}
}
