package controller

import (
	"context"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// reading is a multipart request whose reply will be a list of T.
type reading[T any] struct {
	q     *request
	xid   uint32
	parse func(v openflow.Version, body []byte) ([]T, error)
}

// waiter waits for a reply: the reader's own way during the handshake, await afterwards.
type waiter func(q *request, xid uint32) error

func (sw *Switch) awaits(ctx context.Context) waiter {
	return func(q *request, xid uint32) error { return sw.await(ctx, q, xid, sw.c.cfg.RequestTimeout) }
}

func read[T any](sw *Switch, what string, encode encoder, parse func(openflow.Version, []byte) ([]T, error)) reading[T] {
	q, xid := sw.ask(what, openflow.TypeMultipartReply, encode)
	return reading[T]{q: q, xid: xid, parse: parse}
}

// wait returns the list.
func (r reading[T]) wait(wait waiter) ([]T, error) {
	if err := wait(r.q, r.xid); err != nil {
		return nil, err
	}
	var all []T
	for i, msg := range r.q.pieces {
		r.q.pieces[i] = nil // long lists are not to be there twice
		m, err := openflow.ParseMultipart(msg)
		if err != nil {
			return nil, err
		}
		some, err := r.parse(openflow.Version(msg[0]), m.Body)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// everything selects all rules.
var everything = openflow.FlowFilter{Table: 0xff}

func readFlows(sw *Switch, f openflow.FlowFilter) reading[flows.InstalledRule] {
	return read(sw, "flow statistics", func(b []byte, v openflow.Version, xid uint32) ([]byte, error) {
		return openflow.AppendFlowStatsRequest(b, v, xid, f)
	}, openflow.ParseFlowStats)
}

func readGroups(sw *Switch) reading[flows.Group] {
	return read(sw, "group description", plain(openflow.AppendGroupDescRequest), openflow.ParseGroupDescs)
}

func readMeters(sw *Switch) reading[flows.Meter] {
	return read(sw, "meter configuration", plain(openflow.AppendMeterConfigRequest), openflow.ParseMeterConfigs)
}

func readGroupStats(sw *Switch) reading[openflow.GroupStats] {
	return read(sw, "group statistics", plain(func(b []byte, v openflow.Version, xid uint32) []byte {
		return openflow.AppendGroupStatsRequest(b, v, xid, openflow.AllGroups)
	}), openflow.ParseGroupStats)
}

func readMeterStats(sw *Switch) reading[openflow.MeterStats] {
	return read(sw, "meter statistics", plain(func(b []byte, v openflow.Version, xid uint32) []byte {
		return openflow.AppendMeterStatsRequest(b, v, xid, openflow.AllMeters)
	}), openflow.ParseMeterStats)
}

func readPorts(sw *Switch) reading[openflow.Port] {
	return read(sw, "port description", plain(openflow.AppendPortDescRequest), openflow.ParsePortDescs)
}

func readPortStats(sw *Switch) reading[openflow.PortStats] {
	return read(sw, "port statistics", plain(func(b []byte, v openflow.Version, xid uint32) []byte {
		return openflow.AppendPortStatsRequest(b, v, xid, flows.PortAny)
	}), openflow.ParsePortStats)
}

func readDesc(sw *Switch) reading[openflow.Desc] {
	return read(sw, "description", plain(openflow.AppendDescRequest), func(_ openflow.Version, body []byte) ([]openflow.Desc, error) {
		d, err := openflow.ParseDesc(body)
		return []openflow.Desc{d}, err
	})
}
