package openflow

// MeterStats are a meter's counters (section 7.3.5.13).
type MeterStats struct {
	ID                        uint32
	Users                     uint32 // rules that use it
	Packets, Bytes            uint64 // that came to it
	DurationSec, DurationNsec uint32 // since it was added
	Bands                     []BandStats
}

// BandStats count what exceeded a band's rate, and was dropped if it is a drop band.
type BandStats struct{ Packets, Bytes uint64 }

const (
	meterStatsLen    = 40
	bandStatsLen     = 16
	meterFeaturesLen = 16 // 24 in 1.5, of which Open vSwitch 3.1 sends 16
)

// AppendMeterStatsRequest asks for a meter's counters, or all meters' (AllMeters).
func AppendMeterStatsRequest(b []byte, v Version, xid, meter uint32) []byte {
	return appendRequest(b, v, xid, MultipartMeterStats, true, meter)
}

// ParseMeterStats reads the body of a meter-stats reply.
func ParseMeterStats(_ Version, body []byte) ([]MeterStats, error) {
	var all []MeterStats
	for len(body) > 0 {
		n, err := lengthOf("meter statistics", body, 4, meterStatsLen)
		if err != nil {
			return nil, err
		}
		s := MeterStats{ID: be.Uint32(body), Users: be.Uint32(body[12:]), Packets: be.Uint64(body[16:]), Bytes: be.Uint64(body[24:]),
			DurationSec: be.Uint32(body[32:]), DurationNsec: be.Uint32(body[36:])}
		for b := body[meterStatsLen:n]; len(b) > 0; b = b[bandStatsLen:] {
			if len(b) < bandStatsLen {
				return nil, short("band statistics", len(b), bandStatsLen)
			}
			s.Bands = append(s.Bands, BandStats{Packets: be.Uint64(b), Bytes: be.Uint64(b[8:])})
		}
		all = append(all, s)
		body = body[n:]
	}
	return all, nil
}

// AppendMeterStats appends one meter's counters to the body of a meter-stats reply, as a switch does. Of Bands at most
// 4,093 are sent.
func AppendMeterStats(body []byte, _ Version, s MeterStats) []byte {
	bands := s.Bands[:min(len(s.Bands), (maxMessage-meterStatsLen)/bandStatsLen)]
	body = be.AppendUint32(body, s.ID)
	body = be.AppendUint16(body, uint16(meterStatsLen+bandStatsLen*len(bands)))
	body = append(body, 0, 0, 0, 0, 0, 0)
	body = be.AppendUint32(body, s.Users)
	body = be.AppendUint64(body, s.Packets)
	body = be.AppendUint64(body, s.Bytes)
	body = be.AppendUint32(body, s.DurationSec)
	body = be.AppendUint32(body, s.DurationNsec)
	for _, k := range bands {
		body = be.AppendUint64(body, k.Packets)
		body = be.AppendUint64(body, k.Bytes)
	}
	return body
}

// MeterFeatures says what meters a switch can have (section 7.3.5.15).
type MeterFeatures struct {
	MaxMeter     uint32 // how many
	BandTypes    uint32 // bit 1<<type; drop is 1
	Capabilities uint32 // flags that a meter may have: MeterPackets and so on
	MaxBands     uint8  // of a meter
	MaxColor     uint8
}

// Capabilities of meters (OFPMF_*).
const (
	MeterKbps    uint32 = 1 << 0 // rates in kbit/s
	MeterPackets uint32 = meterPackets
	MeterBurst   uint32 = meterBurst
	MeterCounts  uint32 = 1 << 3
)

// AppendMeterFeaturesRequest asks for MeterFeatures.
func AppendMeterFeaturesRequest(b []byte, v Version, xid uint32) []byte {
	return appendRequest(b, v, xid, MultipartMeterFeatures, false, 0)
}

// ParseMeterFeatures reads the body of a meter-features reply.
func ParseMeterFeatures(body []byte) (MeterFeatures, error) {
	if len(body) < meterFeaturesLen {
		return MeterFeatures{}, short("meter features", len(body), meterFeaturesLen)
	}
	return MeterFeatures{MaxMeter: be.Uint32(body), BandTypes: be.Uint32(body[4:]), Capabilities: be.Uint32(body[8:]),
		MaxBands: body[12], MaxColor: body[13]}, nil
}

// AppendMeterFeatures appends the body of a meter-features reply, as Open vSwitch does in both versions.
func AppendMeterFeatures(body []byte, f MeterFeatures) []byte {
	body = be.AppendUint32(be.AppendUint32(body, f.MaxMeter), f.BandTypes)
	return append(be.AppendUint32(body, f.Capabilities), f.MaxBands, f.MaxColor, 0, 0)
}
