package openflow

// Async says which messages a switch sends unasked, to a controller that is master or equal and to one that is slave
// (section 7.3.10).
type Async struct{ Master, Slave AsyncMasks }

// AsyncMasks has bit 1<<reason set for each reason to send a message of a type.
type AsyncMasks struct {
	PacketIn, PortStatus, FlowRemoved uint32
	// In 1.5 alone; bits of TableStatus are 3 and 4 there.
	RoleStatus, TableStatus, RequestForward uint32
}

// lists are the masks in the order of OFPACPT_*, in which slave (even) and master (odd) take turns.
func (a *Async) lists() [12]*uint32 {
	s, m := &a.Slave, &a.Master
	return [12]*uint32{&s.PacketIn, &m.PacketIn, &s.PortStatus, &m.PortStatus, &s.FlowRemoved, &m.FlowRemoved,
		&s.RoleStatus, &m.RoleStatus, &s.TableStatus, &m.TableStatus, &s.RequestForward, &m.RequestForward}
}

const asyncIn13 = 6 // how many of them

// AppendSetAsync appends a message that asks for those messages and no others. A switch refuses bits of reasons that it
// does not know, 1.3 what is in 1.5 alone.
func AppendSetAsync(b []byte, v Version, xid uint32, a Async) ([]byte, error) {
	return appendAsync(b, v, TypeSetAsync, xid, a)
}

// AppendAsyncReply appends the answer to AppendGetAsync, as a switch does.
func AppendAsyncReply(b []byte, v Version, xid uint32, a Async) ([]byte, error) {
	return appendAsync(b, v, TypeGetAsyncReply, xid, a)
}

func appendAsync(b []byte, v Version, t Type, xid uint32, a Async) ([]byte, error) {
	start := len(b)
	masks := a.lists()
	b = begin(b, v, t, xid)
	if v >= V15 {
		for kind, mask := range masks {
			b = be.AppendUint32(append(b, 0, byte(kind), 0, 8), *mask)
		}
		return end(b, start), nil
	}
	for _, mask := range masks[asyncIn13:] {
		if *mask != 0 {
			return b[:start], &UnsupportedError{Version: v, What: "role-status, table-status or requestforward in an async configuration"}
		}
	}
	for i := 0; i < asyncIn13; i += 2 {
		b = be.AppendUint32(b, *masks[i+1])
		b = be.AppendUint32(b, *masks[i])
	}
	return end(b, start), nil
}

// AppendGetAsync asks for the present configuration.
func AppendGetAsync(b []byte, v Version, xid uint32) []byte {
	return end(begin(b, v, TypeGetAsyncRequest, xid), len(b))
}

// ParseAsync reads the answer to that. Properties not known here are skipped.
func ParseAsync(v Version, msg []byte) (Async, error) { return parseAsync(v, msg, TypeGetAsyncReply) }

// ParseSetAsync reads a set-async, as a switch does.
func ParseSetAsync(v Version, msg []byte) (Async, error) { return parseAsync(v, msg, TypeSetAsync) }

func parseAsync(v Version, msg []byte, t Type) (a Async, err error) {
	least := 0
	if v < V15 {
		least = 4 * asyncIn13
	}
	p, err := payload(msg, t, least)
	if err != nil {
		return a, err
	}
	masks := a.lists()
	if v < V15 {
		for i := 0; i < asyncIn13; i += 2 {
			*masks[i+1], *masks[i] = be.Uint32(p[4*i:]), be.Uint32(p[4*i+4:])
		}
		return a, nil
	}
	err = eachProperty(p, func(kind uint16, prop []byte) error {
		if int(kind) >= len(masks) {
			return nil
		}
		if len(prop) < 8 {
			return short("async property", len(prop), 8)
		}
		*masks[kind] = be.Uint32(prop[4:])
		return nil
	})
	return a, err
}
