package openflow

// GroupFeatures says what groups a switch can have (section 7.3.5.11). Types, MaxGroups and Actions are by
// flows.GroupType.
type GroupFeatures struct {
	Types        uint32 // bit 1<<type
	Capabilities uint32 // GroupWeight and so on
	MaxGroups    [4]uint32
	Actions      [4]uint32 // bit 1<<n of action type n (OFPAT_*)
}

// Capabilities of groups (OFPGFC_*).
const (
	GroupWeight         uint32 = 1 << 0 // select groups have weights
	GroupLiveness       uint32 = 1 << 1 // select groups pass over dead buckets
	GroupChaining       uint32 = 1 << 2 // groups hand packets to groups
	GroupChainingChecks uint32 = 1 << 3 // loops are refused
)

const groupFeaturesLen = 40

// AppendGroupFeaturesRequest asks for GroupFeatures.
func AppendGroupFeaturesRequest(b []byte, v Version, xid uint32) []byte {
	return appendRequest(b, v, xid, MultipartGroupFeatures, false, 0)
}

// ParseGroupFeatures reads the body of a group-features reply.
func ParseGroupFeatures(body []byte) (f GroupFeatures, err error) {
	if len(body) < groupFeaturesLen {
		return f, short("group features", len(body), groupFeaturesLen)
	}
	f.Types, f.Capabilities = be.Uint32(body), be.Uint32(body[4:])
	for i := range f.MaxGroups {
		f.MaxGroups[i], f.Actions[i] = be.Uint32(body[8+4*i:]), be.Uint32(body[24+4*i:])
	}
	return f, nil
}

// AppendGroupFeatures appends the body of a group-features reply, as a switch does.
func AppendGroupFeatures(body []byte, f GroupFeatures) []byte {
	body = be.AppendUint32(be.AppendUint32(body, f.Types), f.Capabilities)
	for _, n := range f.MaxGroups {
		body = be.AppendUint32(body, n)
	}
	for _, n := range f.Actions {
		body = be.AppendUint32(body, n)
	}
	return body
}
