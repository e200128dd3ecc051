package flows

import "slices"

// DecTTL lowers the IP time to live by one; a packet that reaches 0 goes to the controllers with these ids (Nicira;
// none given: to those with id 0) and nowhere else.
type DecTTL struct{ Controllers []uint16 }

func (a DecTTL) equal(other Action) bool {
	b, ok := other.(DecTTL)
	return ok && slices.Equal(a.Controllers, b.Controllers)
}

// AppendText is dec_ttl or dec_ttl(ID,ID).
func (a DecTTL) AppendText(b []byte) []byte {
	b = append(b, "dec_ttl"...)
	for i, id := range a.Controllers {
		before := ","
		if i == 0 {
			before = "("
		}
		b = appendNum(b, before, id)
	}
	if len(a.Controllers) > 0 {
		b = append(b, ')')
	}
	return b
}

func (s *scanner) decTTL(it item) (Action, error) {
	var a DecTTL
	if it.sep == 0 {
		return a, nil
	}
	in, err := s.inner(it)
	if err != nil {
		return nil, err
	}
	for p, ok := in.next(); ok; p, ok = in.next() {
		id, err := parseUint(p.text, 16)
		if err != nil {
			return nil, s.fail(p, "want a controller's id: %w", err)
		}
		a.Controllers = append(a.Controllers, uint16(id))
	}
	if a.Controllers == nil {
		return nil, s.fail(it, "want dec_ttl or dec_ttl(ID,ID)")
	}
	return a, nil
}
