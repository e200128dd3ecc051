package flows

import "strings"

// String is the meter in ovs-ofctl syntax on one line. Open vSwitch's dump-meters prints the same with line breaks.
func (m Meter) String() string { return string(m.AppendText(nil)) }

// AppendText appends String.
func (m Meter) AppendText(b []byte) []byte {
	b = append(appendNum(b, "meter=", m.ID), " pktps"...)
	if m.Burst != 0 {
		b = append(b, " burst"...)
	}
	b = appendNum(b, " bands=type=drop rate=", m.Rate)
	if m.Burst != 0 {
		b = appendNum(b, " burst_size=", m.Burst)
	}
	return b
}

// ParseMeter reads a meter in ovs-ofctl syntax: what [Meter.String] writes, and what add-meter reads and dump-meters
// prints, if it is of packets and has one band, that drops. The error, a [*SyntaxError], says where it is wrong and
// what is allowed.
func ParseMeter(text string) (m Meter, err error) {
	const allowed = "want meter=ID pktps [burst] bands=type=drop rate=PACKETS [burst_size=PACKETS]"
	s := &scanner{what: "meter", text: text, end: len(text)}
	var first item
	var pktps, burst, drop bool
	for it, ok := s.next(); ok; it, ok = s.next() {
		if first.text == "" {
			first = it
		}
		if it.sep == '=' && (it.key == "bands" || it.key == "band") {
			if it.key, it.value, _ = strings.Cut(it.value, "="); it.key == "" {
				continue
			}
		}
		var to *uint32
		switch it.key {
		case "pktps":
			pktps = true
		case "burst":
			burst = true
		case "stats": // Open vSwitch always counts
		case "type":
			if drop || it.value != "drop" {
				return Meter{}, s.fail(it, "want one band, type=drop")
			}
			drop = true
		case "meter":
			to = &m.ID
		case "rate":
			to = &m.Rate
		case "burst_size":
			to = &m.Burst
		default:
			return Meter{}, s.fail(it, "unknown; %s", allowed)
		}
		if to != nil {
			n, err := parseUint(it.value, 32)
			if err != nil {
				return Meter{}, s.fail(it, "%w", err)
			}
			*to = uint32(n)
		}
	}
	if m.ID == 0 || m.Rate == 0 || !pktps || !drop || burst != (m.Burst != 0) {
		return Meter{}, s.fail(first, allowed)
	}
	return m, nil
}
