package base

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// sighted keeps what is handed to the topology.
type sighted struct {
	apps.Reply
	all []topo.Sighting
}

func (s *sighted) Sighted(x topo.Sighting) bool {
	s.all = append(s.all, x)
	return true
}

func frame(src flows.MAC, kind uint16, rest ...byte) []byte {
	b := append([]byte{2, 2, 2, 2, 2, 2}, src[:]...)
	return append(append(b, byte(kind>>8), byte(kind)), rest...)
}

func arpFrame(src, sender flows.MAC, op, addr byte) []byte {
	b := append([]byte{0, 1, 8, 0, 6, 4, 0, op}, sender[:]...)
	b = append(b, 10, 0, 0, addr)
	if addr == 0 {
		copy(b[len(b)-4:], []byte{0, 0, 0, 0})
	}
	return frame(src, apps.EtherTypeARP, append(b, make([]byte, 10)...)...)
}

func TestPacketIn(t *testing.T) {
	ten := func(n byte) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, n}) }
	lldp := frame(mac(9), etherTypeLLDP, 1, 2, 3)
	for name, c := range map[string]struct {
		at   topo.PortID
		data []byte
		want []topo.Sighting
	}{
		"LLDP":              {at(1, 3), lldp, []topo.Sighting{{At: at(1, 3), LLDP: lldp}}},
		"new":               {at(1, 1), frame(mac(7), 0x1234), []topo.Sighting{{At: at(1, 1), MAC: mac(7)}}},
		"known":             {at(1, 1), frame(mac(1), 0x1234), nil},
		"not live":          {at(3, 1), frame(mac(3), 0x1234), []topo.Sighting{{At: at(3, 1), MAC: mac(3)}}},
		"moved":             {at(2, 1), frame(mac(1), 0x1234), []topo.Sighting{{At: at(2, 1), MAC: mac(1)}}},
		"ARP, known":        {at(1, 1), arpFrame(mac(1), mac(1), 1, 1), nil},
		"ARP, new address":  {at(1, 1), arpFrame(mac(1), mac(1), 1, 8), []topo.Sighting{{At: at(1, 1), MAC: mac(1), Addr: ten(8)}}},
		"ARP, probe":        {at(1, 1), arpFrame(mac(7), mac(7), 1, 0), []topo.Sighting{{At: at(1, 1), MAC: mac(7)}}},
		"ARP, other sender": {at(1, 1), arpFrame(mac(7), mac(8), 1, 8), []topo.Sighting{{At: at(1, 1), MAC: mac(7)}}},
		"ARP, reply":        {at(1, 1), arpFrame(mac(1), mac(1), 2, 1), []topo.Sighting{{At: at(1, 1), MAC: mac(1), Addr: ten(1)}}},
	} {
		t.Run(name, func(t *testing.T) {
			var f apps.Frame
			data := append([]byte(nil), c.data...)
			if err := apps.ParseFrame(data, &f); err != nil {
				t.Fatal(err)
			}
			var got sighted
			if !New(Config{}).PacketIn(view(true, 1), &apps.Punted{At: c.at, Frame: &f}, &got) {
				t.Error("not handled")
			}
			clear(data) // what is kept must not alias the packet-in
			if diff := cmp.Diff(c.want, got.all, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A copy of what was dropped for its sender is told of, by port, and teaches nothing else.
func TestPacketInForbidden(t *testing.T) {
	cookie := apps.Drop(apps.Cookie(apps.KindDesired, apps.ClassBase, 0))
	for src, reason := range map[flows.MAC]string{
		apps.VIPMAC:            "a VIP's MAC as sender",
		{0x0e, 0xef, 1, 7, 7}:  "marker as sender",
		{0x0e, 0xef, 3}:        "marker as sender",
		{1, 2, 3, 4, 5, 6}:     "group address as sender",
		{0x0e, 0xef, 2, 0, 0}:  "", // an ordinary random MAC
		{0x0e, 0xef, 3, 0, 9}:  "",
		{2, 0xef, 0, 0, 0, 99}: "",
	} {
		var f apps.Frame
		if err := apps.ParseFrame(frame(src, 0x1234, make([]byte, 46)...), &f); err != nil {
			t.Fatal(err)
		}
		var out sighted
		if !New(Config{}).PacketIn(view(true, 1), &apps.Punted{At: at(1, 1), Table: apps.TableClassify, Cookie: cookie, Frame: &f}, &out) {
			t.Errorf("%s: not handled", src)
		}
		var want []topo.Sighting
		if reason != "" {
			want = []topo.Sighting{{At: at(1, 1), MAC: src, Forbidden: reason}}
		}
		if !slices.EqualFunc(out.all, want, func(a, b topo.Sighting) bool { return a.At == b.At && a.MAC == b.MAC && a.Forbidden == b.Forbidden }) {
			t.Errorf("%s: %+v, want %+v", src, out.all, want)
		}
	}
}
