package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"math/rand"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func startReflector(t *testing.T, rf *reflector) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go rf.serve(l)
	return l.Addr().String()
}

func quick(addr, of, payload, mode string) Options {
	o := defaults()
	o.Addr, o.OF, o.Payload, o.Mode = addr, of, payload, mode
	o.Switches, o.Window = 3, 16
	o.Duration, o.Warmup, o.Learn, o.Timeout = 300*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond, 5*time.Second
	return o
}

func TestAllPayloads(t *testing.T) {
	for _, of := range []string{"1.3", "1.5"} {
		ver := byte(ver13)
		if of == "1.5" {
			ver = ver15
		}
		for _, reply := range []struct {
			name     string
			mod, out bool
		}{{"mod", true, false}, {"out", false, true}, {"both", true, true}} {
			addr := startReflector(t, &reflector{ver: ver, mod: reply.mod, out: reply.out})
			for _, pl := range []string{plL2, plL2Known, plARP, plSYN} {
				for _, mode := range []string{"latency", "throughput"} {
					for _, buffered := range []bool{false, true} {
						name := strings.Join([]string{of, reply.name, pl, mode}, "/")
						o := quick(addr, of, pl, mode)
						if buffered && (pl == plARP || mode == "latency") {
							continue
						}
						o.Buffered = buffered
						o.Duration = 60 * time.Millisecond
						r, err := Run(context.Background(), o)
						if err != nil {
							t.Fatalf("%s: %v", name, err)
						}
						c := r.Counts
						if c.Done == 0 || c.Lost != 0 || c.Unmatched != 0 || len(r.Errors) != 0 {
							t.Errorf("%s buffered=%v: %+v %v", name, buffered, c, r.Errors)
						}
						if l := r.LatencyUS; l.N == 0 || l.Min <= 0 || l.Min > l.Median || l.Median > l.P99 || l.P99 > l.Max {
							t.Errorf("%s: latency %+v", name, l)
						}
						if reply.mod != (c.FlowMod > 0) || (reply.out && !(buffered && reply.mod)) != (c.PacketOut > 0) {
							t.Errorf("%s buffered=%v: wrong reply kinds %+v", name, buffered, c)
						}
						if _, err := json.Marshal(r); err != nil {
							t.Error(err)
						}
					}
				}
			}
		}
	}
}

// A second reply to a packet-in must not count as a completion.
func TestSecondReplyIsExtra(t *testing.T) {
	addr := startReflector(t, &reflector{ver: ver13, mod: true, out: true})
	r, err := Run(context.Background(), quick(addr, "1.3", plSYN, "throughput"))
	if err != nil {
		t.Fatal(err)
	}
	if r.SwitchMin == 0 {
		t.Error("a switch completed nothing")
	}
	// in the measured time the two kinds differ by what is in flight at its ends
	d := int64(r.Counts.Extra) - int64(r.Counts.Done)
	if slack := int64(3 * 16 * 2); d > slack || d < -slack {
		t.Errorf("%d completed, %d extra", r.Counts.Done, r.Counts.Extra)
	}
	// awaiting the PACKET_OUT, the FLOW_MOD before it does not complete
	o := quick(addr, "1.3", plSYN, "throughput")
	o.Complete = "out"
	r, err = Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Counts.Done == 0 || r.Counts.Extra != 0 || r.Counts.Unmatched != 0 {
		t.Errorf("complete=out: %+v", r.Counts)
	}
}

func TestLostRepliesTimeOut(t *testing.T) {
	addr := startReflector(t, &reflector{ver: ver13, out: true, drop: 50})
	o := quick(addr, "1.3", plL2, "throughput")
	o.Timeout = 40 * time.Millisecond
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Counts.Lost == 0 || r.Counts.Done == 0 {
		t.Errorf("no loss seen: %+v", r.Counts)
	}
	// the measured time cuts through what is outstanding
	if r.LatencyUS.N > r.Counts.Done+uint64(o.Switches*o.Window) {
		t.Errorf("a dropped packet-in entered the latencies: %d of %+v", r.LatencyUS.N, r.Counts)
	}
}

func TestControllerClosing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	if _, err := Run(context.Background(), quick(l.Addr().String(), "1.3", plL2, "latency")); err == nil {
		t.Error("no error from a controller that closes")
	}
	o := quick("192.0.2.1:6653", "1.3", plL2, "latency")
	if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("a far address was not refused: %v", err)
	}
}

