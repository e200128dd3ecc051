package main

import "slices"

// Multipart kinds and commands of what a switch holds.
const (
	tMeterMod = 29

	mpFlow        = 1 // flow statistics in 1.3, flow descriptions in 1.5
	mpGroupDesc   = 7
	mpMeterConfig = 10

	flowAdd, flowDelete, flowDeleteStrict = 0, 3, 4
	objectAdd, objectModify, objectDelete = 0, 1, 2

	anyTable   = 0xff
	flowModLen = 48    // up to the match
	listLen    = 60000 // bytes of a part of a list
)

// held is what a switch was told before the load, for a controller that reads it back. Rules that the load makes are not kept,
// nor are changes of single buckets.
type held struct {
	rules         map[string]heldRule // by table, priority and match
	groups, meter map[uint32][]byte   // as they are listed
}

type heldRule struct {
	cookie uint64
	table  byte
	entry  []byte // as it is listed
}

func newHeld() *held {
	return &held{rules: map[string]heldRule{}, groups: map[uint32][]byte{}, meter: map[uint32][]byte{}}
}

// note follows a FLOW_MOD, GROUP_MOD or METER_MOD.
func (h *held) note(m []byte) {
	switch m[1] {
	case tFlowMod:
		h.noteFlow(m)
	case tGroupMod:
		if len(m) >= 16 {
			noteObject(h.groups, be.Uint32(m[12:]), be.Uint16(m[8:]), groupEntry(m))
		}
	case tMeterMod:
		if len(m) >= 16 {
			noteObject(h.meter, be.Uint32(m[12:]), be.Uint16(m[8:]), listed(nil, m[10:]))
		}
	}
}

// noteObject follows a GROUP_MOD or METER_MOD, whose commands are alike.
func noteObject(all map[uint32][]byte, id uint32, command uint16, entry []byte) {
	switch command {
	case objectAdd, objectModify:
		all[id] = entry
	case objectDelete:
		delete(all, id)
	}
}

// listed is an entry that begins with its length.
func listed(head, rest []byte) []byte {
	e := append(append([]byte{0, 0}, head...), rest...)
	be.PutUint16(e, uint16(len(e)))
	return e
}

// groupEntry is a group's description: as the GROUP_MOD says it, but for the command and, in 1.5, the bucket that it is about.
func groupEntry(m []byte) []byte {
	if m[0] < ver15 || len(m) < 24 {
		return listed(m[10:16], m[16:])
	}
	return listed(append(slices.Clone(m[10:18]), 0, 0, 0, 0, 0, 0), m[24:])
}

func (h *held) noteFlow(m []byte) {
	if len(m) < flowModLen+8 {
		return
	}
	cookie, mask, table, command := be.Uint64(m[8:]), be.Uint64(m[16:]), m[24], m[25]
	end := flowModLen + (int(be.Uint16(m[flowModLen+2:]))+7)/8*8
	if end > len(m) {
		return
	}
	match, rest := m[flowModLen:end], m[end:]
	key := string([]byte{table, m[30], m[31]}) + string(match)
	switch command {
	case flowAdd:
		h.rules[key] = heldRule{cookie, table, flowEntry(m, match, rest)}
	case flowDeleteStrict:
		delete(h.rules, key)
	case flowDelete:
		for k, r := range h.rules {
			if (table == anyTable || r.table == table) && (r.cookie^cookie)&mask == 0 {
				delete(h.rules, k)
			}
		}
	}
}

// flowEntry is a rule's statistics in 1.3 or its description in 1.5, with all counters 0.
func flowEntry(m, match, instructions []byte) []byte {
	var e []byte
	if m[0] < ver15 {
		e = append(e, m[24], 0)                        // table
		e = appendZeros(e, 8)                          // age
		e = append(e, m[30:32]...)                     // priority
		e = append(e, m[26:30]...)                     // timeouts
		e = append(append(e, m[44:46]...), 0, 0, 0, 0) // flags
		e = append(e, m[8:16]...)                      // cookie
		e = append(appendZeros(e, 16), match...)
	} else {
		e = append(e, 0, 0, m[24], 0)
		e = append(e, m[30:32]...)
		e = append(e, m[26:30]...)
		e = append(e, m[44:48]...) // flags, importance
		e = append(append(e, m[8:16]...), match...)
		e = append(e, 0, 0, 0, 4, 0, 0, 0, 0) // no statistics
	}
	return listed(e, instructions)
}

// list are the entries that a multipart request asks for; false: it is not about what is held.
func (h *held) list(kind uint16, request []byte) (entries [][]byte, ok bool) {
	switch kind {
	case mpFlow:
		if len(request) < 32 {
			return nil, true
		}
		table, cookie, mask := request[0], be.Uint64(request[16:]), be.Uint64(request[24:])
		for _, r := range h.rules {
			if (table == anyTable || r.table == table) && (r.cookie^cookie)&mask == 0 {
				entries = append(entries, r.entry)
			}
		}
	case mpGroupDesc:
		entries = values(h.groups)
	case mpMeterConfig:
		entries = values(h.meter)
	default:
		return nil, false
	}
	return entries, true
}

func values(m map[uint32][]byte) (out [][]byte) {
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

// listHeld answers a multipart request about what is held, in as many parts as it takes.
func (s *sw) listHeld(kind uint16, xid uint32, entries [][]byte) {
	for {
		off := s.header(tMultipartRep, xid)
		s.out = appendZeros(be.AppendUint16(s.out, kind), 6)
		for len(entries) > 0 && len(s.out)-off+len(entries[0]) <= listLen {
			s.out = append(s.out, entries[0]...)
			entries = entries[1:]
		}
		if len(entries) == 0 {
			setLen(s.out, off)
			return
		}
		be.PutUint16(s.out[off+10:], 1) // more follow
		setLen(s.out, off)
	}
}

// hold notes what is to be held.
func (s *sw) hold(m []byte, ph int32) {
	if s.held != nil && ph < phLoad {
		s.held.note(m)
	}
}
