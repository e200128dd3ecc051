package openflow

import (
	"fmt"

	"github.com/evenflow/evenflow/flows"
)

// MeterCommand says what a meter-mod does (OFPMC_*).
type MeterCommand uint16

// Meter commands.
const (
	MeterAdd MeterCommand = iota
	MeterModify
	MeterDelete // AllMeters: every one
)

// AllMeters is the meter id that means all.
const AllMeters uint32 = 0xffffffff

const (
	meterPackets = 1 << 1 // rate in packets per second
	meterBurst   = 1 << 2
	bandDrop     = 1
	bandLen      = 16
)

// AppendMeterMod appends a meter-mod (section 7.3.4.5) for a meter with one drop band.
func AppendMeterMod(b []byte, v Version, xid uint32, cmd MeterCommand, m flows.Meter) ([]byte, error) {
	if cmd != MeterDelete && m.Rate == 0 {
		return b, &ValueError{What: fmt.Sprintf("meter %d: rate 0", m.ID)}
	}
	start := len(b)
	b = begin(b, v, TypeMeterMod, xid)
	b = be.AppendUint16(b, uint16(cmd))
	return end(appendMeter(b, m, cmd != MeterDelete), start), nil
}

// appendMeter appends flags, id and band, alike in meter-mod and meter-config.
func appendMeter(b []byte, m flows.Meter, band bool) []byte {
	flags := uint16(meterPackets)
	if m.Burst > 0 {
		flags |= meterBurst
	}
	if !band {
		flags = 0
	}
	b = be.AppendUint16(b, flags)
	b = be.AppendUint32(b, m.ID)
	if band {
		b = append(b, 0, bandDrop, 0, bandLen)
		b = be.AppendUint32(b, m.Rate)
		b = be.AppendUint32(b, m.Burst)
		b = append(b, 0, 0, 0, 0)
	}
	return b
}

// parseMeter reads flags, id and bands. A meter that is not one drop band in packets per second has Rate 0, which none
// of ours has.
func parseMeter(b []byte) (flows.Meter, error) {
	flags := be.Uint16(b)
	m := flows.Meter{ID: be.Uint32(b[2:])}
	bands := 0
	for b = b[6:]; len(b) > 0; bands++ {
		if len(b) < bandLen {
			return m, short("meter band", len(b), bandLen)
		}
		n := int(be.Uint16(b[2:]))
		if n < 12 {
			return m, short("meter band", n, 12)
		}
		if n > len(b) {
			return m, long("meter band", n, len(b))
		}
		if be.Uint16(b) == bandDrop && flags&meterPackets != 0 {
			m.Rate = be.Uint32(b[4:])
			if flags&meterBurst != 0 {
				m.Burst = be.Uint32(b[8:])
			}
		}
		b = b[n:]
	}
	if bands != 1 || m.Rate == 0 {
		m.Rate, m.Burst = 0, 0
	}
	return m, nil
}

// ParseMeterMod reads a meter-mod, as a switch does.
func ParseMeterMod(msg []byte) (MeterCommand, flows.Meter, error) {
	p, err := payload(msg, TypeMeterMod, 8)
	if err != nil {
		return 0, flows.Meter{}, err
	}
	m, err := parseMeter(p[2:])
	return MeterCommand(be.Uint16(p)), m, err
}

// ParseMeterConfigs reads the body of a meter-config reply. A meter that is not one drop band in packets per second has
// Rate 0.
func ParseMeterConfigs(_ Version, body []byte) ([]flows.Meter, error) {
	var meters []flows.Meter
	for len(body) > 0 {
		n, err := lengthOf("meter", body, 0, 8)
		if err != nil {
			return nil, err
		}
		m, err := parseMeter(body[2:n])
		if err != nil {
			return nil, err
		}
		meters = append(meters, m)
		body = body[n:]
	}
	return meters, nil
}

// AppendMeterConfig appends one meter to the body of a meter-config reply, as a switch does.
func AppendMeterConfig(body []byte, _ Version, m flows.Meter) []byte {
	return appendMeter(append(body, 0, 8+bandLen), m, true)
}
