package e2e

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// The same over tunnels between the switches, which are links, found by LLDP. Markers are in the frame that is tunnelled. What is large
// gets through if one of client and backends has an MTU with room for what a tunnel adds.
//
//	c1 ── s1 ══ s2 ══ s3
//	      │    │     │
//	    b1 b2 b3 b4 b5 b6
func TestHandOverTunnels(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"geneve", "vxlan"} {
		t.Run(kind, func(t *testing.T) {
			p := handOverTunnelled(t, kind, nil)
			w := p.network
			bulk := vip.Spec{Name: "bulk", Address: address, Protocol: vip.TCP, Port: "90", Mode: vip.ModeDeferred}
			far := p.backends[2:] // that is, not at the client's switch
			for _, h := range far {
				echo(h, 9000)
			}
			w.service(bulk, 9000, far...)
			for _, c := range []struct {
				client, backends int
				fits             bool
			}{{1500, 1500, false}, {1500, 1451, false}, {1450, 1500, true}, {1500, 1450, true}} {
				w.setMTU(c.client, p.client)
				w.setMTU(c.backends, far...)
				limit := patience
				if !c.fits {
					limit = 2 * time.Second
				}
				n, err := w.transfer(p.client, limit)
				if c.fits != (err == nil) {
					t.Errorf("MTU %d of the client, %d of the backends: %d bytes have come back: %v", c.client, c.backends, n, err)
				}
			}
			if known := w.sw(1).Appctl("dpctl/dump-conntrack"); known != "" {
				t.Errorf("the gateway has tracked\n%s", known)
			}
			p.begin(60, 20, 20)
			for range 6 {
				p.change("")
			}
			p.whole()
			for _, s := range w.switches[1:] {
				if handedOver(t, s) == 0 {
					t.Errorf("%s has handed nothing over", s.Name())
				}
			}
		})
	}
}

// handOverTunnelled is [newHandOver] with tunnels for cables.
func handOverTunnelled(t *testing.T, kind string, set func(*vip.Spec)) *handOver {
	w := newNetwork(t, 3, "OpenFlow15")
	for i := range 2 {
		w.Tunnel(kind, w.sw(i+1), 10, w.sw(i+2), 11, 1500)
	}
	p := handOverIn(w, 37, set)
	w.awaitLinks(2)
	return p
}

func (w *network) setMTU(mtu int, hosts ...*lab.Host) {
	w.t.Helper()
	for _, h := range hosts {
		if _, err := h.Run(w.ctx, "ip", "link", "set", "eth0", "mtu", fmt.Sprint(mtu)); err != nil {
			w.t.Fatal(err)
		}
	}
}

// transfer sends four megabytes to the echo behind the VIP's port 90, and gives up after limit.
func (w *network) transfer(client *lab.Host, limit time.Duration) (back int64, err error) {
	c := w.dial(client, "tcp", "", address+":90")
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(limit))
	sent := make(chan error, 1)
	go func() {
		_, err := io.CopyN(c, zeros{}, bulkSize)
		sent <- errors.Join(err, c.Conn.(*net.TCPConn).CloseWrite())
	}()
	back, err = io.Copy(io.Discard, c.Conn)
	err = errors.Join(err, <-sent)
	if err == nil && back != bulkSize {
		err = io.ErrUnexpectedEOF
	}
	return back, err
}

const bulkSize = 4_000_000

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
