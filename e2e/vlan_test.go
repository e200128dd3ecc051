package e2e

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// tagged is a frame with VLAN tags put in.
func tagged(frame []byte, tags ...uint32) []byte {
	out := append([]byte(nil), frame[:12]...)
	for _, tag := range tags {
		out = binary.BigEndian.AppendUint32(out, tag)
	}
	return append(out, frame[12:]...)
}

// What carries a VLAN tag, or two, passes between edge ports byte for byte, be it for one or for all: also ARP for an address that
// is a VIP's outside of the VLAN, and TCP between addresses of a connection. Nothing but MACs is learned from it.
func TestVLANPasses(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"OpenFlow15", "OpenFlow13"} {
		t.Run(version, func(t *testing.T) {
			w := line(t, 2, version)
			client, backend, other := w.host("c1", 11, 1, 1), w.host("b1", 1, 2, 1), w.host("h1", 21, 1, 2)
			serve(8080, backend)
			w.start()
			w.service(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80"}, 8080, backend)
			c := w.dial(client, "tcp", ":4000", address+":80") // its rules match the last two frames but for their tags
			w.who(c)

			const late = "10.0.0.77"
			from, to := hostMAC(t, client), hostMAC(t, backend)
			arp := arpRequest(t, client, address)
			copy(arp[28:32], []byte{10, 0, 0, 77}) // sender's address
			to80 := segment{from, to, client.IP(), address, 4000, 80, "A", 1, 1, "tagged"}.frame(t)
			back := segment{to, from, backend.IP(), client.IP(), 8080, 4000, "A", 1, 1, "tagged"}.frame(t)
			unknown := append([]byte(nil), to80...)
			copy(unknown[6:], []byte{2, 0, 0, 0, 7, 7}) // a sender that only a VLAN knows
			atClient, atBackend, atOther := client.Frames(), backend.Frames(), other.Frames()
			for _, tags := range [][]uint32{{0x8100_0007}, {0x8100_e007}, {0x88a8_2007, 0x8100_0009}} {
				for _, way := range []struct {
					name  string
					frame []byte
					back  bool
					all   bool
				}{{"ARP", arp, false, true}, {"to the VIP's address", to80, false, false}, {"from an unknown sender", unknown, false, false},
					{"an answer of the backend", back, true, false}} {
					frame := tagged(way.frame, tags...)
					in, out := atClient, atBackend
					if way.back {
						in, out = out, in
					}
					arrives := func(where string, at *lab.Frames) {
						w.Eventually(patience, func() error { // a busy machine loses some
							if err := in.Send(frame); err != nil {
								return err
							}
							ctx, cancel := context.WithTimeout(w.ctx, time.Second)
							defer cancel()
							if _, err := at.Receive(ctx, func(b []byte) bool { return bytes.Equal(b, frame) }); err != nil {
								return fmt.Errorf("%s, tags %x, %s: %w", way.name, tags, where, err)
							}
							return nil
						})
					}
					arrives("at its host", out)
					if way.all {
						arrives("at another host", atOther)
					}
				}
			}
			w.who(c)
			w.Eventually(patience, func() error {
				if err := atClient.Send(tagged(unknown, 0x8100_0007)); err != nil {
					return err
				}
				hosts, err := w.hosts()
				if err != nil {
					return err
				}
				text := fmt.Sprint(hosts)
				if strings.Contains(text, late) {
					t.Errorf("learned from a VLAN: %s", text)
				}
				if !strings.Contains(text, "02:00:00:00:07:07") {
					return fmt.Errorf("not learned: %s", text)
				}
				return nil
			})
		})
	}
}
