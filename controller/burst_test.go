package controller

import (
	"io"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/evenflow/evenflow/openflow"
)

// A burst goes from session to session: nothing in it leads to the buffer of one, not even from a packet-in that is broken.
func TestBurstKeepsNoBuffer(t *testing.T) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	sw := &Switch{c: &Controller{cfg: &Config{Log: log}}}
	sw.ready.Store(true)
	msg, err := openflow.AppendPacketIn(nil, openflow.V15, 0, &openflow.PacketIn{InPort: 1, Data: []byte("frame")})
	if err != nil {
		t.Fatal(err)
	}
	msg[31]++ // the first field is longer than all
	sw.packetIn(openflow.Header{Version: openflow.V15, Type: openflow.TypePacketIn}, msg)
	b := sw.burst
	if sw.received.tally[malformed] != 1 || b.n != 0 {
		t.Fatalf("%d malformed, %d in the burst", sw.received.tally[malformed], b.n)
	}
	sw.handOn()
	if in := &b.ins[0]; in.Match != nil || in.Data != nil {
		t.Errorf("left: match %x, data %q", in.Match, in.Data)
	}
}
