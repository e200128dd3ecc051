package controllertest

import (
	"maps"
	"slices"

	"github.com/evenflow/evenflow/openflow"
)

// multipart answers a multipart request, in pieces if it is long.
func (c *connection) multipart(h openflow.Header, msg []byte) []byte {
	s, v := c.s, c.version
	m, err := openflow.ParseMultipartRequest(msg)
	if err != nil {
		return c.refuse(msg, failure(openflow.ErrBadRequest, 6)) // BAD_LEN
	}
	var entries [][]byte
	add := func(entry []byte, err error) {
		if err != nil {
			panic(err) // what is in the tables came over the wire or from ParseState
		}
		entries = append(entries, entry)
	}
	switch m.Kind {
	case openflow.MultipartDesc:
		add(openflow.AppendDesc(nil, s.desc), nil)
	case openflow.MultipartPortDesc:
		for _, p := range s.ports {
			add(openflow.AppendPortDesc(nil, v, p), nil)
		}
	case openflow.MultipartPortStats:
		for _, p := range s.ports {
			st := openflow.PortStats{No: p.No, DurationSec: 1}
			if s.traffic != nil {
				st = s.traffic(p.No)
			}
			add(openflow.AppendPortStats(nil, v, st), nil)
		}
	case openflow.MultipartFlow:
		f, err := openflow.ParseFlowStatsRequest(m.Body)
		if err != nil {
			return c.refuse(msg, failure(openflow.ErrBadRequest, 6))
		}
		for _, r := range s.tables.selected(f) {
			add(openflow.AppendFlowStats(nil, v, r))
		}
	case openflow.MultipartGroupDesc:
		for _, id := range slices.Sorted(maps.Keys(s.tables.groups)) {
			add(openflow.AppendGroupDesc(nil, v, s.tables.groups[id]))
		}
	case openflow.MultipartGroupStats: // every bucket has counted its id in packets, and ten times that in bytes
		for _, id := range slices.Sorted(maps.Keys(s.tables.groups)) {
			st := openflow.GroupStats{ID: id, Packets: uint64(id), Bytes: 10 * uint64(id)}
			for _, b := range s.tables.groups[id].Buckets {
				st.Buckets = append(st.Buckets, openflow.BucketStats{Packets: uint64(b.ID), Bytes: 10 * uint64(b.ID)})
			}
			add(openflow.AppendGroupStats(nil, v, st), nil)
		}
	case openflow.MultipartMeterStats: // a meter has met ten times what it dropped, which is its id
		for _, id := range slices.Sorted(maps.Keys(s.tables.meters)) {
			add(openflow.AppendMeterStats(nil, v, openflow.MeterStats{ID: id, Packets: 10 * uint64(id),
				Bands: []openflow.BandStats{{Packets: uint64(id)}}}), nil)
		}
	case openflow.MultipartMeterConfig:
		for _, id := range slices.Sorted(maps.Keys(s.tables.meters)) {
			add(openflow.AppendMeterConfig(nil, v, s.tables.meters[id]), nil)
		}
	default:
		return c.refuse(msg, failure(openflow.ErrBadRequest, 2)) // BAD_MULTIPART
	}
	return c.pieces(h.XID, m.Kind, entries)
}

// pieces makes messages of entries, each with as many as go in a piece.
func (c *connection) pieces(xid uint32, kind uint16, entries [][]byte) (out []byte) {
	var body []byte
	put := func(more bool) {
		var err error
		if out, err = openflow.AppendMultipartReply(out, c.version, xid, kind, more, body); err != nil {
			panic(err)
		}
		body = body[:0]
	}
	for _, e := range entries {
		if len(body) > 0 && len(body)+len(e) > c.s.piece {
			put(true)
		}
		body = append(body, e...)
	}
	put(false)
	return out
}
