package apps

import (
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// Parts of fields of mode othello.
var (
	SpanVIP        = flows.Span{Field: flows.Metadata, Bits: 16}
	SpanSender     = flows.Span{Field: flows.Metadata, Offset: 16, Bits: 48}
	SpanGeneration = flows.Span{Field: RegDcode, Offset: 24, Bits: 8}
)

// ChooseByCode chooses a backend of a VIP of mode othello as one of its generations does, told mod 256, and goes on in TablePick
// with the backend's MAC in eth_dst.
func ChooseByCode(id vip.ID, generation uint32) []flows.Action {
	return []flows.Action{Load(SpanVIP, uint64(id)), Load(SpanGeneration, uint64(generation&0xff)), flows.Go(TableDcode)}
}

// Load writes a number to a part of a field of at most 64 bits.
func Load(s flows.Span, n uint64) flows.SetField {
	w, mask := s.Field.Width(), uint64(1)<<s.Bits-1
	return flows.SetField{Field: s.Field, Masked: true, Value: flows.U64(n<<s.Offset, w), Mask: flows.U64(mask<<s.Offset, w)}
}

// Part matches a number in a part of a field of at most 64 bits, of which nothing else is matched.
func Part(m flows.Match, s flows.Span, n uint64) flows.Match {
	return m.NumMasked(s.Field, n<<s.Offset, (uint64(1)<<s.Bits-1)<<s.Offset)
}
