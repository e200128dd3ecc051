package openflow

import (
	"testing"

	"github.com/evenflow/evenflow/flows"
)

// benchRule has six fields and three actions: one half of a balanced connection.
func benchRule() flows.Rule {
	return flows.MustParseRule("table=40,priority=100,idle_timeout=60,tcp,in_port=3,nw_src=10.0.0.1,nw_dst=10.0.0.100,tp_src=40000," +
		"tp_dst=80 actions=set_field:02:00:00:00:00:01->eth_dst,set_field:10.0.0.2->ip_dst,resubmit(,60)")
}

func benchPacketIn(tb testing.TB) []byte {
	in := samplePacketIn()
	in.Data = make([]byte, 128)
	return must(tb)(AppendPacketIn(nil, V15, 1, in, flows.Match(nil).Num(flows.Reg0, 7)...))
}

func BenchmarkParsePacketIn(b *testing.B) {
	msg := benchPacketIn(b)
	var in PacketIn
	b.ReportAllocs()
	for b.Loop() {
		if err := ParsePacketIn(msg, &in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPacketInField(b *testing.B) {
	var in PacketIn
	if err := ParsePacketIn(benchPacketIn(b), &in); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := in.Field(flows.Reg0); !ok {
			b.Fatal("no reg0")
		}
	}
}

func BenchmarkAppendFlowMod(b *testing.B) {
	r := benchRule()
	buf := make([]byte, 0, 1024)
	for _, v := range versions {
		b.Run(v.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := AppendFlowMod(buf, v, 1, FlowAdd, &r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAppendCT writes the rule that commits a connection to a backend.
func BenchmarkAppendCT(b *testing.B) {
	r := flows.MustParseRule("table=75,priority=100,reg3=5,tcp,dl_dst=02:00:00:00:00:01 " +
		"actions=ct(commit,table=74,zone=9,nat(dst=10.0.0.1:8080),exec(set_field:7->ct_mark))")
	buf := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := AppendFlowMod(buf, V15, 1, FlowAdd, &r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendPacketOut(b *testing.B) {
	buf := make([]byte, 0, 1024)
	data := make([]byte, 128)
	actions := []flows.Action{flows.Output{Port: 3}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := AppendPacketOut(buf, V15, 1, flows.PortController, actions, data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReader(b *testing.B) {
	msg := benchPacketIn(b)
	r := NewReader(&endless{msg: msg})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

// endless gives the same message for ever.
type endless struct {
	msg []byte
	at  int
}

func (e *endless) Read(b []byte) (n int, err error) {
	for n < len(b) {
		c := copy(b[n:], e.msg[e.at:])
		n += c
		e.at = (e.at + c) % len(e.msg)
	}
	return n, nil
}

// TestNoAllocation: the paths that run per packet allocate nothing.
func TestNoAllocation(t *testing.T) {
	msg, r := benchPacketIn(t), benchRule()
	buf, data := make([]byte, 0, 1024), make([]byte, 128)
	actions := []flows.Action{flows.SetNum(flows.Reg0, 3), flows.BackToInPort(), flows.Go(60)}
	move := flows.Rule{Actions: []flows.Action{flows.ToMeter{ID: 1}, flows.SetField{Field: flows.Reg1, Masked: true,
		Value: flows.U64(5, 4), Mask: flows.U64(7, 4)}, flows.Move{Src: flows.Span{Field: flows.EthSrc, Bits: 48},
		Dst: flows.Span{Field: flows.Metadata, Offset: 16, Bits: 48}},
		flows.FinTimeout{Idle: 3}, flows.ToGroup{ID: 1}, flows.GotoTable{Table: 9}}}
	ct := flows.MustParseRule("table=75,priority=100,reg3=5,tcp,dl_dst=02:00:00:00:00:01 " +
		"actions=ct(commit,table=74,zone=9,nat(dst=10.0.0.1:8080),exec(set_field:7->ct_mark))")
	stack := flows.MustParseRule("table=77,reg5=1/1 actions=push:NXM_OF_ETH_DST[],pop:NXM_OF_ETH_DST[],dec_ttl,ct_clear,output:reg0[]")
	reader := NewReader(&endless{msg: msg})
	var in PacketIn
	ops := map[string]func(v Version) error{
		"parse packet-in":    func(Version) error { return ParsePacketIn(msg, &in) },
		"field":              func(Version) error { in.Field(flows.Reg0); in.Field(flows.XReg3); return nil },
		"flow-mod":           func(v Version) error { _, err := AppendFlowMod(buf, v, 1, FlowAdd, &r); return err },
		"flow-mod, all":      func(v Version) error { _, err := AppendFlowMod(buf, v, 1, FlowAdd, &move); return err },
		"flow-mod, ct":       func(v Version) error { _, err := AppendFlowMod(buf, v, 1, FlowAdd, &ct); return err },
		"flow-mod, stack":    func(v Version) error { _, err := AppendFlowMod(buf, v, 1, FlowAdd, &stack); return err },
		"flow-mod, deletion": func(v Version) error { _, err := AppendFlowMod(buf, v, 1, FlowDeleteStrict, &r); return err },
		"packet-out": func(v Version) error {
			_, err := AppendPacketOut(buf, v, 1, flows.PortController, actions, data)
			return err
		},
		"read": func(Version) error { _, err := reader.Next(); return err },
	}
	for name, op := range ops {
		for _, v := range versions {
			if err := op(v); err != nil {
				t.Errorf("%s %s: %v", name, v, err)
			}
			if n := testing.AllocsPerRun(100, func() { op(v) }); n != 0 {
				t.Errorf("%s %s: %v allocations", name, v, n)
			}
		}
	}
}
