package ovshash

import "encoding/binary"

// Fields are the fields of a select group with selection_method=hash, none of them masked.
type Fields uint8

// Fields. Open vSwitch takes those that a packet has, always in this order; of a packet that is not TCP, UDP or SCTP, or a later
// fragment, there are no ports.
const (
	Source      Fields = 1 << iota // ip_src and ipv6_src
	Destination                    // ip_dst and ipv6_dst
	Protocol                       // ip_proto
	Ports                          // the ports of TCP, UDP and SCTP, both

	Addresses = Source | Destination
	FiveTuple = Addresses | Protocol | Ports
)

// Basis hashes a packet's fields, with selection_method_param 0. It is all that a choice depends on beside the buckets.
func (b Build) Basis(f *Flow, fields Fields) uint32 {
	basis := b.uint64(0)
	if !f.Src.IsValid() {
		return basis
	}
	if fields&Source != 0 {
		basis = b.bytes(f.Src.AsSlice(), basis)
	}
	if fields&Destination != 0 {
		basis = b.bytes(f.Dst.AsSlice(), basis)
	}
	if fields&Protocol != 0 {
		basis = b.bytes([]byte{f.Proto}, basis)
	}
	if fields&Ports != 0 && f.Fragment != LaterFragment && (f.Proto == tcp || f.Proto == udp || f.Proto == sctp) {
		basis = b.port(f.SrcPort, basis)
		basis = b.port(f.DstPort, basis)
	}
	return basis
}

func (b Build) port(p uint16, basis uint32) uint32 {
	return b.bytes(binary.BigEndian.AppendUint16(nil, p), basis)
}

// Score is how much a bucket of weight 1 speaks for itself: 0 to 65,535. Open vSwitch multiplies it by the weight, which makes
// shares quite other than the weights; so Evenflow's buckets all weigh 1, and none has a port to watch.
func (b Build) Score(bucket, basis uint32) uint32 { return b.pair(bucket, basis) & (scores - 1) }

const scores = 1 << 16

// Pick is the bucket that is chosen from those of a group, by ids in the order in which the switch lists them: the one with the
// highest score, and of several the last. Not ok: there are none.
func (b Build) Pick(buckets []uint32, basis uint32) (id uint32, ok bool) {
	best := uint32(0)
	for _, bucket := range buckets {
		if s := b.Score(bucket, basis); s >= best {
			id, best, ok = bucket, s, true
		}
	}
	return id, ok
}

// Shares are the expected shares of a group's n buckets in the order of its list, of packets whose hashes are random. They are
// not quite 1/n, since the later of two buckets with one score wins: of 1,000 the first and the last are 1.5 % apart.
//
// With score s the i-th wins if those before it have at most s and those behind it less. Summed over s that is, to the first
// order in 1/65536, what stands here; what is left out is below (n/65536)² of a share.
func Shares(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 1 / float64(n)
		if n > 1 {
			out[i] += float64(2*i+1-n) / float64(n-1) / (2 * scores)
		}
	}
	return out
}
