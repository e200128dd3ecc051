package flows

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// GroupAny is a bucket's WatchGroup when it watches none.
const GroupAny uint32 = 0xffffffff

// NewBucket is a bucket that watches nothing. Weight must be at least 1 in select groups, 0 in others.
func NewBucket(id uint32, weight uint16, actions ...Action) Bucket {
	return Bucket{ID: id, Weight: weight, WatchPort: PortAny, WatchGroup: GroupAny, Actions: actions}
}

var groupTypes = [...]string{"all", "select", "indirect", "ff"}

// String is the type as ovs-ofctl names it.
func (t GroupType) String() string {
	if int(t) < len(groupTypes) {
		return groupTypes[t]
	}
	return "type" + strconv.Itoa(int(t))
}

// String is the group in ovs-ofctl syntax, as `ovs-ofctl -O OpenFlow15 --no-names dump-groups` of Open vSwitch 3.1
// prints it.
func (g Group) String() string { return string(g.AppendText(nil)) }

// AppendText appends String.
func (g Group) AppendText(b []byte) []byte {
	b = append(append(appendNum(b, "group_id=", g.ID), ",type="...), g.Type.String()...)
	if g.Method != "" {
		b = append(append(b, ",selection_method="...), g.Method...)
		if g.Param != 0 {
			b = strconv.AppendUint(append(b, ",selection_method_param="...), g.Param, 10)
		}
		b = appendFields(b, g.Fields)
	}
	for _, k := range g.Buckets {
		b = append(appendNum(b, ",bucket=bucket_id:", k.ID), ',')
		if implied := impliedWeight(g.Type); k.Weight != implied {
			b = append(appendNum(b, "weight:", k.Weight), ',')
		}
		if k.WatchPort != PortAny {
			b = append(appendPort(append(b, "watch_port:"...), k.WatchPort), ',')
		}
		if k.WatchGroup != GroupAny {
			b = append(appendNum(b, "watch_group:", k.WatchGroup), ',')
		}
		b = AppendActions(append(b, "actions="...), k.Actions)
	}
	return b
}

// impliedWeight is the weight that the text of a bucket need not say.
func impliedWeight(t GroupType) uint16 {
	if t == GroupSelect {
		return 1
	}
	return 0
}

func appendFields(b []byte, fields []Field) []byte {
	names := make([]string, 0, len(fields))
	for _, f := range slices.SortedStableFunc(slices.Values(fields), func(a, b Field) int { return hashOrder(a) - hashOrder(b) }) {
		names = append(names, f.String())
	}
	switch len(names) {
	case 0:
		return b
	case 1:
		return append(append(b, ",fields="...), names[0]...)
	}
	return append(append(append(b, ",fields("...), strings.Join(names, ",")...), ')')
}

// hashOrder sorts fields as Open vSwitch lists those of a group, which differs in places from a match.
func hashOrder(f Field) int {
	switch {
	case TunnelID <= f && f <= InPort:
		return int(f) - FieldCount
	case f == VLANVID || f == VLANPCP:
		return 2*int(EthType) + 1
	case f == ARPOp:
		return 2*int(ARPSPA) - 1
	case f == TCPFlags:
		return 2*int(TCPDst) + 1
	}
	return 2 * int(f)
}

// ParseGroup reads a group in ovs-ofctl syntax: what [Group.String] writes, and what add-group reads, of what this
// package knows. Buckets without an id get the lowest free ones; they are sorted by id. The error, a [*SyntaxError],
// says where it is wrong and what is allowed.
func ParseGroup(text string) (Group, error) {
	p := groupParser{scanner: &scanner{what: "group", text: text, end: len(text)}}
	var start item
	for it, ok := p.next(); ok; it, ok = p.next() {
		if start.text == "" {
			start = it
		}
		if it.sep == '=' && it.key == "bucket" {
			p.pos = it.pos
			break
		}
		if err := p.property(it); err != nil {
			return Group{}, err
		}
	}
	switch {
	case !p.hasID:
		return Group{}, p.fail(start, "want group_id=ID")
	case !p.hasType:
		return Group{}, p.fail(start, "want type=all, select, indirect or ff")
	case p.group.Method == "" && (p.group.Param != 0 || len(p.group.Fields) > 0):
		return Group{}, p.fail(start, "selection_method_param and fields need selection_method")
	}
	if err := p.buckets(); err != nil {
		return Group{}, err
	}
	return p.group, nil
}

type groupParser struct {
	*scanner
	group          Group
	hasID, hasType bool
}

