package main

import (
	"bufio"
	"net"
	"sync"
	"testing"
)

// pin is a packet-in as the test's controller sees it.
type pin struct {
	dpid   uint64
	port   uint32
	reason byte
	frame  []byte
}

// ctl is a trivial controller. on is called for each packet-in, up after each
// features reply, one at a time.
type ctl struct {
	ver byte
	mu  sync.Mutex
	sw  map[uint64]*ctlConn
	up  func(c *ctlConn)
	on  func(c *ctlConn, p pin)
}

type ctlConn struct {
	ctl  *ctl
	dpid uint64
	c    net.Conn
	b    []byte
}

func (t *ctl) start(tb testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	t.sw = map[uint64]*ctlConn{}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go t.serve(&ctlConn{ctl: t, c: c})
		}
	}()
	return l.Addr().String()
}

func (t *ctl) serve(c *ctlConn) {
	defer c.c.Close()
	r := bufio.NewReaderSize(c.c, 1<<17)
	hello := appendHello(nil, t.ver, 1)
	hello = setLen(appendHeader(hello, t.ver, tFeaturesReq, 2), len(hello))
	_, _ = c.c.Write(hello)
	for {
		m, err := readMsg(r)
		if err != nil {
			return
		}
		t.mu.Lock()
		switch m[1] {
		case tFeaturesRep:
			c.dpid = be.Uint64(m[8:])
			t.sw[c.dpid] = c
			if t.up != nil {
				t.up(c)
			}
		case tPacketIn:
			if t.on != nil {
				t.on(c, pin{c.dpid, be.Uint32(m[32:]), m[14], append([]byte(nil), m[42:]...)})
			}
		}
		for _, x := range t.sw {
			if len(x.b) > 0 {
				_, _ = x.c.Write(x.b)
				x.b = x.b[:0]
			}
		}
		t.mu.Unlock()
	}
}

// out sends a frame out of a port; bundle 1 puts it into an OpenFlow 1.4
// bundle, 2 into one of the ONF extension.
func (c *ctlConn) out(inPort, port uint32, frame []byte, bundle int) {
	v := c.ctl.ver
	b := be.AppendUint32(appendHeader(nil, v, tPacketOut, 9), noBuffer)
	if v >= ver15 {
		b = append(b, 0, 16, 0, 0, 0, 1, 0, 12, 0x80, 0, 0, 4)
		b = appendZeros(be.AppendUint32(b, inPort), 4)
	} else {
		b = append(be.AppendUint32(b, inPort), 0, 16, 0, 0, 0, 0, 0, 0)
	}
	b = append(be.AppendUint32(append(b, 0, 0, 0, 16), port), 0xff, 0xff, 0, 0, 0, 0, 0, 0)
	b = setLen(append(b, frame...), 0)
	off := len(c.b)
	switch bundle {
	case 1:
		c.b = append(appendHeader(c.b, v, tBundleAdd, 9), 0, 0, 0, 1, 0, 0, 0, 0)
	case 2:
		c.b = be.AppendUint32(be.AppendUint32(appendHeader(c.b, v, tExperimenter, 9), expONF), onfBundleAdd)
		c.b = append(c.b, 0, 0, 0, 1, 0, 0, 0, 0)
	}
	c.b = setLen(append(c.b, b...), off)
}

// flow adds a FLOW_MOD for the client of a SYN, to the VIP or back.
func (c *ctlConn) flow(syn []byte, back bool) {
	off := len(c.b)
	b := appendZeros(appendHeader(c.b, c.ctl.ver, tFlowMod, 9), 24)
	b = append(be.AppendUint32(b, noBuffer), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0)
	b = append(b, 0, 1, 0, 40)
	for _, f := range []struct {
		field byte
		v     []byte
	}{{oxmIPv4Src, syn[26:30]}, {oxmIPv4Dst, syn[30:34]}, {oxmTCPSrc, syn[34:36]}, {oxmTCPDst, syn[36:38]}} {
		id := f.field
		if back {
			id = map[byte]byte{oxmIPv4Src: oxmIPv4Dst, oxmIPv4Dst: oxmIPv4Src, oxmTCPSrc: oxmTCPDst, oxmTCPDst: oxmTCPSrc}[id]
		}
		b = append(append(b, 0x80, 0, id<<1, byte(len(f.v))), f.v...)
	}
	c.b = setLen(appendZeros(b, 8-(len(b)-off-48)%8), off)
}

func lldp(dpid uint64, port uint32, et uint16) []byte {
	f := append([]byte{0x01, 0x80, 0xc2, 0, 0, 0x0e}, 2, 9, 9, 9, 9, 9)
	f = be.AppendUint16(f, et)
	return be.AppendUint32(be.AppendUint64(f, dpid), port)
}
