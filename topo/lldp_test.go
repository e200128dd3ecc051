package topo

import (
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

func TestLLDPFrame(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_123)
	c := newCodec([]byte("key"))
	f := c.append(nil, at(0xabc, 70000), mac(9), now)
	from, sent, err := c.parse(f)
	if from != at(0xabc, 70000) || !sent.Equal(now) || err != nil {
		t.Errorf("read back %v, %v, %v", from, sent, err)
	}
	for i := 14; i < len(f)-2; i++ {
		g := append([]byte(nil), f...)
		g[i] ^= 1
		if from, _, err := c.parse(g); err == nil && from != at(0xabc, 70000) {
			t.Errorf("byte %d changed: read as %v", i, from)
		}
		if i >= len(f)-2-signedLen-macLen {
			if _, _, err := c.parse(g); err == nil {
				t.Errorf("byte %d changed: accepted", i)
			}
		}
	}
	// Another implementation reads it.
	p := gopacket.NewPacket(f, layers.LayerTypeEthernet, gopacket.Default)
	if p.ErrorLayer() != nil {
		t.Fatal(p.ErrorLayer().Error())
	}
	l := p.Layer(layers.LayerTypeLinkLayerDiscovery).(*layers.LinkLayerDiscovery)
	if got := string(l.ChassisID.ID); got != "dpid:0000000000000abc" || l.ChassisID.Subtype != layers.LLDPChassisIDSubTypeLocal {
		t.Errorf("chassis %q", got)
	}
	if got := string(l.PortID.ID); got != "70000" || l.PortID.Subtype != layers.LLDPPortIDSubtypeLocal || l.TTL != 120 {
		t.Errorf("port %q, TTL %d", got, l.TTL)
	}
}

func FuzzLLDP(f *testing.F) {
	c := newCodec([]byte("key"))
	own := c.append(nil, at(1, 2), mac(1), time.UnixMilli(5))
	f.Add(own)
	f.Add(own[:20])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		from, _, err := c.parse(b)
		if err == nil && from != at(1, 2) {
			t.Errorf("accepted: % x", b)
		}
	})
}
