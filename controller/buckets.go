package controller

import (
	"slices"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// part says which message an operation on a group is: all of it, or some of its buckets.
type part uint8

const (
	whole       part = iota
	insertion        // of what after has and before has not, behind the bucket at
	removalOfAt      // of the bucket at
)

const (
	bucketBytes  = 48    // of a bucket, about
	removalBytes = 48    // of a message that removes one, in a bundle
	maxRemovals  = 64    // of a change; with more the group is sent whole
	groupBytes   = 60000 // of a message; in a bundle another goes around it
)

// inParts cuts changes of groups into messages, of which each is an operation with a group of its own before and after.
//
// A group that we have left as it is gets its buckets one by one, if they are in the order of their ids and that is shorter. One
// that was found otherwise is sent whole, with the same ids, and so is one of OpenFlow 1.3, where buckets have none. What does
// not fit into a message is added to the end.
func (d *desired) inParts(ops []op) []op {
	if d.version < openflow.V15 || !slices.ContainsFunc(ops, op.changesGroup) {
		return ops
	}
	out := make([]op, 0, len(ops)+8)
	for _, p := range ops {
		if !p.changesGroup() || !d.possible(p.after.group) {
			out = append(out, p)
			continue
		}
		if parts, ok := d.singly(p); ok {
			out = append(out, parts...)
		} else {
			out = d.split(out, p)
		}
	}
	return out
}

// possible reports whether a switch can have a group; if not, its message says why.
func (d *desired) possible(g *flows.Group) bool {
	_, err := openflow.AppendGroupMod(nil, d.version, 0, openflow.GroupModify, g)
	return err == nil
}

// changesGroup reports whether the operation sends buckets.
func (p op) changesGroup() bool { return p.key.class == aGroup && p.part == whole && !p.deletes() }

// singly is a change of a group as insertions and removals of buckets; false if they are not the way.
func (d *desired) singly(p op) (parts []op, ok bool) {
	if p.before.none() || p.from == nil || p.from != p.owner || p.mends {
		return nil, false
	}
	a, b := p.before.group, p.after.group
	frame := *b
	frame.Buckets = a.Buckets
	if !frame.Equal(*a) || !ascending(a.Buckets) || !ascending(b.Buckets) {
		return nil, false
	}
	gone, runs, same := difference(a.Buckets, b.Buckets)
	cost, added := removalBytes*len(gone), 0
	for _, r := range runs {
		added += len(r)
		cost += removalBytes + bucketBytes*len(r)
	}
	if !same || len(gone) > maxRemovals || cost > bucketBytes*len(b.Buckets) {
		return nil, false
	}
	now := p.before
	step := func(kind part, at uint32, buckets []flows.Bucket) {
		g := *b
		g.Buckets = buckets
		q := op{key: p.key, before: now, after: object{group: &g}, from: p.owner, owner: p.owner, part: kind, at: at}
		parts = append(parts, q)
		now = q.after
	}
	for _, r := range runs {
		for len(r) > 0 {
			n := d.fitting(b, r)
			all := now.group.Buckets
			i, _ := slices.BinarySearchFunc(all, r[0], compareBuckets)
			at := openflow.BucketFirst
			if i > 0 {
				at = all[i-1].ID // which may be one that goes: that is done last, lest the group be empty meanwhile
			}
			step(insertion, at, slices.Insert(slices.Clone(all), i, r[:n]...))
			r = r[n:]
		}
	}
	for _, id := range gone {
		step(removalOfAt, id, slices.DeleteFunc(slices.Clone(now.group.Buckets), func(k flows.Bucket) bool { return k.ID == id }))
	}
	return parts, true
}

// difference is what two lists of buckets in the order of ids differ in: those that are gone, and rows of new ones with none in
// between that stays; same is false if a bucket of one id differs.
func difference(a, b []flows.Bucket) (gone []uint32, runs [][]flows.Bucket, same bool) {
	stayed := true // the last of b, so that a new one begins a row
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].ID < b[0].ID:
			gone = append(gone, a[0].ID)
			a = a[1:]
		case len(a) == 0 || b[0].ID < a[0].ID:
			if stayed {
				runs = append(runs, nil)
			}
			runs[len(runs)-1] = append(runs[len(runs)-1], b[0])
			stayed, b = false, b[1:]
		case !a[0].Equal(b[0]):
			return nil, nil, false
		default:
			stayed, a, b = true, a[1:], b[1:]
		}
	}
	return gone, runs, true
}

func compareBuckets(a, b flows.Bucket) int { return int(a.ID) - int(b.ID) }

func ascending(list []flows.Bucket) bool {
	for i := 1; i < len(list); i++ {
		if list[i-1].ID >= list[i].ID {
			return false
		}
	}
	return true
}

// split appends an operation that sends a group whole, and insertions of the buckets that its message has no room for.
func (d *desired) split(out []op, p op) []op {
	all := p.after.group.Buckets
	n := d.fitting(p.after.group, all)
	if n == len(all) {
		return append(out, p)
	}
	first := *p.after.group
	first.Buckets = all[:n]
	p.after = object{group: &first}
	out = append(out, p)
	for n < len(all) {
		more := d.fitting(&first, all[n:])
		g := first
		g.Buckets = all[:n+more]
		q := op{key: p.key, before: p.after, after: object{group: &g}, from: p.owner, owner: p.owner, part: insertion, at: all[n-1].ID}
		out = append(out, q)
		p, n = q, n+more
	}
	return out
}

// fitting is how many of the first of some buckets go into one message.
func (d *desired) fitting(g *flows.Group, buckets []flows.Bucket) int {
	some := *g
	for n := len(buckets); n > 1; n /= 2 {
		some.Buckets = buckets[:n]
		if msg, err := openflow.AppendGroupMod(nil, d.version, 0, openflow.GroupAdd, &some); err == nil && len(msg) <= groupBytes {
			return n
		}
	}
	return min(1, len(buckets))
}

// encodeGroup appends the operation's message about a group.
func (p op) encodeGroup(b []byte, v openflow.Version, xid uint32) ([]byte, error) {
	switch {
	case p.part == removalOfAt:
		return openflow.AppendRemoveBucket(b, v, xid, p.key.id, p.after.group.Type, p.at)
	case p.part == insertion:
		i := 0
		if p.at != openflow.BucketFirst {
			i = 1 + slices.IndexFunc(p.after.group.Buckets, func(k flows.Bucket) bool { return k.ID == p.at })
		}
		n := len(p.after.group.Buckets) - len(p.before.group.Buckets)
		return openflow.AppendInsertBuckets(b, v, xid, p.key.id, p.after.group.Type, p.at, p.after.group.Buckets[i:i+n])
	case p.deletes():
		return openflow.AppendGroupMod(b, v, xid, openflow.GroupDelete, p.before.group)
	case p.before.none():
		return openflow.AppendGroupMod(b, v, xid, openflow.GroupAdd, p.after.group)
	}
	return openflow.AppendGroupMod(b, v, xid, openflow.GroupModify, p.after.group)
}