// The requests that controllers send in their handshake are answered with the same xid.
func TestHandshakeReplies(t *testing.T) {
	mp := func(kind uint16, body ...byte) []byte {
		b := appendHeader(nil, ver13, tMultipartReq, 77)
		b = be.AppendUint16(b, kind)
		b = appendZeros(b, 6)
		return setLen(append(b, body...), 0)
	}
	msg := func(typ byte, body ...byte) []byte {
		return setLen(append(appendHeader(nil, ver13, typ, 77), body...), 0)
	}
	for _, ver := range []byte{ver13, ver15} {
		for _, c := range []struct {
			req  []byte
			typ  byte
			size int
		}{
			{msg(tEchoReq, 1, 2, 3), tEchoRep, 11},
			{msg(tFeaturesReq), tFeaturesRep, 32},
			{msg(tGetConfigReq), tGetConfigRep, 12},
			{msg(tBarrierReq), tBarrierRep, 8},
			{msg(tRoleReq, make([]byte, 16)...), tRoleRep, 24},
			{mp(mpDesc), tMultipartRep, 16 + 1056},
			{mp(mpPortDesc), tMultipartRep, map[byte]int{ver13: 16 + 5*64, ver15: 16 + 5*72}[ver]},
			{mp(1, make([]byte, 32)...), tMultipartRep, 16},
			{mp(12), tMultipartRep, 16},
			{mp(7), tMultipartRep, 16},
			{mp(mpGroupFeatures), tMultipartRep, 16 + 40},
			{msg(tBundleCtrl, 0, 0, 0, 9, 0, 4, 0, 1), tBundleCtrl, 16},
			{msg(tExperimenter, 0, 0, 0x23, 0x20, 0, 0, 0, 25), tExperimenter, 32},
		} {
			s := newSw(0, swConfig{ver: ver, ports: 5, window: 1}, nil, nil)
			if err := s.handle(c.req, phHandshake); err != nil {
				t.Fatal(err)
			}
			if len(s.out) != c.size || s.out[1] != c.typ || be.Uint32(s.out[4:]) != 77 || int(be.Uint16(s.out[2:])) != len(s.out) {
				t.Errorf("version %d request type %d: reply type %d, %d bytes (% x...)", ver, c.req[1], s.out[1], len(s.out), s.out[:8])
			}
		}
	}
	// many ports do not overflow a message
	s := newSw(0, swConfig{ver: ver13, ports: 3000, window: 1}, nil, nil)
	_ = s.handle(mp(mpPortDesc), phHandshake)
	r, n, ports := bufio.NewReaderSize(bytes.NewReader(s.out), 1<<17), 0, 0
	for {
		m, err := readMsg(r)
		if err != nil {
			break
		}
		n++
		ports += (len(m) - 16) / 64
	}
	if n < 3 || ports != 3000 {
		t.Errorf("%d messages, %d ports", n, ports)
	}
}

func TestBundledFlowModCompletes(t *testing.T) {
	pl, _ := newPayload(plSYN, 0, 4, 100, netip.MustParseAddr("10.99.0.1"), 80, netip.MustParseAddr("10.1.0.1"), [6]byte{2}, 64)
	for _, exp := range []bool{false, true} {
		s := newSw(0, swConfig{ver: ver13, ports: 4, window: 1}, pl, nil)
		s.fill(time.Now())
		pin := s.out
		fm := (&reflector{ver: ver13, mod: true}).flowMod(nil, 5, noBuffer, pin[32:36], pin[42:])
		var b []byte
		if exp {
			b = be.AppendUint32(appendHeader(nil, ver13, tExperimenter, 5), expONF)
			b = be.AppendUint32(b, onfBundleAdd)
		} else {
			b = appendHeader(nil, ver13, tBundleAdd, 5)
		}
		b = setLen(append(append(b, 0, 0, 0, 1, 0, 0, 0, 0), fm...), 0)
		s.out = nil
		if err := s.handle(b, phMeasure); err != nil {
			t.Fatal(err)
		}
		if s.cnt.done.Load() != 1 || s.cnt.bundle.Load() != 1 || s.lat.count != 1 {
			t.Errorf("exp=%v: %+v", exp, s.cnt.snap())
		}
	}
}

func TestSYNFrame(t *testing.T) {
	pl, err := newPayload(plSYN, 2, 4, 10, netip.MustParseAddr("10.99.0.1"), 443, netip.MustParseAddr("10.1.0.1"), [6]byte{2, 1}, 64)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint64]bool{}
	for i := range 5000 {
		f, port, key := pl.next(uint32(i))
		if seen[key] {
			t.Fatalf("tuple %x came twice", key)
		}
		seen[key] = true
		if port < 1 || port > 3 {
			t.Fatalf("port %d", port)
		}
		if checksum(f[14:34], 0) != 0 {
			t.Fatal("IPv4 checksum")
		}
		var sum uint32 = 6 + 24
		for j := 26; j < 34; j += 2 {
			sum += uint32(be.Uint16(f[j:]))
		}
		if checksum(f[34:58], sum) != 0 {
			t.Fatal("TCP checksum")
		}
		if c, tag, _ := classify(f); c != fcTag || tag != uint32(i) {
			t.Fatalf("classify %v %d", c, tag)
		}
	}
}

