package main

import "fmt"

func (s *sw) handle(m []byte, ph int32) error {
	ver, typ, xid := m[0], m[1], be.Uint32(m[4:])
	if typ == tHello {
		if ver < s.cfg.ver {
			return fmt.Errorf("controller offers OpenFlow version byte %d, want %d", ver, s.cfg.ver)
		}
		return nil
	}
	switch typ {
	case tEchoReq:
		off := s.header(tEchoRep, xid)
		s.out = append(s.out, m[8:]...)
		setLen(s.out, off)
	case tFeaturesReq:
		off := s.header(tFeaturesRep, xid)
		s.out = be.AppendUint64(s.out, s.dpid)
		nbuf := uint32(0)
		if s.cfg.buffered {
			nbuf = uint32(s.cfg.window)
		}
		s.out = be.AppendUint32(s.out, nbuf)
		s.out = append(s.out, 254, 0, 0, 0)
		s.out = be.AppendUint32(s.out, capFlowGroupStat)
		s.out = be.AppendUint32(s.out, 0)
		setLen(s.out, off)
		if s.ready == 0 {
			s.ready = 1
		}
	case tGetConfigReq:
		off := s.header(tGetConfigRep, xid)
		s.out = append(s.out, 0, 0, 0xff, 0xff)
		setLen(s.out, off)
	case tBarrierReq:
		s.cnt.barrier.Add(1)
		setLen(s.out, s.header(tBarrierRep, xid))
	case tRoleReq, tGetAsyncReq:
		off := s.header(typ+1, xid)
		if typ == tRoleReq {
			s.out = append(s.out, m[8:]...)
		} else if s.cfg.ver == ver13 {
			s.out = appendZeros(s.out, 24)
		}
		setLen(s.out, off)
	case tQueueConfReq:
		if len(m) >= 16 {
			off := s.header(tQueueConfRep, xid)
			s.out = append(s.out, m[8:12]...)
			s.out = appendZeros(s.out, 4)
			setLen(s.out, off)
		}
	case tMultipartReq:
		s.multipart(m, xid)
	case tFlowMod:
		s.hold(m, ph)
		s.flowMod(m, ph)
	case tPacketOut:
		s.packetOut(m, ph)
	case tGroupMod:
		s.hold(m, ph)
		s.cnt.groupMod.Add(1)
	case tMeterMod:
		s.hold(m, ph)
	case tBundleCtrl:
		if len(m) >= 16 {
			s.bundleReply(m[8:], xid, nil)
		}
	case tBundleAdd:
		if len(m) >= 16 {
			s.inner(m[16:], ph)
		}
	case tExperimenter:
		s.experimenter(m, xid, ph)
	case tError:
		s.cnt.errs.Add(1)
	}
	return nil
}

func (s *sw) inner(m []byte, ph int32) {
	s.cnt.bundle.Add(1)
	if len(m) < headerLen || int(be.Uint16(m[2:])) > len(m) || be.Uint16(m[2:]) < headerLen {
		return
	}
	m = m[:be.Uint16(m[2:])]
	switch m[1] {
	case tFlowMod:
		s.hold(m, ph)
		s.flowMod(m, ph)
	case tPacketOut:
		s.packetOut(m, ph)
	case tGroupMod:
		s.hold(m, ph)
		s.cnt.groupMod.Add(1)
	}
}

func (s *sw) bundleReply(b []byte, xid uint32, exp []byte) {
	switch t := be.Uint16(b[4:]); t {
	case bundleOpen, bundleClose, bundleCommit, bundleDiscard:
		typ := byte(tBundleCtrl)
		if exp != nil {
			typ = tExperimenter
		}
		off := s.header(typ, xid)
		s.out = append(s.out, exp...)
		s.out = append(s.out, b[:4]...)
		s.out = be.AppendUint16(s.out, t+1)
		s.out = append(s.out, b[6:8]...)
		setLen(s.out, off)
	}
}

func (s *sw) experimenter(m []byte, xid uint32, ph int32) {
	if len(m) < 16 {
		return
	}
	switch exp, sub := be.Uint32(m[8:]), be.Uint32(m[12:]); {
	case exp == expNicira && sub == nxtTLVTableReq:
		off := s.header(tExperimenter, xid)
		s.out = be.AppendUint32(s.out, expNicira)
		s.out = be.AppendUint32(s.out, nxtTLVTableRep)
		s.out = be.AppendUint32(s.out, 248) // option space
		s.out = be.AppendUint16(s.out, 64)  // fields
		s.out = appendZeros(s.out, 10)
		setLen(s.out, off)
	case exp == expNicira && sub == nxtRoleReq:
		off := s.header(tExperimenter, xid)
		s.out = be.AppendUint32(s.out, expNicira)
		s.out = be.AppendUint32(s.out, nxtRoleRep)
		s.out = append(s.out, m[16:]...)
		setLen(s.out, off)
	case exp == expONF && sub == onfBundleCtrl && len(m) >= 24:
		s.bundleReply(m[16:], xid, m[8:16])
	case exp == expONF && sub == onfBundleAdd && len(m) >= 24:
		s.inner(m[24:], ph)
	}
}

func (s *sw) multipart(m []byte, xid uint32) {
	if len(m) < 16 {
		return
	}
	kind := be.Uint16(m[8:])
	if s.held != nil {
		if entries, ok := s.held.list(kind, m[16:]); ok {
			s.listHeld(kind, xid, entries)
			return
		}
	}
	off := s.header(tMultipartRep, xid)
	s.out = be.AppendUint16(s.out, kind)
	s.out = appendZeros(s.out, 6)
	switch kind {
	case mpDesc:
		s.out = appendDesc(s.out)
	case mpAggregate:
		s.out = appendZeros(s.out, 24)
	case mpGroupFeatures:
		s.out = be.AppendUint32(s.out, 0xf) // all group types
		s.out = be.AppendUint32(s.out, 0xf) // weights, liveness, chaining
		for range 4 {
			s.out = be.AppendUint32(s.out, 0xffffff00)
		}
		for range 4 {
			s.out = be.AppendUint32(s.out, 0x0fff_ffff)
		}
	case mpMeterFeatures:
		s.out = appendZeros(s.out, 16)
	case mpPortDesc:
		for p := 1; p <= s.cfg.ports; p++ {
			// stay below the 64 KB message limit
			if len(s.out)-off > 60000 {
				be.PutUint16(s.out[off+10:], 1) // more follow
				setLen(s.out, off)
				off = s.header(tMultipartRep, xid)
				s.out = be.AppendUint16(s.out, kind)
				s.out = appendZeros(s.out, 6)
			}
			mac := [6]byte{0x0e, byte(s.idx >> 8), byte(s.idx), 0, byte(p >> 8), byte(p)}
			s.out = appendPort(s.out, s.cfg.ver, uint32(p), mac)
		}
	}
	setLen(s.out, off)
}
