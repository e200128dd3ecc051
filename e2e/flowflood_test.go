//go:build soak

package e2e

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

// A host that begins thousands of flows a second at a VIP of mode nat has nobody marked down and, with a meter that suits the machine,
// takes no link from the others. The log says how long the slowest of another client's connections took; without the meter, too.
func TestFlowFlood(t *testing.T) {
	for name, flags := range map[string][]string{
		"default": nil, "metered": {"--config", writeFile(t, "packet_in: {vip: 1000}\n")},
	} {
		t.Run(name, func(t *testing.T) {
			w := line(t, 2, "", flags...)
			client, b1, b2, evil := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2), w.host("b2", 2, 2, 1), w.host("e1", 66, 1, 7)
			serve(8080, b1, b2)
			w.start()
			w.service(vip.Spec{Name: "tcp", Address: address, Protocol: vip.TCP, Port: "80", Health: &vip.Health{Type: vip.HealthTCP}}, 8080, b1, b2)
			w.service(vip.Spec{Name: "udp", Address: address, Protocol: vip.UDP, Port: "80", Health: &vip.Health{Type: vip.HealthARP}}, 8080, b1, b2)
			mac := hostMAC(t, evil)
			stop := flood(t, evil.Frames(), func(int) []byte {
				eth := &layers.Ethernet{SrcMAC: mac, DstMAC: vipMAC, EthernetType: layers.EthernetTypeIPv4}
				ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, DstIP: net.ParseIP(address),
					SrcIP: net.IPv4(10, 0, byte(1+rand.IntN(200)), byte(rand.IntN(256)))}
				udp := &layers.UDP{SrcPort: layers.UDPPort(1 + rand.IntN(65535)), DstPort: 80}
				_ = udp.SetNetworkLayerForChecksum(ip)
				b := gopacket.NewSerializeBuffer()
				_ = gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, eth, ip, udp)
				return b.Bytes()
			})
			defer stop()
			made, failed, worst := 0, 0, time.Duration(0)
			for begin := time.Now(); time.Since(begin) < 20*time.Second; made++ {
				each := time.Now()
				c, err := dial(w.ctx, client, "tcp", "", address+":80")
				if err == nil {
					_, _, err = c.ask("who")
					_ = c.Close()
				}
				if err != nil {
					failed++
				}
				worst = max(worst, time.Since(each))
			}
			stop()
			events, err := list[apps.Event](w.api, "/events?last=1000")
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				down := e.Message == "down" || len(e.Message) > 5 && e.Message[:5] == "down:"
				if down && (e.Kind == "backend" || e.Kind == "link" && name == "metered") {
					t.Error(fmt.Sprint(e.Kind, " ", e.Subject, ": ", e.Message))
				}
				if down {
					t.Log(e.Kind, e.Subject, e.Message)
				}
			}
			if failed > 0 && name == "metered" {
				t.Errorf("%d connections failed", failed)
			}
			t.Logf("%d connections, %d failed, the slowest took %v", made, failed, worst.Round(time.Millisecond))
		})
	}
}