func TestARPReplyMatches(t *testing.T) {
	pl, _ := newPayload(plARP, 0, 4, 10, netip.MustParseAddr("10.99.0.1"), 0, netip.MustParseAddr("10.1.0.1"), [6]byte{}, 64)
	f, _, key := pl.next(1)
	rep := append([]byte(nil), f...)
	copy(rep, f[6:12])
	rep[21] = 2
	copy(rep[32:38], f[22:28])
	copy(rep[22:28], []byte{2, 0, 0x5e, 0, 1, 1})
	if c, _, k := classify(rep); c != fcKey || k != key {
		t.Errorf("%v %x, want %x", c, k, key)
	}
	if c, _, k := classify(f); c != fcKey || k != key {
		t.Errorf("flooded request: %v %x", c, k)
	}
}

func TestHist(t *testing.T) {
	var h hist
	rng := rand.New(rand.NewSource(1))
	for range 100000 {
		h.add(int64(rng.ExpFloat64() * 50000))
	}
	for _, v := range []int64{0, 1, 127, 128, 129, 255, 256, 1000, 123456789, 1 << 40} {
		i := histIndex(v)
		if u := histUpper(i); u < v || float64(u-v) > float64(v)/128+1 {
			t.Errorf("%d: bucket %d upper %d", v, i, u)
		}
		if v > 0 && histUpper(histIndex(v)-1) >= v {
			t.Errorf("%d: bucket before reaches it", v)
		}
	}
	if q := h.quantile(.5); q < 34000 || q > 35500 {
		t.Errorf("median %d, want about 34657", q)
	}
	if q := h.quantile(.99); q < 226000 || q > 236000 {
		t.Errorf("p99 %d, want about 230259", q)
	}
}

func FuzzHandle(f *testing.F) {
	f.Add([]byte{4, 14, 0, 8, 0, 0, 0, 1})
	f.Add(appendHello(nil, 4, 1))
	gw := host{ip: 0x0a0000fe, mac: [6]byte{2, 1}}
	echo := append(appendIPv4(nil, &gw, hostMAC(0x0a000001), 0x0a000001, 1, 8), 8, 0, 0xf7, 0xff, 0, 0, 0, 0)
	for _, v := range []byte{ver13, ver15} {
		for _, fr := range [][]byte{echo, appendARP(nil, 1, gw.mac, gw.ip, [6]byte{}, 0x0a000001), lldp(1, 2, 0x88cc)} {
			c := &ctlConn{ctl: &ctl{ver: v}}
			c.out(3, portAll, fr, int(v)&1)
			f.Add(c.b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < headerLen {
			return
		}
		pl, _ := newPayload(plL2, 0, 4, 10, netip.Addr{}, 0, netip.Addr{}, [6]byte{}, 64)
		for _, ver := range []byte{ver13, ver15} {
			s := newSw(0, swConfig{ver: ver, ports: 2, window: 2}, pl, nil)
			s.plan = swPlan{links: []link{{2, 0, 1}}, hosts: []host{{ip: 0x0a000001, mac: hostMAC(0x0a000001), port: 1}}}
			s.peers = []*sw{s}
			s.fill(time.Now())
			_ = s.handle(b, phMeasure)
			s.takeRelayed()
		}
	})
}

func TestRawEcho(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go serveEcho(l)
	h, el, err := rawEcho(context.Background(), l.Addr().String(), 2, 8, 106, 100*time.Millisecond)
	if err != nil || h.count < 100 || el <= 0 {
		t.Errorf("%v %d", err, h.count)
	}
}

func TestTable(t *testing.T) {
	r := func(v float64) *Result { return &Result{RepliesS: v} }
	s := table([]cell{{Peer: "a", Payload: "l2", Mode: "latency", Switches: 1, Result: r(3)}, {Peer: "a", Payload: "l2", Mode: "latency", Switches: 1, Result: r(1)},
		{Peer: "a", Payload: "l2", Mode: "latency", Switches: 1, Result: r(2)}, {Peer: "a", Payload: "l2", Mode: "latency", Switches: 1, Err: "x"}})
	if !strings.Contains(s, "| l2 | latency | 1 | a | 2 | 1–3 |") || !strings.HasSuffix(strings.TrimSpace(s), "| 1 |") {
		t.Error(s)
	}
}
