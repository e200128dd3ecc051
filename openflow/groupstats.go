package openflow

// GroupStats are a group's counters (section 7.3.5.9). A counter that the switch does not keep is all ones.
type GroupStats struct {
	ID                        uint32
	Users                     uint32 // rules and groups that hand packets to it
	Packets, Bytes            uint64
	DurationSec, DurationNsec uint32 // since it was added
	Buckets                   []BucketStats
}

// BucketStats are a bucket's counters. They are in the order of the group's buckets.
type BucketStats struct{ Packets, Bytes uint64 }

const (
	groupStatsLen  = 40
	bucketStatsLen = 16
)

// AppendGroupStatsRequest asks for a group's counters, or all groups' (AllGroups).
func AppendGroupStatsRequest(b []byte, v Version, xid, group uint32) []byte {
	return appendRequest(b, v, xid, MultipartGroupStats, true, group)
}

// ParseGroupStats reads the body of a group-stats reply.
func ParseGroupStats(_ Version, body []byte) ([]GroupStats, error) {
	var all []GroupStats
	for len(body) > 0 {
		n, err := lengthOf("group statistics", body, 0, groupStatsLen)
		if err != nil {
			return nil, err
		}
		s := GroupStats{ID: be.Uint32(body[4:]), Users: be.Uint32(body[8:]), Packets: be.Uint64(body[16:]), Bytes: be.Uint64(body[24:]),
			DurationSec: be.Uint32(body[32:]), DurationNsec: be.Uint32(body[36:])}
		for b := body[groupStatsLen:n]; len(b) > 0; b = b[bucketStatsLen:] {
			if len(b) < bucketStatsLen {
				return nil, short("bucket statistics", len(b), bucketStatsLen)
			}
			s.Buckets = append(s.Buckets, BucketStats{Packets: be.Uint64(b), Bytes: be.Uint64(b[8:])})
		}
		all = append(all, s)
		body = body[n:]
	}
	return all, nil
}

// AppendGroupStats appends one group's counters to the body of a group-stats reply, as a switch does. Of Buckets at most
// 4,093 are sent.
func AppendGroupStats(body []byte, _ Version, s GroupStats) []byte {
	buckets := s.Buckets[:min(len(s.Buckets), (maxMessage-groupStatsLen)/bucketStatsLen)]
	body = be.AppendUint16(body, uint16(groupStatsLen+bucketStatsLen*len(buckets)))
	body = append(body, 0, 0)
	body = be.AppendUint32(body, s.ID)
	body = be.AppendUint32(body, s.Users)
	body = append(body, 0, 0, 0, 0)
	body = be.AppendUint64(body, s.Packets)
	body = be.AppendUint64(body, s.Bytes)
	body = be.AppendUint32(body, s.DurationSec)
	body = be.AppendUint32(body, s.DurationNsec)
	for _, k := range buckets {
		body = be.AppendUint64(body, k.Packets)
		body = be.AppendUint64(body, k.Bytes)
	}
	return body
}
