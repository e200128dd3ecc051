package openflow

import (
	"fmt"

	"github.com/evenflow/evenflow/flows"
)

// Buckets that a group-mod of 1.5 can be about besides those with an id of at most MaxBucketID (OFPG_BUCKET_*).
const (
	MaxBucketID uint32 = 0xffffff00
	BucketFirst uint32 = 0xfffffffd // insert before all, remove the first
	BucketLast  uint32 = 0xfffffffe // insert after all, remove the last
	BucketAll   uint32 = 0xffffffff // remove all; also what commands say that are about no single bucket
)

// AppendInsertBuckets appends a group-mod that adds buckets to a group, after the bucket with the id at (Open vSwitch's
// manual says before), or at BucketFirst or BucketLast. The group's type must be right. Only 1.5 has it.
//
// Nothing here knows the buckets that the group has already: see [MaxGroup].
func AppendInsertBuckets(b []byte, v Version, xid, id uint32, kind flows.GroupType, at uint32, buckets []flows.Bucket) ([]byte, error) {
	switch {
	case v < V15:
		return b, fmt.Errorf("group %d: %w", id, &UnsupportedError{Version: v, What: "insertion of buckets"})
	case at > MaxBucketID && at != BucketFirst && at != BucketLast:
		return b, &ValueError{What: fmt.Sprintf("group %d: buckets inserted at %#x", id, at)}
	}
	start := len(b)
	b, length := beginGroupMod(b, v, xid, GroupInsertBucket, kind, id, at)
	b, err := appendGroupBody(b, v, &flows.Group{ID: id, Type: kind, Buckets: buckets}, length)
	if err != nil {
		return b[:start], err
	}
	return finish(b, start)
}

// AppendRemoveBucket appends a group-mod that removes a bucket of a group, by its id, or BucketFirst, BucketLast,
// BucketAll. The group's type must be right. Only 1.5 has it.
func AppendRemoveBucket(b []byte, v Version, xid, id uint32, kind flows.GroupType, bucket uint32) ([]byte, error) {
	switch {
	case v < V15:
		return b, fmt.Errorf("group %d: %w", id, &UnsupportedError{Version: v, What: "removal of a bucket"})
	case bucket > MaxBucketID && bucket < BucketFirst:
		return b, &ValueError{What: fmt.Sprintf("group %d: bucket %#x removed", id, bucket)}
	}
	start := len(b)
	b, _ = beginGroupMod(b, v, xid, GroupRemoveBucket, kind, id, bucket)
	return end(b, start), nil
}
