package openflow

import "github.com/evenflow/evenflow/flows"

// Statistics of 1.5 (OXS, section 7.2.4.2).
const (
	classStats     = 0x8002
	oxsDuration    = 0
	oxsIdleTime    = 1
	oxsFlowCount   = 3
	oxsPacketCount = 4
	oxsByteCount   = 5
)

// eachStatistic calls f for each entry known here of an ofp_stats at the start of b, and returns what follows its padding.
func eachStatistic(b []byte, f func(num uint8, value []byte)) (rest []byte, err error) {
	if len(b) < 4 {
		return nil, short("flow statistics", len(b), 4)
	}
	n := int(be.Uint16(b[2:]))
	if n < 4 {
		return nil, short("flow statistics", n, 4)
	}
	if round8(n) > len(b) {
		return nil, long("flow statistics", round8(n), len(b))
	}
	for l := b[4:n]; len(l) > 0; {
		if len(l) < 4 {
			return nil, short("flow statistic", len(l), 4)
		}
		size := 4 + int(l[3])
		if size > len(l) {
			return nil, long("flow statistic", size, len(l))
		}
		if be.Uint16(l) == classStats {
			f(l[2]>>1, l[4:size])
		}
		l = l[size:]
	}
	return b[round8(n):], nil
}

// parseStats reads the statistics of a rule. Unknown entries are skipped.
func parseStats(b []byte, s *flows.Stats) (rest []byte, err error) {
	return eachStatistic(b, func(num uint8, value []byte) {
		if len(value) != 8 {
			return
		}
		switch num {
		case oxsDuration:
			s.DurationSec, s.DurationNsec = be.Uint32(value), be.Uint32(value[4:])
		case oxsIdleTime:
			s.IdleSec, s.HasIdle = be.Uint32(value), true
		case oxsPacketCount:
			s.Packets = be.Uint64(value)
		case oxsByteCount:
			s.Bytes = be.Uint64(value)
		}
	})
}

// appendStats appends an ofp_stats with its padding.
func appendStats(b []byte, s *flows.Stats) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0)
	b = appendOXS(b, oxsDuration, uint64(s.DurationSec)<<32|uint64(s.DurationNsec))
	if s.HasIdle {
		b = appendOXS(b, oxsIdleTime, uint64(s.IdleSec)<<32)
	}
	b = appendOXS(b, oxsPacketCount, s.Packets)
	b = appendOXS(b, oxsByteCount, s.Bytes)
	be.PutUint16(b[start+2:], uint16(len(b)-start))
	return pad8(b, start)
}

func appendOXS(b []byte, num uint8, value uint64) []byte {
	b = append(b, classStats>>8, classStats&0xff, num<<1, 8)
	return be.AppendUint64(b, value)
}
