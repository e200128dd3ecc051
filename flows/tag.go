package flows

// PushVLAN adds a VLAN tag of an Ethernet type (0x8100, 0x88a8) with VLAN id and priority 0.
type PushVLAN struct{ EthType uint16 }

// PopVLAN removes the outer VLAN tag.
type PopVLAN struct{}

// PushMPLS adds a label of an Ethernet type (0x8847, 0x8848).
type PushMPLS struct{ EthType uint16 }

// PopMPLS removes the outer label; what is left has an Ethernet type.
type PopMPLS struct{ EthType uint16 }

// SetMPLSTTL sets the outer label's time to live.
type SetMPLSTTL struct{ TTL uint8 }

// DecMPLSTTL lowers the outer label's time to live by one.
type DecMPLSTTL struct{}

// AppendText is push_vlan:TYPE.
func (a PushVLAN) AppendText(b []byte) []byte {
	return appendHex(append(b, "push_vlan:"...), U64(uint64(a.EthType), 2), 2)
}

// AppendText is pop_vlan.
func (a PopVLAN) AppendText(b []byte) []byte { return append(b, "pop_vlan"...) }

// AppendText is push_mpls:TYPE.
func (a PushMPLS) AppendText(b []byte) []byte {
	return appendHexPadded(append(b, "push_mpls:"...), uint64(a.EthType), 4)
}

// AppendText is pop_mpls:TYPE.
func (a PopMPLS) AppendText(b []byte) []byte {
	return appendHexPadded(append(b, "pop_mpls:"...), uint64(a.EthType), 4)
}

// AppendText is set_mpls_ttl(TTL).
func (a SetMPLSTTL) AppendText(b []byte) []byte {
	return append(appendNum(b, "set_mpls_ttl(", a.TTL), ')')
}

// AppendText is dec_mpls_ttl.
func (a DecMPLSTTL) AppendText(b []byte) []byte { return append(b, "dec_mpls_ttl"...) }
