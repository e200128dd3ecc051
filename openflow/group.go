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

	GroupInsertBucket GroupCommand = 3 // 1.5, see AppendInsertBuckets
	GroupRemoveBucket GroupCommand = 5 // 1.5, see AppendRemoveBucket
)

// AllGroups is the group id that means all.
const AllGroups uint32 = 0xfffffffc

// MaxGroup is how many bytes a group's buckets and properties may have, 1,364 buckets of one address and one table: its
// description must fit in one message. Of a larger one Open vSwitch 3.1 sends a description with a length that has lost
// its upper bits, after which nothing on the connection can be understood.
const MaxGroup = maxMessage - headerLen - 8 - 16

// AppendGroupMod appends a group-mod (section 7.3.4.4) that adds, modifies or deletes. A deletion sends the id alone. A
// group of more than MaxGroup bytes is an error.
//
// In 1.3 buckets have no ids: g's are not sent; a selection method is an error there. Weights are sent for select groups
// only, and then always: a switch may take an absent one for 0.
func AppendGroupMod(b []byte, v Version, xid uint32, cmd GroupCommand, g *flows.Group) ([]byte, error) {
	start := len(b)
	if cmd > GroupDelete {
		return b, &ValueError{What: fmt.Sprintf("group %d: command %d is about single buckets", g.ID, cmd)}
	}
	b, length := beginGroupMod(b, v, xid, cmd, g.Type, g.ID, BucketAll)
	if cmd == GroupDelete {
		return end(b, start), nil
	}
	b, err := appendGroupBody(b, v, g, length)
	if err != nil {
		return b[:start], err
	}
	return finish(b, start)
}

// beginGroupMod appends what precedes the buckets. Their length stands at the place returned, in 1.5.
func beginGroupMod(b []byte, v Version, xid uint32, cmd GroupCommand, kind flows.GroupType, id, bucket uint32) ([]byte, int) {
	b = begin(b, v, TypeGroupMod, xid)
	b = be.AppendUint16(b, uint16(cmd))
	b = append(b, byte(kind), 0)
	b = be.AppendUint32(b, id)
	length := len(b)
	if v >= V15 {
		b = append(b, 0, 0, 0, 0)
		b = be.AppendUint32(b, bucket)
	}
	return b, length
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
	n := len(b) - from
	if v >= V15 && g.Method != "" {
		b = appendSelection(b, v, g)
	}
	if len(b)-from > MaxGroup {
		return b, fmt.Errorf("group %d: %w", g.ID, &ValueError{What: fmt.Sprintf("%d buckets have %d bytes, at most %d are possible",
			len(g.Buckets), len(b)-from, MaxGroup)})
	}
	if v >= V15 {
		be.PutUint16(b[length:], uint16(n))
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
	m := GroupMod{Command: GroupCommand(be.Uint16(p)), BucketID: BucketAll}
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
		n, err := lengthOf("group description", body, 0, fixed)
		if err != nil {
			return nil, err
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
	be.PutUint16(body[start:], uint16(len(body)-start))
	return body, nil
}
