//go:build soak

package e2e

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// arrivals notes when a datagram last came to a host's port.
func arrivals(h *lab.Host, port int) *atomic.Int64 {
	last := &atomic.Int64{}
	receive(h, at(h.IP(), port), func(net.Addr, []byte) []byte {
		last.Store(time.Now().UnixNano())
		return nil
	})
	return last
}

// datagram is one to the VIP from any address, as a host would forward it.
func datagram(t *testing.T, h *lab.Host, from net.IP, port uint16) []byte {
	t.Helper()
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: from, DstIP: net.ParseIP(address)}
	udp := &layers.UDP{SrcPort: layers.UDPPort(port), DstPort: 80}
	if err := udp.SetNetworkLayerForChecksum(ip); err != nil {
		t.Fatal(err)
	}
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		&layers.Ethernet{SrcMAC: hostMAC(t, h), DstMAC: vipMAC, EthernetType: layers.EthernetTypeIPv4}, ip, udp, gopacket.Payload("x")); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// How long what Open vSwitch has cached outlives a confirmed change: a datagram a millisecond goes to a backend that is disabled,
// one after the other, with few flows cached and with up to 20,000. It measures, and fails only if a change has no effect at all.
func TestRuleDelay(t *testing.T) {
	w := line(t, 1, "")
	client, b1, b2 := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2), w.host("b2", 2, 1, 3)
	arrived := map[string]*atomic.Int64{"b1": arrivals(b1, 8080), "b2": arrivals(b2, 8080)}
	w.sw(1).Vsctl("set", "Open_vSwitch", ".", "other_config:flow-limit=200000", "other_config:max-idle=600000")
	w.start()
	w.service(vip.Spec{Name: "web", Address: address, Protocol: vip.UDP, Port: "80", Mode: vip.ModeGroup}, 8080, b1, b2)
	probe := w.dial(client, "udp", "", at(address, 80))
	go func() {
		for range time.Tick(time.Millisecond) {
			if _, err := probe.Write([]byte("x")); w.ctx.Err() != nil {
				return
			} else if err != nil {
				continue // refused, in between
			}
		}
	}()
	measure := func(what string, before func()) {
		t.Helper()
		const rounds = 20
		var delays []float64
		for range rounds {
			before()
			name, since := "", time.Now().UnixNano()
			w.Eventually(patience, func() error {
				for name = range arrived {
					if arrived[name].Load() > since {
						return nil
					}
				}
				return fmt.Errorf("%s: nothing comes to any backend", what)
			})
			last := arrived[name]
			w.change(http.MethodPatch, "web/backends/"+name, map[string]any{"admin": "disabled"})
			confirmed := time.Now()
			for quiet := confirmed; time.Since(quiet) < 300*time.Millisecond; time.Sleep(time.Millisecond) {
				if at := time.Unix(0, last.Load()); at.After(quiet) {
					quiet = at
				}
				if time.Since(confirmed) > patience {
					t.Fatalf("%s: datagrams still come to a backend that is disabled", what)
				}
			}
			delays = append(delays, max(time.Unix(0, last.Load()).Sub(confirmed).Seconds()*1000, 0))
			w.change(http.MethodPatch, "web/backends/"+name, map[string]any{"admin": "enabled"})
		}
		slices.Sort(delays)
		t.Logf("%s: the last datagram %.1f ms after the confirmation (median of %d), p90 %.1f ms, at most %.1f ms", what, delays[rounds/2], rounds,
			delays[rounds*9/10], delays[rounds-1])
	}
	cached := func(what string) int { // a number of upcall/show
		m := regexp.MustCompile(`\(` + what + ` (\d+)\)`).FindStringSubmatch(w.sw(1).Appctl("upcall/show"))
		if m == nil {
			t.Fatalf("no %s number of flows", what)
		}
		n, _ := strconv.Atoi(m[1])
		return n
	}
	measure("few flows", func() {})
	in := client.Frames()
	send := func(n int) {
		for i := range n {
			if err := in.Send(datagram(t, client, net.IPv4(10, 0, byte(1+i/1000), 9), uint16(10000+i%1000))); err != nil {
				t.Fatal(err)
			}
			if i%50 == 0 {
				time.Sleep(time.Millisecond) // or the port's queue runs over
			}
		}
	}
	// Open vSwitch begins with a limit of 10,000 and raises it while it holds fewer; one that is reached empties the cache.
	send(8000)
	w.Eventually(patience, func() error {
		if n := cached("limit"); n < 30000 {
			return fmt.Errorf("the limit is %d flows", n)
		}
		return nil
	})
	least := math.MaxInt
	measure("many flows", func() { // at a change a switch that is pressed for time throws away what is little used
		for tries := 0; tries < 10 && cached("current") < 20000; tries++ {
			send(20000)
		}
		least = min(least, cached("current"))
	})
	t.Logf("many are %d flows and more", least)
}
