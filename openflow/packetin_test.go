package openflow

import (
	"bytes"
	"testing"

	"github.com/evenflow/evenflow/flows"
)

func TestPacketIn(t *testing.T) {
	for _, v := range versions {
		want := samplePacketIn()
		want.Data = []byte("a frame of some bytes")
		meta := flows.Match(nil).Num(flows.Reg15, 7).Num(flows.Metadata, 1<<60).Num(flows.CTMark, 9)
		msg := must(t)(AppendPacketIn(nil, v, 1, want, meta...))
		got := PacketIn{Match: []byte("old"), Data: []byte("old")}
		if err := ParsePacketIn(msg, &got); err != nil {
			t.Fatal(err)
		}
		if got.BufferID != want.BufferID || got.TotalLen != want.TotalLen || got.Reason != want.Reason ||
			got.Table != want.Table || got.Cookie != want.Cookie || got.InPort != want.InPort || !bytes.Equal(got.Data, want.Data) {
			t.Errorf("%s: %+v, want %+v", v, got, want)
		}
		for _, c := range meta {
			if value, ok := got.Field(c.Field); !ok || value != c.Value {
				t.Errorf("%s: %s is %x, %v", v, c.Field, value, ok)
			}
		}
		if value, ok := got.Field(flows.InPort); !ok || value.Uint64(4) != uint64(want.InPort) {
			t.Errorf("%s: in_port is %x, %v", v, value, ok)
		}
		for _, f := range []flows.Field{flows.Reg0, flows.FieldNone, 255} {
			if _, ok := got.Field(f); ok {
				t.Errorf("%s: %s is there", v, f)
			}
		}
	}
}

// TestPacketInRegisters: registers are told in pairs by some switches, the half that was not set masked out.
func TestPacketInRegisters(t *testing.T) {
	list := []byte{
		0x80, 0x01, 7<<1 | 1, 16, // xreg7
		0, 0, 0, 0, 0, 0, 1, 0, // value
		0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, // mask
		0x00, 0x01, 2 << 1, 4, 0, 0, 0, 5, // reg2
	}
	in := PacketIn{Match: list}
	tests := []struct {
		field flows.Field
		want  uint64
		ok    bool
	}{
		{flows.Reg15, 256, true}, {flows.Reg14, 0, false}, {flows.XReg7, 256, true},
		{flows.Reg2, 5, true}, {flows.XReg1, 5 << 32, true}, {flows.Reg3, 0, false},
	}
	for _, tt := range tests {
		if v, ok := in.Field(tt.field); ok != tt.ok || v.Uint64(tt.field.Width()) != tt.want {
			t.Errorf("%s is %x, %v; want %x, %v", tt.field, v, ok, tt.want, tt.ok)
		}
	}
	if v, ok := in.Field(flows.XXReg0); !ok || v != (flows.Value{11: 5}) {
		t.Errorf("xxreg0 is %x, %v", v, ok)
	}
}

func TestPacketInWithoutPort(t *testing.T) {
	msg := must(t)(AppendPacketIn(nil, V15, 1, samplePacketIn()))
	msg[headerLen+16+4+2] = 2 << 1 // in_port becomes metadata of a wrong size
	var in PacketIn
	if err := ParsePacketIn(msg, &in); err != nil || in.InPort != flows.PortAny {
		t.Errorf("port %#x, %v", in.InPort, err)
	}
}

// TestPacketInHostile: what hosts send is in Data and is not looked at, whatever it is.
func TestPacketInHostile(t *testing.T) {
	frame := make([]byte, 34)
	frame[12], frame[13] = 8, 0 // IPv4 with a header length of 0
	want := samplePacketIn()
	want.Data = frame
	var in PacketIn
	if err := ParsePacketIn(must(t)(AppendPacketIn(nil, V15, 1, want)), &in); err != nil || !bytes.Equal(in.Data, frame) {
		t.Errorf("%x, %v", in.Data, err)
	}
}
