package openflow

import (
	"fmt"

	"github.com/evenflow/evenflow/flows"
)

const (
	flowStats13Len = 48 // up to the match
	flowDesc15Len  = 24
)

// ParseFlowStats reads the body of a flow-stats (1.3) or flow-desc (1.5) reply. Nothing in the result aliases body.
//
// It never fails for what other controllers wrote into the switch: match fields not known here make a match that is
// Foreign, actions and instructions not known become flows.Unknown.
func ParseFlowStats(v Version, body []byte) ([]flows.InstalledRule, error) {
	fixed := flowDesc15Len
	if v < V15 {
		fixed = flowStats13Len
	}
	var rules []flows.InstalledRule
	for len(body) > 0 {
		n, err := lengthOf("flow entry", body, 0, fixed+8)
		if err != nil {
			return nil, err
		}
		var r flows.InstalledRule
		if v < V15 {
			err = parseFlowStats13(body[:n], &r)
		} else {
			err = parseFlowDesc15(body[:n], &r)
		}
		if err != nil {
			return nil, fmt.Errorf("rule in table %d, priority %d: %w", r.Table, r.Priority, err)
		}
		rules = append(rules, r)
		body = body[n:]
	}
	return rules, nil
}

func parseFlowStats13(b []byte, r *flows.InstalledRule) error {
	r.Table = b[2]
	r.DurationSec, r.DurationNsec = be.Uint32(b[4:]), be.Uint32(b[8:])
	r.Priority, r.IdleTimeout, r.HardTimeout = be.Uint16(b[12:]), be.Uint16(b[14:]), be.Uint16(b[16:])
	r.Flags, r.Cookie = flows.Flags(be.Uint16(b[18:])), be.Uint64(b[24:])
	r.Packets, r.Bytes = be.Uint64(b[32:]), be.Uint64(b[40:])
	list, rest, err := parseMatch(b[flowStats13Len:])
	if err != nil {
		return err
	}
	return parseRule(list, rest, r)
}

func parseFlowDesc15(b []byte, r *flows.InstalledRule) error {
	r.Table = b[4]
	r.Priority, r.IdleTimeout, r.HardTimeout = be.Uint16(b[6:]), be.Uint16(b[8:]), be.Uint16(b[10:])
	r.Flags, r.Cookie = flows.Flags(be.Uint16(b[12:])), be.Uint64(b[16:])
	list, rest, err := parseMatch(b[flowDesc15Len:])
	if err != nil {
		return err
	}
	if rest, err = parseStats(rest, &r.Stats); err != nil {
		return err
	}
	return parseRule(list, rest, r)
}

func parseRule(list, instructions []byte, r *flows.InstalledRule) (err error) {
	if r.Match, err = decodeMatch(list); err != nil {
		return err
	}
	r.Actions, err = decodeInstructions(instructions)
	return err
}

// AppendFlowStats appends one rule to the body of a flow-stats (1.3) or flow-desc (1.5) reply, as a switch does.
func AppendFlowStats(body []byte, v Version, r *flows.InstalledRule) ([]byte, error) {
	start := len(body)
	if v < V15 {
		body = append(body, 0, 0, r.Table, 0)
		body = be.AppendUint32(body, r.DurationSec)
		body = be.AppendUint32(body, r.DurationNsec)
	} else {
		body = append(body, 0, 0, 0, 0, r.Table, 0)
	}
	body = be.AppendUint16(body, r.Priority)
	body = be.AppendUint16(body, r.IdleTimeout)
	body = be.AppendUint16(body, r.HardTimeout)
	body = be.AppendUint16(body, uint16(r.Flags))
	if v < V15 {
		body = append(body, 0, 0, 0, 0)
	} else {
		body = append(body, 0, 0) // importance
	}
	body = be.AppendUint64(body, r.Cookie)
	if v < V15 {
		body = be.AppendUint64(body, r.Packets)
		body = be.AppendUint64(body, r.Bytes)
	}
	body, err := appendMatch(body, v, r.Match)
	if err == nil {
		if v >= V15 {
			body = appendStats(body, &r.Stats)
		}
		body, err = appendInstructions(body, v, r.Actions)
	}
	if err != nil {
		return body[:start], fmt.Errorf("rule in table %d, priority %d: %w", r.Table, r.Priority, err)
	}
	n := len(body) - start
	if n > maxMessage {
		return body[:start], &ValueError{What: fmt.Sprintf("rule of %d bytes", n)}
	}
	be.PutUint16(body[start:], uint16(n))
	return body, nil
}
