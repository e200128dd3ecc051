package main

// hostSend is a frame that a host sends and the switch has no flow for.
func (s *sw) hostSend(h *host, frame []byte) {
	s.xid++
	s.out = appendPacketIn(s.out, s.cfg.ver, s.xid, noBuffer, h.port, reasonNoMatch, frame)
	s.hostBuf = frame
}

// announce sends a gratuitous ARP from each host.
func (s *sw) announce() {
	for i := range s.plan.hosts {
		h := &s.plan.hosts[i]
		s.hostSend(h, appendARP(s.hostBuf[:0], 1, h.mac, h.ip, [6]byte{}, h.ip))
		s.cnt.hostAnnounce.Add(1)
	}
}

func (s *sw) hostByIP(ip uint32) *host {
	if s.hostIdx == nil {
		s.hostIdx = make(map[uint32]int, len(s.plan.hosts))
		for i, h := range s.plan.hosts {
			s.hostIdx[h.ip] = i
		}
	}
	if i, ok := s.hostIdx[ip]; ok {
		return &s.plan.hosts[i]
	}
	return nil
}

func appendARP(b []byte, op byte, sha [6]byte, spa uint32, tha [6]byte, tpa uint32) []byte {
	dst := tha
	if op == 1 {
		dst = [6]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	}
	start := len(b)
	b = append(append(b, dst[:]...), sha[:]...)
	b = append(b, 0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, op)
	b = be.AppendUint32(append(b, sha[:]...), spa)
	b = be.AppendUint32(append(b, tha[:]...), tpa)
	return appendZeros(b, 60-(len(b)-start))
}

func (s *sw) hostARP(po *pktOut) {
	b := po.data[14:]
	spa, tpa := be.Uint32(b[14:]), be.Uint32(b[24:])
	if be.Uint32(b) != 0x00010800 || be.Uint16(b[6:]) != 1 || spa == tpa {
		return
	}
	h := s.hostByIP(tpa)
	if h == nil || !reaches(po, h) {
		return
	}
	s.hostSend(h, appendARP(s.hostBuf[:0], 2, h.mac, h.ip, [6]byte(b[8:14]), spa))
	s.cnt.hostARP.Add(1)
}

// reaches says whether a PACKET_OUT's frame comes to the host's network card
// and is for it.
func reaches(po *pktOut, h *host) bool {
	d := [6]byte(po.data[:6])
	if d[0]&1 == 0 && d != h.mac {
		return false
	}
	out := po.outputs()
	return out.has(h.port)
}

// hostIPv4 answers echo requests and SYNs. The SYNs of the load, which a
// controller may send on to a host, are not answered.
func (s *sw) hostIPv4(po *pktOut) (own bool) {
	b := po.data[14:]
	h := s.hostByIP(be.Uint32(b[16:]))
	if h == nil {
		return false
	}
	src := be.Uint32(b[12:])
	if s.pl != nil && s.pl.isClient(src) {
		return false
	}
	ihl, total := int(b[0]&15)*4, int(be.Uint16(b[2:]))
	if !reaches(po, h) {
		return true
	}
	if b[0]>>4 != 4 || ihl < 20 || total < ihl || total > len(b) || be.Uint16(b[6:])&0x3fff != 0 || checksum(b[:ihl], 0) != 0 {
		s.cnt.hostBad.Add(1)
		return true
	}
	p := b[ihl:total]
	mac := [6]byte(po.data[6:12])
	switch {
	case b[9] == 1 && len(p) >= 8 && p[0] == 8:
		if checksum(p, 0) != 0 {
			s.cnt.hostBad.Add(1)
			return true
		}
		f := appendIPv4(s.hostBuf[:0], h, mac, src, 1, len(p))
		at := len(f)
		f = append(f, p...)
		f[at], f[at+1], f[at+2], f[at+3] = 0, 0, 0, 0
		be.PutUint16(f[at+2:], checksum(f[at:], 0))
		s.hostSend(h, pad60(f))
		s.cnt.hostEcho.Add(1)
	case b[9] == 6 && len(p) >= 20 && p[13]&0x17 == 0x02:
		if checksum(p, pseudo(src, h.ip, 6, len(p))) != 0 {
			s.cnt.hostBad.Add(1)
			return true
		}
		const size = 24
		f := appendIPv4(s.hostBuf[:0], h, mac, src, 6, size)
		at := len(f)
		f = append(append(f, p[2:4]...), p[0:2]...)
		seq := be.Uint32(p[4:])
		f = be.AppendUint32(f, seq^magic) // any initial number does
		f = be.AppendUint32(f, seq+1)
		f = append(f, size/4<<4, 0x12, 0xfa, 0xf0, 0, 0, 0, 0, 2, 4, 5, 0xb4)
		be.PutUint16(f[at+16:], checksum(f[at:], pseudo(h.ip, src, 6, size)))
		s.hostSend(h, pad60(f))
		s.cnt.hostSYN.Add(1)
	}
	return true
}

// pseudo is the sum of the pseudo header.
func pseudo(src, dst uint32, proto, n int) uint32 {
	return src>>16 + src&0xffff + dst>>16 + dst&0xffff + uint32(proto) + uint32(n)
}

func appendIPv4(b []byte, h *host, dst [6]byte, ip uint32, proto byte, n int) []byte {
	b = append(append(b, dst[:]...), h.mac[:]...)
	b = append(b, 0x08, 0x00)
	at := len(b)
	b = append(b, 0x45, 0)
	b = be.AppendUint16(b, uint16(20+n))
	b = append(b, 0, 0, 0x40, 0, 64, proto, 0, 0)
	b = be.AppendUint32(b, h.ip)
	b = be.AppendUint32(b, ip)
	be.PutUint16(b[at+10:], checksum(b[at:], 0))
	return b
}

func pad60(f []byte) []byte {
	if len(f) < 60 {
		f = appendZeros(f, 60-len(f))
	}
	return f
}
