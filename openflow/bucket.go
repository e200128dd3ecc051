package openflow

import (
	"fmt"

	"github.com/evenflow/evenflow/flows"
)

const (
	bucket13Len = 16
	bucket15Len = 8

	propWeight     = 0
	propWatchPort  = 1
	propWatchGroup = 2
)

// appendBucket appends a bucket (1.3: section 7.3.4.2 of its specification; 1.5: with id and properties).
func appendBucket(b []byte, v Version, kind flows.GroupType, k *flows.Bucket) ([]byte, error) {
	start := len(b)
	var weight uint16
	if kind == flows.GroupSelect {
		weight = k.Weight
	}
	b = append(b, 0, 0)
	if v < V15 {
		b = be.AppendUint16(b, weight)
		b = be.AppendUint32(b, k.WatchPort)
		b = be.AppendUint32(b, k.WatchGroup)
		b = append(b, 0, 0, 0, 0)
	} else {
		b = append(b, 0, 0)
		b = be.AppendUint32(b, k.ID)
	}
	from := len(b)
	b, err := appendActions(b, v, k.Actions)
	if err != nil {
		return b[:start], err
	}
	actions := len(b) - from
	if v >= V15 {
		if kind == flows.GroupSelect {
			b = append(b, 0, propWeight, 0, 8, byte(weight>>8), byte(weight), 0, 0)
		}
		if k.WatchPort != flows.PortAny {
			b = append(b, 0, propWatchPort, 0, 8)
			b = be.AppendUint32(b, k.WatchPort)
		}
		if k.WatchGroup != anyGroup {
			b = append(b, 0, propWatchGroup, 0, 8)
			b = be.AppendUint32(b, k.WatchGroup)
		}
	}
	n := len(b) - start
	if n > maxMessage {
		return b[:start], &ValueError{What: fmt.Sprintf("bucket of %d bytes", n)}
	}
	be.PutUint16(b[start:], uint16(n))
	if v >= V15 {
		be.PutUint16(b[start+2:], uint16(actions))
	}
	return b, nil
}

// parseBuckets reads a list of buckets. In 1.3 their ids are 0. Weights outside of select groups mean nothing and are
// read as 0.
func parseBuckets(v Version, b []byte, kind flows.GroupType) ([]flows.Bucket, error) {
	fixed := bucket15Len
	if v < V15 {
		fixed = bucket13Len
	}
	var all []flows.Bucket
	for len(b) > 0 {
		n, err := lengthOf("bucket", b, 0, fixed)
		if err != nil {
			return nil, err
		}
		k, err := parseBucket(v, b[:n], kind)
		if err != nil {
			return nil, err
		}
		all = append(all, k)
		b = b[n:]
	}
	return all, nil
}

func parseBucket(v Version, b []byte, group flows.GroupType) (k flows.Bucket, err error) {
	if v < V15 {
		k.WatchPort, k.WatchGroup = be.Uint32(b[4:]), be.Uint32(b[8:])
		if group == flows.GroupSelect {
			k.Weight = be.Uint16(b[2:])
		}
		k.Actions, err = decodeActions(b[bucket13Len:])
		return k, err
	}
	k = flows.Bucket{ID: be.Uint32(b[4:]), WatchPort: flows.PortAny, WatchGroup: anyGroup}
	if group == flows.GroupSelect {
		k.Weight = 1 // what the specification says of an absent one
	}
	actions := int(be.Uint16(b[2:]))
	b = b[bucket15Len:]
	if actions > len(b) {
		return k, long("bucket's actions", actions, len(b))
	}
	if k.Actions, err = decodeActions(b[:actions]); err != nil {
		return k, err
	}
	return k, eachProperty(b[actions:], func(kind uint16, prop []byte) error {
		switch {
		case kind == propWeight && len(prop) >= 6 && group == flows.GroupSelect:
			k.Weight = be.Uint16(prop[4:])
		case kind == propWatchPort && len(prop) >= 8:
			k.WatchPort = be.Uint32(prop[4:])
		case kind == propWatchGroup && len(prop) >= 8:
			k.WatchGroup = be.Uint32(prop[4:])
		}
		return nil
	})
}
