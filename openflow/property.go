package openflow

const propExperimenter = 0xffff

// eachProperty calls f for each property in a list: its kind and all its bytes, header included, padding not
// (section 7.2.9). The last one's padding may be missing.
func eachProperty(b []byte, f func(kind uint16, prop []byte) error) error {
	for len(b) > 0 {
		if len(b) < 4 {
			return short("property", len(b), 4)
		}
		n := int(be.Uint16(b[2:]))
		if n < 4 {
			return short("property", n, 4)
		}
		if n > len(b) {
			return long("property", n, len(b))
		}
		if err := f(be.Uint16(b), b[:n]); err != nil {
			return err
		}
		b = b[min(round8(n), len(b)):]
	}
	return nil
}
