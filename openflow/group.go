package openflow

import (
	"fmt"

	"github.com/evenflow/evenflow/flows"
)

// GroupCommand says what a group-mod does (OFPGC_*).
type GroupCommand uint16

// Group commands.
const (
	GroupAdd GroupCommand = iota
	GroupModify
	GroupDelete // AllGroups: every one
)

// AllGroups is the group id that means all.
const AllGroups uint32 = 0xfffffffc

const bucketAll uint32 = 0xffffffff // command_bucket_id of commands that are not about one bucket

// AppendGroupMod appends a group-mod (section 7.3.4.4). A deletion sends the id alone.
//
// In 1.3 buckets have no ids: g's are not sent; a selection method is an error there. Weights are sent for select groups
// only, and then always: a switch may take an absent one for 0.
func AppendGroupMod(b []byte, v Version, xid uint32, cmd GroupCommand, g *flows.Group) ([]byte, error) {
	start := len(b)
	b = begin(b, v, TypeGroupMod, xid)
	b = be.AppendUint16(b, uint16(cmd))
	b = append(b, byte(g.Type), 0)
	b = be.AppendUint32(b, g.ID)
	length := len(b) // where the buckets' length stands in 1.5
	if v >= V15 {
		b = append(b, 0, 0, 0, 0)
		b = be.AppendUint32(b, bucketAll)
	}
	if cmd == GroupDelete {
		return end(b, start), nil
	}
	b, err := appendGroupBody(b, v, g, length)
	if err != nil {
		return b[:start], err
	}
	return finish(b, start)
}

// appendGroupBody appends buckets and properties and writes the length of the former at its place.
func appendGroupBody(b []byte, v Version, g *flows.Group, length int) ([]byte, error) {
	if err := checkGroup(v, g); err != nil {
		return b, fmt.Errorf("group %d: %w", g.ID, err)
	}
	from := len(b)
	for i := range g.Buckets {
		var err error
		if b, err = appendBucket(b, v, g.Type, &g.Buckets[i]); err != nil {
			return b, fmt.Errorf("group %d, bucket %d: %w", g.ID, g.Buckets[i].ID, err)
		}
	}
	if v < V15 {
		return b, nil
	}
	if n := len(b) - from; n > maxMessage {
		return b, fmt.Errorf("group %d: %w", g.ID, &ValueError{What: fmt.Sprintf("buckets of %d bytes", n)})
	}
	be.PutUint16(b[length:], uint16(len(b)-from))
	if g.Method != "" {
		b = appendSelection(b, v, g)
	}
	return b, nil
}

func checkGroup(v Version, g *flows.Group) error {
	if g.Method == "" {
		if g.Param != 0 || len(g.Fields) > 0 {
			return &ValueError{What: "parameter or fields without a selection method"}
		}
		return nil
	}
	if v < V15 {
		return &UnsupportedError{Version: v, What: "selection method " + g.Method}
	}
	if g.Type != flows.GroupSelect {
		return &ValueError{What: "selection method in a group that does not select"}
	}
	if len(g.Method) >= selectionNameLen {
		return &ValueError{What: fmt.Sprintf("selection method %q: at most %d bytes", g.Method, selectionNameLen-1)}
	}
	for _, f := range g.Fields {
		if header(v, f) == 0 {
			return &ValueError{What: fmt.Sprintf("hash field %s has no wire number", f)}
		}
	}
	return nil
}

// parseGroupBody reads buckets, of given length in 1.5 and up to the end in 1.3, and properties.
func parseGroupBody(v Version, b []byte, buckets int, g *flows.Group) (err error) {
	if v < V15 {
		g.Buckets, err = parseBuckets(v, b, g.Type)
		return err
	}
	if buckets > len(b) {
		return long("group's buckets", buckets, len(b))
	}
	if g.Buckets, err = parseBuckets(v, b[:buckets], g.Type); err != nil {
		return err
	}
	return eachProperty(b[buckets:], func(kind uint16, prop []byte) error {
		if kind == propExperimenter {
			return parseSelection(prop, g)
		}
		return nil
	})
}

// GroupMod is a group-mod as a switch receives it.
type GroupMod struct {
	flows.Group
	Command  GroupCommand
	BucketID uint32 // the bucket that the command is about; 1.5
}

// ParseGroupMod reads a group-mod. Nothing in it aliases msg.
func ParseGroupMod(msg []byte) (GroupMod, error) {
	fixed := 8
	if len(msg) > 0 && Version(msg[0]) >= V15 {
		fixed = 16
	}
	p, err := payload(msg, TypeGroupMod, fixed)
	if err != nil {
		return GroupMod{}, err
	}
	m := GroupMod{Command: GroupCommand(be.Uint16(p)), BucketID: bucketAll}
	m.Type, m.ID = flows.GroupType(p[2]), be.Uint32(p[4:])
	buckets := 0
	if fixed == 16 {
		buckets, m.BucketID = int(be.Uint16(p[8:])), be.Uint32(p[12:])
	}
	err = parseGroupBody(Version(msg[0]), p[fixed:], buckets, &m.Group)
	return m, err
}

// ParseGroupDescs reads the body of a group-desc reply. Buckets are in the switch's order. A hash field that is not known
// here, or not hashed whole, is flows.FieldNone in Fields, which comes first; the others are in the order of their
// constants.
func ParseGroupDescs(v Version, body []byte) ([]flows.Group, error) {
	fixed := 8
	if v >= V15 {
		fixed = 16
	}
	var groups []flows.Group
	for len(body) > 0 {
		if len(body) < fixed {
			return nil, short("group description", len(body), fixed)
		}
		n := int(be.Uint16(body))
		if n < fixed {
			return nil, short("group description", n, fixed)
		}
		if n > len(body) {
			return nil, long("group description", n, len(body))
		}
		g := flows.Group{Type: flows.GroupType(body[2]), ID: be.Uint32(body[4:])}
		buckets := 0
		if v >= V15 {
			buckets = int(be.Uint16(body[8:]))
		}
		if err := parseGroupBody(v, body[fixed:n], buckets, &g); err != nil {
			return nil, fmt.Errorf("group %d: %w", g.ID, err)
		}
		groups = append(groups, g)
		body = body[n:]
	}
	return groups, nil
}

// AppendGroupDesc appends one group to the body of a group-desc reply, as a switch does.
func AppendGroupDesc(body []byte, v Version, g *flows.Group) ([]byte, error) {
	start := len(body)
	body = append(body, 0, 0, byte(g.Type), 0)
	body = be.AppendUint32(body, g.ID)
	if v >= V15 {
		body = append(body, 0, 0, 0, 0, 0, 0, 0, 0)
	}
	body, err := appendGroupBody(body, v, g, start+8)
	if err != nil {
		return body[:start], err
	}
	n := len(body) - start
	if n > maxMessage {
		return body[:start], &ValueError{What: fmt.Sprintf("description of group %d has %d bytes", g.ID, n)}
	}
	be.PutUint16(body[start:], uint16(n))
	return body, nil
}
