package main

import (
	"bufio"
	"context"
	"net"
	"sync"
	"time"
)

// reflector is the least that a controller can do: it answers each PACKET_IN
// with a prepared PACKET_OUT, FLOW_MOD or both, looking at nothing else. Its
// rate is the ceiling for a Go controller on the machine.
type reflector struct {
	ver  byte
	mod  bool // send a FLOW_MOD
	two  bool // instead of one FLOW_MOD send the pair of a balanced connection, if the frame is of TCP
	out  bool // send a PACKET_OUT
	drop int  // leave each n-th packet-in unanswered (tests)
}

func (rf *reflector) serve(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go rf.conn(c)
	}
}

func (rf *reflector) conn(c net.Conn) {
	defer c.Close()
	r := bufio.NewReaderSize(c, 1<<17)
	b := appendHello(nil, rf.ver, 1)
	b = setLen(appendHeader(b, rf.ver, tFeaturesReq, 2), len(b))
	n := 0
	for {
		if !buffered(r) && len(b) > 0 {
			if _, err := c.Write(b); err != nil {
				return
			}
			b = b[:0]
		}
		m, err := readMsg(r)
		if err != nil {
			return
		}
		xid := be.Uint32(m[4:])
		switch m[1] {
		case tEchoReq:
			b = setLen(appendHeader(b, rf.ver, tEchoRep, xid), len(b))
		case tPacketIn:
			if len(m) < 42 {
				return
			}
			n++
			if rf.drop > 0 && n%rf.drop == 0 {
				continue
			}
			inPort, frame := m[32:36], m[42:]
			// header 8, fixed 16, match 16 (value at 32), pad 2
			buf := be.Uint32(m[8:])
			if rf.mod || rf.two {
				if rf.two && tcpSYN(frame) {
					b = rf.flowPair(b, xid, buf, inPort, frame)
				} else {
					b = rf.flowMod(b, xid, buf, inPort, frame)
				}
				if buf != noBuffer {
					continue
				}
			}
			if rf.out {
				b = rf.packetOut(b, xid, buf, inPort, frame)
			}
		}
	}
}

func (rf *reflector) packetOut(b []byte, xid, buf uint32, inPort, frame []byte) []byte {
	off := len(b)
	b = appendHeader(b, rf.ver, tPacketOut, xid)
	b = be.AppendUint32(b, buf)
	if rf.ver >= ver15 {
		b = append(b, 0, 16, 0, 0, 0, 1, 0, 12, 0x80, 0, 0, 4)
		b = append(b, inPort...)
		b = appendZeros(b, 4)
	} else {
		b = append(b, inPort...)
		b = append(b, 0, 16, 0, 0, 0, 0, 0, 0)
	}
	b = append(b, 0, 0, 0, 16, 0xff, 0xff, 0xff, 0xfb, 0xff, 0xff, 0, 0, 0, 0, 0, 0) // output FLOOD
	if buf == noBuffer {
		b = append(b, frame...)
	}
	return setLen(b, off)
}

func (rf *reflector) flowMod(b []byte, xid, buf uint32, inPort, frame []byte) []byte {
	off := len(b)
	b = appendHeader(b, rf.ver, tFlowMod, xid)
	b = appendZeros(b, 16) // cookie, mask
	b = append(b, 0, 0, 0, 10, 0, 0, 0, 1)
	b = be.AppendUint32(b, buf)
	b = append(b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0)
	mo := len(b)
	b = append(b, 0, 1, 0, 0, 0x80, 0, 0, 4)
	b = append(b, inPort...)
	if be.Uint16(frame[12:]) == 0x0800 && len(frame) >= 38 {
		b = append(b, 0x80, 0, 10, 2, 8, 0, 0x80, 0, 20, 1, 6, 0x80, 0, 22, 4)
		b = append(b, frame[26:30]...)
		b = append(b, 0x80, 0, 26, 2)
		b = append(b, frame[34:36]...)
	} else {
		b = append(b, 0x80, 0, 6, 6)
		b = append(b, frame[:6]...)
		b = append(b, 0x80, 0, 8, 6)
		b = append(b, frame[6:12]...)
	}
	n := len(b) - mo
	be.PutUint16(b[mo+2:], uint16(n))
	b = appendZeros(b, (n+7)/8*8-n)
	b = append(b, 0, 4, 0, 24, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 1, 0xff, 0xff, 0, 0, 0, 0, 0, 0)
	return setLen(b, off)
}

// rawEcho measures a plain TCP echo: conns connections, window messages of
// size bytes outstanding on each, every message sent back as it is.
func rawEcho(ctx context.Context, addr string, conns, window, size int, d time.Duration) (*hist, float64, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var wg sync.WaitGroup
	hs := make([]hist, conns)
	errs := make(chan error, conns)
	t0 := time.Now()
	for i := range conns {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return nil, 0, err
		}
		defer c.Close()
		wg.Go(func() {
			r := bufio.NewReaderSize(c, 1<<17)
			out := make([]byte, window*size)
			sent := make([]time.Time, window)
			now := time.Now()
			for j := range sent {
				sent[j] = now
			}
			if _, err := c.Write(out); err != nil {
				errs <- err
				return
			}
			for k := 0; ctx.Err() == nil; {
				if _, err := r.Peek(size); err != nil {
					errs <- err
					return
				}
				n := max(1, min(r.Buffered()/size, window))
				_, _ = r.Discard(n * size)
				now := time.Now()
				for range n {
					hs[i].add(int64(now.Sub(sent[k])))
					sent[k] = now
					k = (k + 1) % window
				}
				if _, err := c.Write(out[:n*size]); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	el := time.Since(t0).Seconds()
	var h hist
	for i := range hs {
		h.merge(&hs[i])
	}
	select {
	case err := <-errs:
		return &h, el, err
	default:
		return &h, el, nil
	}
}

func serveEcho(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			b := make([]byte, 1<<16)
			for {
				n, err := c.Read(b)
				if err != nil {
					return
				}
				if _, err := c.Write(b[:n]); err != nil {
					return
				}
			}
		}()
	}
}