func (p *groupParser) property(it item) error {
	number := func(bits int) (n uint64, err error) {
		if n, err = parseUint(it.value, bits); err != nil {
			err = p.fail(it, "%w", err)
		}
		return n, err
	}
	switch it.key {
	case "group_id":
		n, err := number(32)
		p.group.ID, p.hasID = uint32(n), true
		return err
	case "type":
		name := it.value
		if name == "fast_failover" {
			name = "ff"
		}
		i := slices.Index(groupTypes[:], name)
		if i < 0 {
			return p.fail(it, "want type=all, select, indirect or ff")
		}
		p.group.Type, p.hasType = GroupType(i), true
	case "selection_method":
		if len(it.value) == 0 || len(it.value) > 15 || strings.ContainsAny(it.value, "(=:") {
			return p.fail(it, "want a method's name of at most 15 bytes, like hash or dp_hash")
		}
		p.group.Method = it.value
	case "selection_method_param":
		n, err := number(64)
		p.group.Param = n
		return err
	case "fields":
		return p.fields(it)
	default:
		return p.fail(it, "unknown; want group_id, type, selection_method, selection_method_param, fields or bucket")
	}
	return nil
}

func (p *groupParser) fields(it item) error {
	names := it.value
	if it.sep == '(' {
		if _, err := p.inner(it); err != nil {
			return err
		}
		names = strings.TrimSuffix(names, ")")
	}
	for name := range strings.FieldsFuncSeq(names, func(r rune) bool { return strings.ContainsRune(delimiters, r) }) {
		f, ok := FieldByName(name)
		if !ok {
			return p.fail(it, "unknown field %q (masks are not supported), want names like ip_src, ip_dst, nw_proto, tcp_src, tcp_dst", name)
		}
		if slices.Contains(p.group.Fields, f) {
			return p.fail(it, "field %v twice", f)
		}
		p.group.Fields = append(p.group.Fields, f)
	}
	slices.Sort(p.group.Fields)
	return nil
}

// buckets reads them; each reaches to the next "bucket=".
func (p *groupParser) buckets() error {
	type numbered struct {
		Bucket
		hasID bool
		from  item
	}
	var list []numbered
	ids := map[uint32]bool{}
	for p.pos < len(p.text) {
		it, ok := p.next()
		if !ok {
			break
		}
		p.pos = it.pos + len("bucket=")
		p.end = len(p.text)
		if i := strings.Index(p.text[p.pos:], "bucket="); i >= 0 {
			p.end = p.pos + i
		}
		k, hasID, err := p.bucket(it)
		if err != nil {
			return err
		}
		if hasID && ids[k.ID] {
			return p.fail(it, "bucket_id %d twice", k.ID)
		}
		ids[k.ID] = ids[k.ID] || hasID
		list = append(list, numbered{k, hasID, it})
		p.pos, p.end = p.end, len(p.text)
	}
	if p.group.Type == GroupIndirect && len(list) > 1 {
		return p.fail(list[1].from, "an indirect group has one bucket at most")
	}
	next := uint32(0)
	for _, k := range list {
		for ; !k.hasID; next++ {
			if !ids[next] {
				k.ID, k.hasID = next, true
			}
		}
		p.group.Buckets = append(p.group.Buckets, k.Bucket)
	}
	slices.SortFunc(p.group.Buckets, func(a, b Bucket) int { return int(int64(a.ID) - int64(b.ID)) })
	return nil
}

func (p *groupParser) bucket(start item) (k Bucket, hasID bool, err error) {
	k = NewBucket(0, impliedWeight(p.group.Type))
	for {
		it, ok := p.next()
		if !ok {
			return k, hasID, p.fail(start, "want actions=ACTIONS in the bucket")
		}
		var n uint64
		var port uint32
		switch it.key {
		case "bucket_id":
			n, err = parseUint(it.value, 32)
			if err == nil && n > 0xffffff00 {
				err = fmt.Errorf("want a bucket_id of at most 0xffffff00")
			}
			k.ID, hasID = uint32(n), true
		case "weight":
			if n, err = parseUint(it.value, 16); err == nil && p.group.Type != GroupSelect && n != 0 {
				err = fmt.Errorf("only buckets of select groups have a weight")
			}
			k.Weight = uint16(n)
		case "watch_port":
			port, err = parsePort(it.value)
			k.WatchPort = port
		case "watch_group":
			n, err = parseUint(it.value, 32)
			k.WatchGroup = uint32(n)
		default: // "actions=" may be left out
			p.pos = it.pos
			if it.sep == '=' && (it.key == "actions" || it.key == "action") {
				p.pos += len(it.key) + 1
			}
			k.Actions, err = parseActions(p.scanner)
			return k, hasID, err
		}
		if err != nil {
			return k, hasID, p.fail(it, "%w", err)
		}
	}
}
