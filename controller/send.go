package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/evenflow/evenflow/openflow"
)

// carryOut sends operations, which are arranged, and waits until the switch has confirmed them.
// It stops at the first step with a failure. The error means that the switch's state is not known.
//
// Meters come first and last, as Open vSwitch refuses them in bundles. What is between goes in atomic bundles, or in rows
// of messages, deletions last, where there are no bundles.
func (sw *Switch) carryOut(ops []op) (out outcome, err error) {
	ops = sw.desired.inParts(ops)
	cuts := []int{stageMeters + 1, stageDeletes, stageLast}
	if sw.bundles {
		cuts = []int{stageMeters + 1, stageLast}
	}
	for i, part := range cut(ops, cuts) {
		send := sw.row
		if sw.bundles && i == 1 {
			send = sw.inBundle
		}
		for len(part) > 0 {
			n, o, err := send(part)
			sw.desired.modifications.Add(uint64(len(o.made)))
			o.made = append(out.made, o.made...)
			out = o
			if err != nil || out.whole != nil || len(out.failed) > 0 {
				return out, err
			}
			part = part[n:]
		}
	}
	return out, nil
}

// cut divides arranged operations before the stages named.
func cut(ops []op, stages []int) (parts [][]op) {
	for _, s := range stages {
		i := slices.IndexFunc(ops, func(p op) bool { return p.stage() >= s })
		if i < 0 {
			i = len(ops)
		}
		parts = append(parts, ops[:i])
		ops = ops[i:]
	}
	return append(parts, ops)
}

// messageBytes is what room is made for, for each message of a step.
const messageBytes = 200

// encode appends as many operations as go in one step. Those that cannot be sent have failed.
func (sw *Switch) encode(msgs []byte, first uint32, ops []op, enclose func(b []byte, xid uint32, msg []byte) ([]byte, error)) (
	all []byte, n int, failed []failure) {
	var inner []byte
	msgs = slices.Grow(msgs, messageBytes*min(len(ops), sw.c.cfg.BundleMax))
	for n < min(len(ops), sw.c.cfg.BundleMax) && (n == 0 || len(msgs) < sw.c.cfg.BundleBytes) {
		xid := first + uint32(n)
		var err error
		if enclose == nil {
			msgs, err = ops[n].encode(msgs, sw.info.Version, xid)
		} else if inner, err = ops[n].encode(inner[:0], sw.info.Version, xid); err == nil {
			msgs, err = enclose(msgs, xid, inner)
		}
		if err != nil {
			failed = append(failed, failure{ops[n], err})
		}
		n++
	}
	return msgs, n, failed
}

// row sends a first part of ops one by one, with a barrier behind, and says how many that is. Those not refused are made.
func (sw *Switch) row(ops []op) (n int, out outcome, err error) {
	first := sw.w.reserve(min(len(ops), sw.c.cfg.BundleMax) + 1)
	msgs, n, failed := sw.encode(nil, first, ops, nil)
	if len(failed) > 0 {
		return n, outcome{failed: failed}, nil
	}
	barrier := first + uint32(n)
	msgs = openflow.AppendBarrier(msgs, sw.info.Version, barrier)
	b := &batch{first: first, n: n}
	if err := sw.exchange("barrier request", openflow.TypeBarrierReply, b, msgs, barrier); err != nil {
		return n, out, fmt.Errorf("%w: barrier request: %w", ErrUnknown, err)
	}
	for i, p := range ops[:n] {
		if err := b.errs[i]; err != nil {
			out.failed = append(out.failed, failure{p, err})
		} else {
			out.made = append(out.made, p)
		}
	}
	return n, out, nil
}

// inBundle sends a first part of ops as one atomic bundle and says how many that is: all are made or none.
//
// The bundle is closed before it is committed: Open vSwitch would commit one without the messages that it refused.
func (sw *Switch) inBundle(ops []op) (n int, out outcome, err error) {
	const flags = openflow.BundleAtomic | openflow.BundleOrdered
	v := sw.info.Version
	sw.desired.bundle++
	id := sw.desired.bundle
	first := sw.w.reserve(min(len(ops), sw.c.cfg.BundleMax) + 3)
	msgs := openflow.AppendBundleControl(nil, v, first, id, openflow.BundleOpen, flags)
	msgs, n, failed := sw.encode(msgs, first+1, ops, func(b []byte, xid uint32, msg []byte) ([]byte, error) {
		return openflow.AppendBundleAdd(b, v, xid, id, flags, msg)
	})
	if len(failed) > 0 {
		return n, outcome{failed: failed}, nil
	}
	closing, ending := first+1+uint32(n), first+2+uint32(n)
	msgs = openflow.AppendBundleControl(msgs, v, closing, id, openflow.BundleClose, flags)
	b := &batch{first: first, n: n + 1} // the opening is the first
	err = sw.exchange("bundle close", openflow.TypeBundleControl, b, msgs, closing)
	if err != nil && !refused(err) {
		return n, out, err
	}
	out = b.outcome(ops, err)
	if out.whole != nil || len(out.failed) > 0 {
		msg := openflow.AppendBundleControl(nil, v, ending, id, openflow.BundleDiscard, flags)
		if err := sw.exchange("bundle discard", openflow.TypeBundleControl, b, msg, ending); err != nil && !refused(err) {
			return n, out, err
		}
		return n, out, nil
	}
	msg := openflow.AppendBundleControl(nil, v, ending, id, openflow.BundleCommit, flags)
	err = sw.exchange("bundle commit", openflow.TypeBundleControl, b, msg, ending)
	if err != nil && !refused(err) {
		return n, out, err
	}
	if out = b.outcome(ops, err); out.whole == nil && len(out.failed) == 0 {
		out.made = ops[:n]
	}
	return n, out, nil
}

// outcome is what errors to a bundle's messages and the last one's answer mean.
func (b *batch) outcome(ops []op, last error) (out outcome) {
	for i := range b.n - 1 {
		if err := b.errs[i+1]; err != nil {
			out.failed = append(out.failed, failure{ops[i], err})
		}
	}
	if opening := b.errs[0]; opening != nil {
		return outcome{whole: opening}
	}
	if len(out.failed) == 0 {
		out.whole = last
	}
	return out
}

// exchange sends whole messages, the last of which is a request with that xid, and waits for its reply. Errors to the
// others are in b afterwards.
func (sw *Switch) exchange(what string, want openflow.Type, b *batch, msgs []byte, xid uint32) error {
	q := &request{what: what, want: want, done: make(chan struct{})}
	stop := sw.requests.watch(b)
	defer stop() // before b is looked at
	sw.requests.add(xid, q)
	sw.w.append(msgs)
	return sw.await(context.Background(), q, xid, sw.c.cfg.RequestTimeout)
}

// refused reports whether a switch has answered with an error.
func refused(err error) bool {
	var e *openflow.Error
	return errors.As(err, &e)
}
