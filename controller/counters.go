package controller

import (
	"sync/atomic"
	"time"
)

// Counters of one session, from its beginning. Those of what the reader receives may lag behind by what it is working off.
type Counters struct {
	PacketIns     uint64 // handed to the handler
	DroppedIns    uint64 // packet-ins that came before Connected
	FlowMods      uint64 // for connections: Add, DeleteStrict and DeleteWhere
	PacketOuts    uint64
	Modifications uint64 // rules, groups and meters added, changed or deleted for the desired state
	Drift         uint64 // of those, made by audits
	Audits        uint64
	Refusals      uint64 // parts of the desired state refused
	Errors        uint64 // error messages received
	Unmatched     uint64 // of those, not told of since there were too many
	Malformed     uint64 // messages that could not be read, and were ignored
	Unknown       uint64 // messages of unknown type, and answers nobody waits for; ignored
	MessagesIn    uint64
	BytesIn       uint64
	BytesOut      uint64
	EchoRTT       time.Duration // of the last echo request; 0 before the first reply
}

// received is what the reader counts. tally is its own and is published when it has nothing more to do, so that counting
// costs nothing per packet.
type received struct {
	tally  tally
	public [tallies]atomic.Uint64
}

type tally [tallies]uint64

// Places in a tally.
const (
	packetIns = iota
	droppedIns
	errorsIn
	unmatchedErrors
	malformed
	unknownIn
	messagesIn
	bytesIn
	tallies
)

func (r *received) publish() {
	for i, n := range r.tally {
		if n > 0 {
			r.public[i].Add(n)
			r.tally[i] = 0
		}
	}
}

// Counters are the session's counters.
func (sw *Switch) Counters() Counters {
	in, out, d := &sw.received.public, sw.w.counted(), &sw.desired
	return Counters{
		PacketIns: in[packetIns].Load(), DroppedIns: in[droppedIns].Load(), Errors: in[errorsIn].Load(), Unmatched: in[unmatchedErrors].Load(),
		Malformed: in[malformed].Load(), Unknown: in[unknownIn].Load(), MessagesIn: in[messagesIn].Load(),
		BytesIn: in[bytesIn].Load(), BytesOut: sw.w.written.Load(),
		FlowMods: out.flowMods, PacketOuts: out.packetOuts,
		Modifications: d.modifications.Load(), Drift: d.drift.Load(), Audits: d.audits.Load(), Refusals: d.refusals.Load(),
		EchoRTT: time.Duration(sw.rtt.Load()),
	}
}
