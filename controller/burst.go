package controller

import "github.com/evenflow/evenflow/openflow"

// burstMax is how many packet-ins are handed on together: enough for waits for memory to overlap, and few enough for what was fetched
// for the last to be still there when its turn comes.
const burstMax = 32

// burst gathers packet-ins that were read together. Sessions share bursts, as each has one only while it works off what it has read.
type burst struct {
	ins [burstMax]openflow.PacketIn
	n   int
}

// packetIn takes a packet-in into the burst. It must be handed on before more is read.
func (sw *Switch) packetIn(h openflow.Header, msg []byte) {
	if !sw.ready.Load() {
		sw.received.tally[droppedIns]++
		return
	}
	if sw.burst == nil {
		sw.burst, _ = sw.c.bursts.Get().(*burst)
		if sw.burst == nil {
			sw.burst = new(burst)
		}
	}
	b := sw.burst
	if err := openflow.ParsePacketIn(msg, &b.ins[b.n]); err != nil {
		b.ins[b.n] = openflow.PacketIn{}
		sw.bad(h, err)
		return
	}
	sw.received.tally[packetIns]++
	if b.n++; b.n == burstMax {
		sw.handOn()
	}
}

// handOn hands on the packet-ins in the burst, so that they come before what was read after them.
func (sw *Switch) handOn() {
	b := sw.burst
	if b == nil {
		return
	}
	if b.n > 0 {
		sw.c.h.PacketIns(sw, b.ins[:b.n])
	}
	clear(b.ins[:b.n]) // of what points to the session's buffer
	b.n, sw.burst = 0, nil
	sw.c.bursts.Put(b)
}
