package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be a peer of compare.
func TestMain(m *testing.M) {
	switch os.Getenv("OFLOAD_HELPER") {
	case "":
		os.Exit(m.Run())
	case "main":
		if a := os.Getenv("HELPER_HTTP"); a != "" && os.Args[1] == "reflect" {
			if _, err := net.Listen("tcp", a); err != nil {
				panic(err)
			}
		}
		if os.Args[1] == "setup" { // setup HTTP FILE: the port must answer
			c, err := net.Dial("tcp", os.Args[2])
			if err != nil || os.Getenv("HELPER_HTTP") != os.Args[2] {
				fmt.Println("setup:", err)
				os.Exit(3)
			}
			_ = c.Close()
			f, _ := os.OpenFile(os.Args[3], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
			fmt.Fprintln(f, "set up")
			_ = f.Close()
			os.Exit(0)
		}
		main()
	}
}

type end struct {
	sw   int
	port uint32
}

func idx(dpid uint64) int { return int(dpid&0xffff) - 1 }

func TestLinksAreDiscovered(t *testing.T) {
	for _, of := range []string{"1.3", "1.5"} {
		for _, topo := range []string{linksLine, linksRing, linksStar} {
			for bundle := range 3 {
				et := uint16(0x88cc)
				if bundle == 1 {
					et = 0x8942
				}
				found := map[end]end{}
				c := &ctl{ver: map[string]byte{"1.3": ver13, "1.5": ver15}[of]}
				bad := ""
				c.up = func(x *ctlConn) {
					for p := uint32(1); p <= 6; p++ {
						x.out(0xfffffffd, p, lldp(x.dpid, p, et), bundle)
						x.out(0xfffffffd, p, append(lldp(x.dpid, p, 0x0800), make([]byte, 40)...), bundle) // must stay
					}
				}
				n := 0
				c.on = func(x *ctlConn, p pin) {
					switch got := be.Uint16(p.frame[12:]); got {
					case et:
						found[end{idx(be.Uint64(p.frame[14:])), be.Uint32(p.frame[22:])}] = end{idx(p.dpid), p.port}
						if p.reason != reasonAction {
							bad = "reason"
						}
					case 0x88b5:
						x.out(p.port, portFlood, p.frame, 0)
						if n++; n%50 == 1 { // discovery goes on
							x.out(0xfffffffd, portAll, lldp(x.dpid, 0, et), bundle)
						}
					default:
						bad = fmt.Sprintf("%x relayed", got)
					}
				}
				o := quick(c.start(t), of, plL2, "latency")
				o.Switches, o.Ports, o.Links, o.Settle = 4, 6, topo, time.Second
				o.Duration = 100 * time.Millisecond
				r, err := Run(context.Background(), o)
				if err != nil {
					t.Fatal(err)
				}
				name := of + " " + topo
				c.mu.Lock()
				want := map[end]end{}
				for i := range 4 {
					for _, l := range switchLinks(topo, i, 4, 6) {
						want[end{i, l.port}] = end{l.peer, l.peerPort}
					}
				}
				delete(found, end{0, 0})
				for i := range 4 {
					delete(found, end{i, 0})
				}
				if fmt.Sprint(found) != fmt.Sprint(want) || bad != "" {
					t.Errorf("%s: found %v, want %v %s", name, found, want, bad)
				}
				c.mu.Unlock()
				if r.Before.Relayed != uint64(len(want)) || r.Before.RelayDrop != 0 || r.Counts.Relayed == 0 || r.Counts.Done == 0 || r.Counts.Unmatched != 0 {
					t.Errorf("%s: before %+v, load %+v", name, r.Before, r.Counts)
				}
			}
		}
	}
}

// Every link is there from both ends, and no port serves two purposes.
func TestPlan(t *testing.T) {
	for _, topo := range []string{linksNone, linksLine, linksRing, linksStar} {
		for _, where := range []string{"first", "spread"} {
			for _, n := range []int{1, 2, 3, 5} {
				o := defaults()
				o.Links, o.Switches, o.Ports, o.Hosts, o.HostSwitch = topo, n, 8, 23, where
				plans, err := planNet(&o)
				if err != nil {
					t.Fatalf("%s %d: %v", topo, n, err)
				}
				hosts, links := map[uint32]bool{}, 0
				for i, p := range plans {
					use := map[uint32]string{}
					claim := func(port uint32, by string) {
						if had := use[port]; had != "" && had != by || port < 1 || port > 8 {
							t.Errorf("%s %d: port %d of %d: %s and %s", topo, n, port, i, had, by)
						}
						use[port] = by
					}
					for k, l := range p.links {
						links++
						claim(l.port, fmt.Sprint("link", k))
						back := false
						for _, m := range plans[l.peer].links {
							back = back || m.port == l.peerPort && m.peer == i && m.peerPort == l.port
						}
						if !back || l.peer == i {
							t.Errorf("%s %d: link %d of %d has no other end", topo, n, k, i)
						}
					}
					for _, h := range p.hosts {
						hosts[h.ip] = true
						claim(h.port, "host")
					}
					for c := range p.clientPorts {
						claim(p.firstClient+c, "client")
					}
					if p.clientPorts < 1 || len(use) > 8 {
						t.Errorf("%s %d: %+v", topo, n, p)
					}
				}
				want := map[string]int{linksNone: 0, linksLine: 2 * (n - 1), linksStar: 2 * (n - 1), linksRing: 2 * n}[topo]
				if n == 1 {
					want = 0
				}
				if len(hosts) != 23 || links != want {
					t.Errorf("%s %d %s: %d hosts, %d link ends", topo, n, where, len(hosts), links)
				}
			}
		}
	}
	for _, f := range []func(o *Options){
		func(o *Options) { o.Links = "mesh" },
		func(o *Options) { o.Links, o.Switches = linksStar, 5 },
		func(o *Options) { o.Hosts, o.Ports = 1, 1 },
		func(o *Options) { o.Hosts, o.HostBase = 1, "x" },
		func(o *Options) { o.HostSwitch = "all" },
		func(o *Options) { o.Hosts, o.HostBase, o.Payload = 300, "10.1.0.200", plSYN },
		func(o *Options) { o.Target, o.Payload = "10.1.0.9", plSYN },
		func(o *Options) { o.Complete, o.FIFO = "both", true },
	} {
		o := quick("127.0.0.1:1", "1.3", plL2, "latency")
		f(&o)
		if _, err := Run(context.Background(), o); err == nil || strings.Contains(err.Error(), "connect") {
			t.Errorf("%+v was not refused: %v", o, err)
		}
	}
}

// Hosts announce themselves and answer ARP, echo and SYN, with the load on.
// Meanwhile the SYNs of the load sent on to a host are not answered.
func TestHostsAnswer(t *testing.T) {
	for _, of := range []string{"1.3", "1.5"} {
		for _, where := range []string{"first", "spread"} {
			const n = 7
			gw := host{ip: 0x0a0000fe, mac: [6]byte{2, 0, 0x5e, 0, 1, 1}}
			type seen struct {
				at             end
				arp, echo, syn int
			}
			hosts := map[uint32]*seen{}
			bad := ""
			fail := func(s string, a ...any) { bad += fmt.Sprintf(s, a...) + "\n" }
			c := &ctl{ver: map[string]byte{"1.3": ver13, "1.5": ver15}[of]}
			c.on = func(x *ctlConn, p pin) {
				f := p.frame
				switch be.Uint16(f[12:]) {
				case 0x0806:
					ip := be.Uint32(f[28:])
					if [6]byte(f[6:12]) != hostMAC(ip) || [6]byte(f[22:28]) != hostMAC(ip) {
						fail("ARP source of %x", ip)
					}
					if f[21] == 1 { // announcement
						if be.Uint32(f[38:]) != ip {
							fail("not gratuitous")
						}
						if hosts[ip] != nil {
							return
						}
						hosts[ip] = &seen{at: end{idx(p.dpid), p.port}}
						x.out(0xfffffffd, portFlood, appendARP(nil, 1, gw.mac, gw.ip, [6]byte{}, ip), 0)
						x.out(0xfffffffd, 8, appendARP(nil, 1, gw.mac, gw.ip, [6]byte{}, ip), 0)     // not its port
						x.out(p.port, portFlood, appendARP(nil, 1, gw.mac, gw.ip, [6]byte{}, ip), 0) // in_port is left out
						return
					}
					h := hosts[ip]
					h.arp++
					if be.Uint32(f[38:]) != gw.ip || [6]byte(f[:6]) != gw.mac || h.at != (end{idx(p.dpid), p.port}) {
						fail("ARP reply % x", f)
					}
					e := appendIPv4(nil, &gw, hostMAC(ip), ip, 1, 13)
					e = append(e, 8, 0, 0, 0, 1, 2, 3, 4, 'h', 'e', 'l', 'l', 'o')
					be.PutUint16(e[36:], checksum(e[34:], 0))
					x.out(0xfffffffd, p.port, e, 0)
					y := appendIPv4(nil, &gw, hostMAC(ip), ip, 6, 20)
					y = append(y, 0x9c, 0x40, 0x1f, 0x90, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0x50, 2, 1, 1, 0, 0, 0, 0)
					wrong := append([]byte(nil), y...)
					x.out(0xfffffffd, p.port, wrong, 0) // its checksum is missing
					be.PutUint16(y[50:], checksum(y[34:], pseudo(gw.ip, ip, 6, 20)))
					x.out(0xfffffffd, p.port, y, 0)
				case 0x0800:
					b := f[14:]
					src, dst, total := be.Uint32(b[12:]), be.Uint32(b[16:]), int(be.Uint16(b[2:]))
					if checksum(b[:20], 0) != 0 {
						fail("IPv4 checksum")
					}
					l4 := b[20:total]
					if dst == 0x0a630001 { // the load: NAT to the first host and send on
						x.flow(f, false)
						g := append([]byte(nil), f...)
						copy(g, []byte{2, 0, 0, 0, 0, 1, 2, 0, 0x5e, 0, 1, 1})
						be.PutUint32(g[30:], 0x0a000001)
						g[24], g[25], g[50], g[51] = 0, 0, 0, 0
						be.PutUint16(g[24:], checksum(g[14:34], 0))
						be.PutUint16(g[50:], checksum(g[34:58], pseudo(be.Uint32(g[26:]), 0x0a000001, 6, 24)))
						x.out(p.port, 1, g, 0)
						return
					}
					h := hosts[src]
					if h == nil || dst != gw.ip || [6]byte(f[:6]) != gw.mac || h.at != (end{idx(p.dpid), p.port}) {
						fail("answer % x", f)
						return
					}
					if b[9] == 1 {
						h.echo++
						if checksum(l4, 0) != 0 || l4[0] != 0 || string(l4[8:]) != "hello" || be.Uint32(l4[4:]) != 0x01020304 {
							fail("echo reply % x", l4)
						}
					} else {
						h.syn++
						if checksum(l4, pseudo(src, dst, 6, len(l4))) != 0 || l4[13] != 0x12 || be.Uint32(l4[8:]) != 0 || be.Uint32(l4) != 0x1f909c40 {
							fail("SYN-ACK % x", l4)
						}
					}
				}
			}
			o := quick(c.start(t), of, plSYN, "latency")
			o.Switches, o.Ports, o.Hosts, o.HostSwitch, o.Settle, o.Complete = 2, 8, n, where, 200*time.Millisecond, "both"
			r, err := Run(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			c.mu.Lock()
			if len(hosts) != n || bad != "" {
				t.Errorf("%d hosts; %s", len(hosts), bad)
			}
			for ip, h := range hosts {
				if h.arp != 1 || h.echo != 1 || h.syn != 1 {
					t.Errorf("%x: %+v", ip, *h)
				}
			}
			c.mu.Unlock()
			if b := r.Before; b.HostAnnounce != n || b.HostARP != n || b.HostEcho != n || b.HostSYN != n || b.HostBad != n || b.Relayed != 0 {
				t.Errorf("before the load: %+v", b)
			}
			if l := r.Counts; l.Done == 0 || l.HostSYN != 0 || l.Lost != 0 || l.Unmatched != 0 || l.Control != 0 {
				t.Errorf("load: %+v", l)
			}
		}
	}
}

// A host is found across switches, when the controller floods ARP on.
func TestARPIsRelayed(t *testing.T) {
	var reply pin
	c := &ctl{ver: ver13}
	asked := false
	c.on = func(x *ctlConn, p pin) {
		f := p.frame
		if be.Uint16(f[12:]) != 0x0806 {
			x.out(p.port, portFlood, f, 0)
			return
		}
		switch {
		case f[21] == 2:
			reply = p
		case be.Uint32(f[28:]) == 0x0a0000fe:
			if p.reason != reasonNoMatch {
				t.Error("reason")
			}
			x.out(p.port, portFlood, f, 0) // on to the next switch, not back
		case !asked && len(c.sw) == 3:
			asked = true
			c.sw[x.dpid+2].out(0xfffffffd, portAll, appendARP(nil, 1, [6]byte{2, 1}, 0x0a0000fe, [6]byte{}, 0x0a000001), 1)
		}
	}
	o := quick(c.start(t), "1.3", plL2, "latency")
	o.Links, o.Hosts, o.Settle = linksLine, 1, 900*time.Millisecond // the second announcement may be the first with all switches known
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if idx(reply.dpid) != 0 || reply.port != 1 || r.Before.Relayed != 2 {
		t.Errorf("%+v %+v", reply, r.Before)
	}
}

func TestRelayQueueIsBounded(t *testing.T) {
	s := newSw(0, swConfig{ver: ver13, window: 1}, nil, nil)
	n := 0
	for range relayQueue + 10 {
		if s.push(relayed{1, 0, []byte{1}}) {
			n++
		}
	}
	if n != relayQueue {
		t.Errorf("%d frames queued", n)
	}
	s.takeRelayed()
	if s.cnt.relayed.Load() != relayQueue || !s.push(relayed{1, 0, []byte{1}}) {
		t.Error("the queue was not emptied")
	}
	nd := append([]byte{0x33, 0x33, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 24, 58, 255}, make([]byte, 56)...)
	nd[14+40] = 135
	if k, _ := netFrame(nd); k != nkND {
		t.Error("ND not known")
	}
	nd[14+40] = 128
	if k, _ := netFrame(nd); k != nkOther {
		t.Error("an IPv6 echo is no ND")
	}
}

func TestCompleteBoth(t *testing.T) {
	for _, v := range []struct {
		order    string
		complete string
		mean     float64
	}{{"mbo", "both", 2}, {"omb", "both", 2}, {"mo", "both", 1}, {"bmo", "both", 2}, {"o", "both", 0}, {"bo", "both", 0}, {"m", "both", 0}, {"omb", "out", 2}, {"o", "any", 0}} {
		c := &ctl{ver: ver13}
		c.on = func(x *ctlConn, p pin) {
			for _, a := range v.order {
				switch a {
				case 'm':
					x.flow(p.frame, false)
				case 'b':
					x.flow(p.frame, true)
				case 'o':
					x.out(p.port, 1, p.frame, 0)
				}
			}
		}
		o := quick(c.start(t), "1.3", plSYN, "throughput")
		half := v.complete == "both" && (v.order == "o" || v.order == "bo" || v.order == "m")
		o.Complete, o.Duration = v.complete, 200*time.Millisecond
		if half { // nothing completes, so wait no longer than needed to see that
			o.Timeout = 50 * time.Millisecond
		}
		r, err := Run(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		if half != (r.Counts.Done == 0) || half != (r.Counts.Lost > 0) {
			t.Errorf("%v: %+v", v, r.Counts)
		}
		// those completed last may lack a FLOW_MOD
		lacking := v.mean * float64(o.Switches*o.Window) / float64(max(r.LatencyUS.N, 1))
		if d := r.FlowMods.Mean - v.mean; !half && (d > 0 || d < -lacking) {
			t.Errorf("%v: %+v", v, r.FlowMods)
		}
	}
}

func TestRate(t *testing.T) {
	addr := startReflector(t, &reflector{ver: ver13, mod: true, out: true})
	o := quick(addr, "1.3", plSYN, "latency")
	o.Switches, o.Rate, o.Window, o.Duration = 4, 2000, 0, 500*time.Millisecond
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if due := 2000 * r.DurationS; float64(r.Scheduled) < .8*due || float64(r.Scheduled) > 1.2*due {
		t.Errorf("%d scheduled in %v s at 2000/s", r.Scheduled, r.DurationS)
	}
	if r.Counts.Done == 0 || r.Counts.Done > r.Scheduled+uint64(o.Switches)*1<<slotBits || r.Counts.Lost != 0 || r.Options.Mode != "rate" {
		t.Errorf("%d scheduled, %+v", r.Scheduled, r.Counts)
	}
	if r.SwitchMin == 0 || r.SendLagUS == nil || r.SendLagUS.N == 0 {
		t.Errorf("from %d completed, lag %+v", r.SwitchMin, r.SendLagUS)
	}
}

// A controller that stalls once must show in the latencies of all that were
// due meanwhile, also with a window of one.
func TestRateSeesStall(t *testing.T) {
	for _, window := range []int{0, 1} {
		n := 0
		c := &ctl{ver: ver13}
		c.on = func(x *ctlConn, p pin) {
			if n++; n == 150 {
				time.Sleep(250 * time.Millisecond)
			}
			x.out(p.port, 1, p.frame, 0)
		}
		o := quick(c.start(t), "1.3", plL2, "latency")
		o.Switches, o.Rate, o.Window = 1, 1000, window
		o.Duration, o.Warmup = 700*time.Millisecond, 50*time.Millisecond
		r, err := Run(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		// a third of 700 were due in the stall: the 80th percentile is far above a closed loop's
		if l := r.LatencyUS; l.P90 < 100_000 || l.Max < 240_000 {
			t.Errorf("window %d: %+v", window, l)
		}
		// with a window of one they wait in the generator, else only as the machine makes them
		if lag := r.SendLagUS.Max; window == 1 && lag < 150_000 {
			t.Errorf("window %d: lag %v", window, lag)
		}
	}
}

// A controller that writes without reading must not stop a switch from reading.
func TestControllerThatDoesNotRead(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	wrote := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			wrote <- err
			return
		}
		b := appendHello(nil, ver13, 1)
		b = setLen(appendHeader(b, ver13, tFeaturesReq, 2), len(b))
		echo := setLen(append(appendHeader(nil, ver13, tEchoReq, 3), make([]byte, 1<<15)...), 0)
		for range 400 { // 13 MB to be echoed
			b = append(b, echo...)
		}
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		_, err = c.Write(b)
		got := 0
		buf := make([]byte, 1<<16)
		for err == nil && got < 400*len(echo) {
			var n int
			n, err = c.Read(buf)
			got += n
		}
		wrote <- err
		_ = c.Close()
	}()
	o := quick(l.Addr().String(), "1.3", plL2, "latency")
	o.Switches = 1
	o.Settle = 5 * time.Second
	_, _ = Run(context.Background(), o)
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}

func TestCompareSetsUp(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "log")
	p := peer{Name: "self", Cmd: []string{exe, "reflect", "-listen", "{addr}"}, Setup: []string{exe, "setup", "{host}:{http}", file},
		Env: []string{"OFLOAD_HELPER=main", "HELPER_HTTP={host}:{http}"}, Complete: "both"}
	o := quick("", "1.3", plSYN, "throughput")
	o.Links, o.Hosts = linksRing, 2
	p.Load = []string{"-settle", "100ms"}
	r, err := runPeer(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(file); string(b) != "set up\n" {
		t.Errorf("setup left %q", b)
	}
	if r.Counts.Done == 0 || r.Before.HostAnnounce != 2 || r.Options.Links != linksRing || r.SettleS != .1 {
		t.Errorf("%+v %+v", r.Before, r.Options)
	}
	p.Load = []string{"-no-such-flag"}
	if _, err := runPeer(context.Background(), p, o); err == nil || !strings.Contains(err.Error(), "no-such-flag") {
		t.Errorf("a wrong load flag: %v", err)
	}
	p.Setup = []string{exe, "setup", "127.0.0.1:1", file}
	if _, err := runPeer(context.Background(), p, o); err == nil || !strings.Contains(err.Error(), "setup of self") {
		t.Errorf("a failing setup: %v", err)
	}
}
