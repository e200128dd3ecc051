package openflow

import (
	"fmt"

	"github.com/evenflow/evenflow/flows"
)

// FlowRemoved tells that a rule with flags.SendFlowRemoved is gone (section 7.4.2). Of Rule, Actions and Flags are not
// sent.
type FlowRemoved struct {
	flows.Rule
	flows.Stats
	Reason uint8
}

// Reasons of flow-removed (OFPRR_*).
const (
	RemovedIdle        uint8 = 0 // idle timeout
	RemovedHard        uint8 = 1 // hard timeout
	RemovedDelete      uint8 = 2 // by a flow-mod
	RemovedGroupDelete uint8 = 3 // its group was deleted
	RemovedMeterDelete uint8 = 4 // its meter was deleted (1.4 on)
	RemovedEviction    uint8 = 5 // to make room (1.4 on)
)

// ParseFlowRemoved reads a flow-removed. All of r is overwritten; nothing in it aliases msg.
func ParseFlowRemoved(v Version, msg []byte, r *FlowRemoved) error {
	*r = FlowRemoved{}
	fixed := 16
	if v < V15 {
		fixed = 40
	}
	p, err := payload(msg, TypeFlowRemoved, fixed+8)
	if err != nil {
		return err
	}
	list, rest, err := parseMatch(p[fixed:])
	if err != nil {
		return err
	}
	if r.Match, err = decodeMatch(list); err != nil {
		return err
	}
	if v < V15 {
		r.Cookie, r.Priority, r.Reason, r.Table = be.Uint64(p), be.Uint16(p[8:]), p[10], p[11]
		r.DurationSec, r.DurationNsec = be.Uint32(p[12:]), be.Uint32(p[16:])
		r.IdleTimeout, r.HardTimeout = be.Uint16(p[20:]), be.Uint16(p[22:])
		r.Packets, r.Bytes = be.Uint64(p[24:]), be.Uint64(p[32:])
		return nil
	}
	r.Table, r.Reason, r.Priority = p[0], p[1], be.Uint16(p[2:])
	r.IdleTimeout, r.HardTimeout, r.Cookie = be.Uint16(p[4:]), be.Uint16(p[6:]), be.Uint64(p[8:])
	_, err = parseStats(rest, &r.Stats)
	return err
}

// AppendFlowRemoved appends a flow-removed, as a switch does.
func AppendFlowRemoved(b []byte, v Version, xid uint32, r *FlowRemoved) ([]byte, error) {
	start := len(b)
	b = begin(b, v, TypeFlowRemoved, xid)
	if v < V15 {
		b = be.AppendUint64(b, r.Cookie)
		b = be.AppendUint16(b, r.Priority)
		b = append(b, r.Reason, r.Table)
		b = be.AppendUint32(b, r.DurationSec)
		b = be.AppendUint32(b, r.DurationNsec)
		b = be.AppendUint16(b, r.IdleTimeout)
		b = be.AppendUint16(b, r.HardTimeout)
		b = be.AppendUint64(b, r.Packets)
		b = be.AppendUint64(b, r.Bytes)
	} else {
		b = append(b, r.Table, r.Reason)
		b = be.AppendUint16(b, r.Priority)
		b = be.AppendUint16(b, r.IdleTimeout)
		b = be.AppendUint16(b, r.HardTimeout)
		b = be.AppendUint64(b, r.Cookie)
	}
	b, err := appendMatch(b, v, r.Match)
	if err != nil {
		return b[:start], fmt.Errorf("flow-removed: %w", err)
	}
	if v >= V15 {
		b = appendStats(b, &r.Stats)
	}
	return finish(b, start)
}
