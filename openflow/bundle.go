package openflow

import "fmt"

// BundleType says what a bundle-control message asks or answers (OFPBCT_*). A reply is its request plus one.
type BundleType uint16

// Types of bundle-control (section 7.3.9.2).
const (
	BundleOpen BundleType = iota
	BundleOpened
	BundleClose
	BundleClosed
	BundleCommit
	BundleCommitted
	BundleDiscard
	BundleDiscarded
)

// String is the type's name.
func (t BundleType) String() string {
	names := [...]string{"open", "opened", "close", "closed", "commit", "committed", "discard", "discarded"}
	if int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("bundle type(%d)", uint16(t))
}

// Flags of bundles (OFPBF_*).
const (
	BundleAtomic  uint16 = 1 << 0 // all or nothing, and packets see nothing in between
	BundleOrdered uint16 = 1 << 1 // in the order of the messages
)

// BundleControl opens, closes, commits or discards a bundle, or answers that.
type BundleControl struct {
	ID    uint32
	Type  BundleType
	Flags uint16
}

// AppendBundleControl appends a bundle-control message. Bundles are in 1.4 and later.
func AppendBundleControl(b []byte, v Version, xid, id uint32, typ BundleType, flags uint16) []byte {
	start := len(b)
	b = begin(b, v, TypeBundleControl, xid)
	b = be.AppendUint32(b, id)
	b = be.AppendUint16(b, uint16(typ))
	return end(be.AppendUint16(b, flags), start)
}

// ParseBundleControl reads a bundle-control message.
func ParseBundleControl(msg []byte) (BundleControl, error) {
	p, err := payload(msg, TypeBundleControl, 8)
	if err != nil {
		return BundleControl{}, err
	}
	return BundleControl{ID: be.Uint32(p), Type: BundleType(be.Uint16(p[4:])), Flags: be.Uint16(p[6:])}, nil
}

// AppendBundleAdd appends a message that adds inner to an open bundle. inner is one whole message of the same version
// and xid: errors bear that xid.
func AppendBundleAdd(b []byte, v Version, xid, id uint32, flags uint16, inner []byte) ([]byte, error) {
	h, err := ParseHeader(inner)
	switch {
	case err != nil:
		return b, fmt.Errorf("message for bundle %d: %w", id, err)
	case int(h.Length) != len(inner):
		return b, &ValueError{What: fmt.Sprintf("message for bundle %d has %d bytes, its header says %d", id, len(inner), h.Length)}
	case h.XID != xid || h.Version != v:
		return b, &ValueError{What: fmt.Sprintf("message for bundle %d has xid %#x, version %s; want %#x, %s",
			id, h.XID, h.Version, xid, v)}
	}
	start := len(b)
	b = begin(b, v, TypeBundleAdd, xid)
	b = be.AppendUint32(b, id)
	b = append(b, 0, 0, byte(flags>>8), byte(flags))
	return finish(append(b, inner...), start)
}

// ParseBundleAdd reads a bundle-add message, as a switch does. inner aliases msg.
func ParseBundleAdd(msg []byte) (id uint32, flags uint16, inner []byte, err error) {
	p, err := payload(msg, TypeBundleAdd, 8+headerLen)
	if err != nil {
		return 0, 0, nil, err
	}
	h, err := ParseHeader(p[8:])
	if err != nil {
		return 0, 0, nil, err
	}
	if int(h.Length) > len(p)-8 {
		return 0, 0, nil, long("message in a bundle", int(h.Length), len(p)-8)
	}
	return be.Uint32(p), be.Uint16(p[6:]), p[8 : 8+h.Length], nil
}
