package main

import "time"

const (
	doneAny  = iota // first matched FLOW_MOD or PACKET_OUT
	doneMod         // matched FLOW_MOD
	doneOut         // matched PACKET_OUT
	doneBoth        // one of each
)

const (
	gotMod = 1
	gotOut = 2
)

const slotBits = 12

type slot struct {
	tag  uint32
	gen  uint32
	busy bool
	got  uint8  // kinds of reply that came
	mods uint16 // FLOW_MODs that came
	key  uint64
	sent time.Time
	from time.Time // latency counts from here: sent, or when it was due
}

type record struct {
	key      uint64
	mods     uint16
	used     bool
	measured bool
}

const modBuckets = 9 // 0 to 7, and more

func (s *sw) send(frame []byte, port, bufferID uint32) {
	s.xid++
	s.out = appendPacketIn(s.out, s.cfg.ver, s.xid, bufferID, port, reasonNoMatch, frame)
	s.cnt.packetIn.Add(1)
}

func (s *sw) fill(now time.Time) {
	if s.pace != nil {
		s.fillDue(now)
		return
	}
	for len(s.free) > 0 {
		s.sendLoad(now, now)
	}
}

func (s *sw) sendLoad(now, from time.Time) {
	i := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	sl := &s.slots[i]
	sl.gen = (sl.gen + 1) & 0x7ffff
	sl.tag = sl.gen<<slotBits | uint32(i)
	frame, port, key := s.pl.next(sl.tag)
	sl.key, sl.busy, sl.sent, sl.from = key, true, now, from
	sl.got, sl.mods = 0, 0
	s.keys[key] = i
	buf := uint32(noBuffer)
	if s.cfg.buffered {
		buf = sl.tag
	}
	if s.cfg.fifo {
		s.fifoQ = append(s.fifoQ, sl.tag)
	}
	s.send(frame, port, buf)
}

func (s *sw) release(i int) {
	sl := &s.slots[i]
	sl.busy = false
	if j, ok := s.keys[sl.key]; ok && j == i {
		delete(s.keys, sl.key)
	}
	s.free = append(s.free, i)
}

func (s *sw) expire(now time.Time) {
	for i := range s.slots {
		if s.slots[i].busy && now.Sub(s.slots[i].sent) > s.cfg.timeout {
			s.cnt.lost.Add(1)
			s.release(i)
		}
	}
	s.fill(now)
}

func (s *sw) finish(i int, ph int32) {
	now := time.Now()
	sl := &s.slots[i]
	if ph == phMeasure {
		s.lat.add(int64(now.Sub(sl.from)))
	}
	s.cnt.done.Add(1)
	r := s.recordOf(sl.key)
	s.retire(r)
	*r = record{sl.key, sl.mods, true, ph == phMeasure}
	s.release(i)
	s.fill(now)
}

func (s *sw) recordOf(key uint64) *record {
	return &s.recent[s.pl.index(key)&uint64(len(s.recent)-1)]
}

func (s *sw) retire(r *record) {
	if r.measured {
		s.modHist[min(int(r.mods), modBuckets-1)]++
		s.modSum += uint64(r.mods)
	}
}

func (s *sw) countMod(i int, found bool, key uint64) bool {
	if found {
		s.slots[i].mods++
		return true
	}
	if r := s.recordOf(key); r.used && r.key == key {
		r.mods++
		return true
	}
	return false
}

func (s *sw) byTag(tag uint32) (int, bool) {
	i := int(tag & (1<<slotBits - 1))
	if i >= len(s.slots) || !s.slots[i].busy || s.slots[i].tag != tag {
		return 0, false
	}
	return i, true
}

func (s *sw) byKey(key uint64) (int, bool) {
	i, ok := s.keys[key]
	return i, ok
}

func (s *sw) oldest() (int, bool) {
	for len(s.fifoQ) > 0 {
		tag := s.fifoQ[0]
		s.fifoQ = s.fifoQ[1:]
		if i, ok := s.byTag(tag); ok {
			return i, true
		}
	}
	return 0, false
}

func (s *sw) completes(i int, got uint8) bool {
	switch s.cfg.complete {
	case doneMod:
		return got&gotMod != 0
	case doneOut:
		return got&gotOut != 0
	case doneBoth:
		s.slots[i].got |= got
		return s.slots[i].got == gotMod|gotOut
	}
	return true
}

func (s *sw) settle(i int, found, known bool, got uint8, ph int32) {
	switch {
	case found:
		if s.completes(i, got) {
			s.finish(i, ph)
		}
	case known:
		s.cnt.extra.Add(1)
	default:
		if s.cfg.fifo && s.completes(0, got) { // never with doneBoth
			if i, ok := s.oldest(); ok {
				s.finish(i, ph)
				return
			}
		}
		s.cnt.unmatched.Add(1)
	}
}

func (s *sw) flowMod(m []byte, ph int32) {
	s.cnt.flowMod.Add(1)
	if ph < phLoad {
		return
	}
	buf, oxm, ok := flowModInfo(m)
	if !ok {
		s.cnt.unmatched.Add(1)
		return
	}
	if buf != noBuffer {
		i, found := s.byTag(buf)
		got := uint8(gotMod)
		if s.cfg.complete == doneBoth {
			got |= gotOut // it sends the packet on, too
		}
		if found {
			s.slots[i].mods++
		}
		s.settle(i, found, true, got, ph)
		return
	}
	k := oxmKey(oxm)
	if s.pl.kind != plSYN {
		i, found := 0, false
		if k.hasEth {
			i, found = s.byKey(k.eth)
			s.countMod(i, found, k.eth)
		}
		s.settle(i, found, k.hasEth, gotMod, ph)
		return
	}
	if k.hasSrc {
		i, found := s.byKey(k.src)
		if s.countMod(i, found, k.src) || !k.hasDst {
			s.settle(i, found, true, gotMod, ph)
			return
		}
	}
	if k.hasDst { // the way back: counted, but it completes nothing
		i, found := s.byKey(k.dst)
		if s.countMod(i, found, k.dst); found {
			return
		}
	}
	s.settle(0, false, k.hasSrc || k.hasDst, gotMod, ph)
}

func (s *sw) packetOut(m []byte, ph int32) {
	s.cnt.packetOut.Add(1)
	po, ok := parsePacketOut(s.cfg.ver, m)
	if !ok {
		s.cnt.unmatched.Add(1)
		return
	}
	if po.buffer == noBuffer && s.network(&po) {
		s.cnt.control.Add(1)
		return
	}
	if ph < phLoad {
		return
	}
	if po.buffer != noBuffer {
		i, found := s.byTag(po.buffer)
		s.settle(i, found, true, gotOut, ph)
		return
	}
	switch c, tag, key := classify(po.data); c {
	case fcTag:
		i, found := s.byTag(tag)
		s.settle(i, found, true, gotOut, ph)
	case fcKey:
		i, found := s.byKey(key)
		s.settle(i, found, true, gotOut, ph)
	default:
		s.settle(0, false, false, gotOut, ph)
	}
}
