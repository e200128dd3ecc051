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
	r := sw.burst
	if err := openflow.ParsePacketIn(msg, &r.ins[r.n]); err != nil {
		sw.bad(h, err)
		return
	}
	sw.received.tally[packetIns]++
	if r.n++; r.n == burstMax {
		sw.handOn()
	}
}

// handOn hands on the packet-ins in the burst, so that they come before what was read after them.
func (sw *Switch) handOn() {
	r := sw.burst
	if r == nil {
		return
	}
	if r.n > 0 {
		sw.c.h.PacketIns(sw, r.ins[:r.n])
	}
	clear(r.ins[:r.n]) // of what points to the session's buffer
	r.n, sw.burst = 0, nil
	sw.c.bursts.Put(r)
}
