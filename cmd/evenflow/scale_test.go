//go:build scale

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/sirupsen/logrus"

	"github.com/evenflow/evenflow/config"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
	"github.com/evenflow/evenflow/topo"
)

const (
	scaleSwitches = 50
	scalePorts    = 20
	scaleEdges    = 16 // of them, with hosts
	scaleVIPs     = 200
)

// TestScale serves a made-up network of 50 switches with 1,000 ports, traffic at all of them, and 200 VIPs whose clients come
// without end, at the address in EVENFLOW_SCALE until standard input ends: for web/dashboard/test/scale.mjs to look at.
func TestScale(t *testing.T) {
	address := os.Getenv("EVENFLOW_SCALE")
	if address == "" {
		t.Fatal("EVENFLOW_SCALE names no address; see scripts/bench-dashboard")
	}
	log := logrus.New()
	log.SetOutput(io.Discard)
	s := settings{Config: config.Default()}
	s.HTTP, s.Data, s.OpenFlow = address, filepath.Join(t.TempDir(), "data"), []string{"unix:" + filepath.Join(t.TempDir(), "of")}
	for i := 1; i < scaleSwitches; i++ { // a tree: each switch but the first has a cable to the one of a third its number
		s.Ports = append(s.Ports, config.Port{DPID: flows.DPID(i + 1), PortNo: scalePorts, Kind: "link",
			Link: &topo.PortID{DPID: flows.DPID((i-1)/3 + 1), No: uint32(scalePorts - 1 - (i-1)%3)}})
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, s, log) }()
	fakes := scaleFabric(ctx, t, s.OpenFlow[0][len("unix:"):])
	scaleHosts(fakes)
	for i := range scaleVIPs {
		scaleVIP(ctx, t, address, i)
	}
	fmt.Println("ready")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		io.Copy(io.Discard, os.Stdin) //nolint:errcheck // its end is what counts
	}()
	tick, heard := time.NewTicker(5*time.Millisecond), time.NewTicker(20*time.Second)
	for {
		select {
		case <-ended:
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
			return
		case err := <-done:
			t.Fatal(err)
		case <-heard.C: // or they would be taken for dead
			scaleHosts(fakes)
		case <-tick.C: // 200 new connections a second
			fakes[rand.IntN(len(fakes))].PacketIn(1, 0, scaleSYN(rand.IntN(scaleVIPs)))
		}
	}
}

// scaleFabric connects the switches. Ports count as a sine of the time.
func scaleFabric(ctx context.Context, t *testing.T, path string) []*controllertest.Switch {
	t.Helper()
	ports := make([]uint32, scalePorts)
	for i := range ports {
		ports[i] = uint32(i + 1)
	}
	fakes := make([]*controllertest.Switch, scaleSwitches)
	for i := range fakes {
		traffic := func(port uint32) openflow.PortStats {
			sec := float64(time.Now().UnixMilli())/1000 - 1.7e9
			phase := float64(port) + float64(i)/7
			n := uint64(2e7*sec + 1e8*(1+math.Sin(sec/20+phase)))
			return openflow.PortStats{No: port, RxBytes: n, TxBytes: n / 2, RxPackets: n / 800, TxPackets: n / 900, DurationSec: uint32(sec)}
		}
		fakes[i] = controllertest.NewSwitch(flows.DPID(i+1), controllertest.Ports(ports...), controllertest.Traffic(traffic))
		for fakes[i].Dial(ctx, "unix", path) != nil {
			time.Sleep(10 * time.Millisecond) // the socket is not there yet
		}
	}
	for _, f := range fakes { // until LLDP has told that all ports are edges
		if err := f.Await(ctx, func() bool { return f.Count(openflow.TypePacketOut) >= 3*scaleEdges }); err != nil {
			t.Fatal(err)
		}
		f.Forget()
	}
	return fakes
}

func scaleMAC(i int) net.HardwareAddr { return net.HardwareAddr{2, 0, 0, 0, byte(i >> 8), byte(i)} }
func scaleIP(i int) net.IP            { return net.IPv4(10, 1, byte(i>>8), byte(i)).To4() }

func scaleFrame(l ...gopacket.SerializableLayer) []byte {
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, l...); err != nil {
		panic(err)
	}
	return bytes.Clone(b.Bytes())
}

// scaleHosts lets a host be heard at the first 16 ports of all switches.
func scaleHosts(fakes []*controllertest.Switch) {
	for i := range scaleSwitches * scaleEdges {
		mac, ip := scaleMAC(i), scaleIP(i)
		fakes[i/scaleEdges].PacketIn(uint32(i%scaleEdges+1), 0, scaleFrame(
			&layers.Ethernet{SrcMAC: mac, DstMAC: layers.EthernetBroadcast, EthernetType: layers.EthernetTypeARP},
			&layers.ARP{AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4,
				Operation: layers.ARPRequest, SourceHwAddress: mac, SourceProtAddress: ip, DstHwAddress: make([]byte, 6), DstProtAddress: net.IPv4(10, 1, 255, 254).To4()}))
	}
}

// scaleVIP declares a VIP with four backends.
func scaleVIP(ctx context.Context, t *testing.T, address string, i int) {
	t.Helper()
	var backends []map[string]any
	for k := range 4 {
		backends = append(backends, map[string]any{"name": fmt.Sprintf("b%d", k+1), "address": scaleIP(4*i + k).String(), "weight": k%2 + 1})
	}
	body, err := json.Marshal(map[string]any{"name": fmt.Sprintf("vip-%03d", i), "address": fmt.Sprintf("10.2.0.%d", i+1),
		"protocol": "tcp", "port": 80, "mode": "nat", "backends": backends})
	if err != nil {
		t.Fatal(err)
	}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/api/v1/vips", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			time.Sleep(20 * time.Millisecond) // it does not listen yet
			continue
		}
		told, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != http.StatusCreated {
			t.Fatalf("VIP %d: %s: %s", i, res.Status, told)
		}
		return
	}
}

// scaleSYN is the first packet of a connection to a VIP.
func scaleSYN(i int) []byte {
	client := rand.IntN(scaleSwitches * scaleEdges)
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolTCP, SrcIP: scaleIP(client), DstIP: net.IPv4(10, 2, 0, byte(i+1))}
	tcp := &layers.TCP{SrcPort: layers.TCPPort(1024 + rand.IntN(60000)), DstPort: 80, SYN: true, Window: 64000}
	if err := tcp.SetNetworkLayerForChecksum(ip); err != nil {
		panic(err)
	}
	eth := &layers.Ethernet{SrcMAC: scaleMAC(client), DstMAC: net.HardwareAddr{2, 0xef, 0, 0, 0, 1}, EthernetType: layers.EthernetTypeIPv4}
	return scaleFrame(eth, ip, tcp)
}
