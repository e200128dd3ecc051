package apps

import (
	"testing"

	"github.com/evenflow/evenflow/ovshash"
)

// The samples are what they say, and their choices tell the builds apart.
func TestHashSamples(t *testing.T) {
	for i := range HashSamples {
		b, h := HashSample(i)
		var f Frame
		if err := ParseFrame(b, &f); err != nil {
			t.Fatalf("sample %d: %v", i, err)
		}
		if f.Src != h.Src || f.Dst != h.Dst || f.Proto != h.Proto || f.SrcPort != h.SrcPort || f.DstPort != h.DstPort || f.EthType != h.EthType {
			t.Errorf("sample %d is %+v, hashed %+v", i, f, h)
		}
		if n, ok := HashSampleOf(b); !ok || n != i {
			t.Errorf("sample %d is taken for %d, %t", i, n, ok)
		}
	}
	for _, frame := range [][]byte{nil, make([]byte, 13), make([]byte, 60)} {
		if _, ok := HashSampleOf(frame); ok {
			t.Errorf("%x is taken for a sample", frame)
		}
	}
}

func TestHashBuild(t *testing.T) {
	var ids []uint32
	for _, k := range HashGroup().Buckets {
		ids = append(ids, k.ID)
	}
	pick := func(b ovshash.Build) (picks [HashSamples]uint32) {
		for i := range picks {
			_, f := HashSample(i)
			picks[i], _ = b.Pick(ids, b.Basis(&f, ovshash.FiveTuple))
		}
		return picks
	}
	for _, b := range ovshash.Builds() {
		picks := pick(b)
		if got := HashBuild(picks); got != b {
			t.Errorf("%s is taken for %q", b, got)
		}
		picks[HashSamples-1]++
		if got := HashBuild(picks); got != 0 {
			t.Errorf("one choice of %s is another, and it is taken for %q", b, got)
		}
	}
	same := 0
	for i, p := range pick(ovshash.Murmur) {
		if pick(ovshash.CRC32C)[i] == p {
			same++
		}
	}
	if same > HashSamples/2 {
		t.Errorf("the builds agree on %d of %d samples", same, HashSamples)
	}
}
