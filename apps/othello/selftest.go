package othello

import (
	"fmt"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
)

// Samples is how many packets show whether a switch hashes as foretold: of each family and protocol a fourth of them.
const Samples = apps.HashSamples

// sampleAt is where the sender's MAC of a sample differs from those of [apps.HashSample].
const (
	sampleAt   = 10
	sampleMark = 0xfe
)

// Sample is a packet and the actions that hash it as table 44 does, but to all 32 bits of RegHash, and hand it back. No rule is
// needed.
func Sample(i int) (frame []byte, actions []flows.Action) {
	frame, f := apps.HashSample(i)
	frame[sampleAt] = sampleMark
	v6 := f.Src.Is6()
	actions = append([]flows.Action{flows.Move{Src: flows.Whole(flows.EthSrc), Dst: apps.SpanSender}}, prepare(v6, f.Proto)...)
	for half, algorithm := range []flows.HashAlgorithm{flows.HashModulo, flows.HashThreshold} {
		m := hashing(v6, codeBasis, 1<<16, flows.Span{Field: apps.RegHash, Offset: uint16(half) * 16, Bits: 16}).(flows.Multipath)
		m.Algorithm = algorithm
		actions = append(actions, m)
	}
	return frame, append(actions, flows.Move{Src: apps.SpanSender, Dst: flows.Whole(flows.EthSrc)}, flows.Controller())
}

// SampleOf is the number of the sample that a frame is; not ok for any other frame.
func SampleOf(frame []byte) (i int, ok bool) {
	if len(frame) <= sampleAt+1 || frame[sampleAt] != sampleMark {
		return 0, false
	}
	want, _ := Sample(0)
	i = int(frame[sampleAt+1])
	return i, [4]byte(frame[6:10]) == [4]byte(want[6:10]) && i < Samples
}

// CheckSample compares what a switch has made of a sample with what it should be; "" is right.
func CheckSample(i int, hash uint32) (wrong string) {
	_, f := apps.HashSample(i)
	t := Tuple(apps.TupleOf(&f))
	if want := t.CodeHash(); hash != want {
		return fmt.Sprintf("it hashes %s to %s, protocol %d, to %#x, not %#x", t.Src, t.Dst, t.Proto, hash, want)
	}
	return ""
}
