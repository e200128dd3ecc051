package main

import "sync/atomic"

type counters struct {
	packetIn, done, lost                      atomic.Uint64
	flowMod, packetOut, groupMod, barrier     atomic.Uint64
	bundle, extra, unmatched, control, errs   atomic.Uint64
	rxBytes, relayed, relayDrop, hostAnnounce atomic.Uint64
	hostARP, hostEcho, hostSYN, hostBad       atomic.Uint64
	_                                         [64]byte
}

type counts struct {
	PacketIn     uint64 `json:"packet_in"`
	Done         uint64 `json:"completed"`
	Lost         uint64 `json:"timed_out"`
	FlowMod      uint64 `json:"flow_mod"`
	PacketOut    uint64 `json:"packet_out"`
	GroupMod     uint64 `json:"group_mod"`
	Barrier      uint64 `json:"barrier_request"`
	Bundle       uint64 `json:"bundle_message"`
	Extra        uint64 `json:"late_or_second_reply"`
	Unmatched    uint64 `json:"unmatched_reply"`
	Control      uint64 `json:"discovery_packet_out"` // LLDP, ARP and ND of the controller's own, probes of hosts
	Errors       uint64 `json:"error_message"`
	RxBytes      uint64 `json:"rx_bytes"`
	Relayed      uint64 `json:"relayed"`         // frames that came over a link as a packet-in
	RelayDrop    uint64 `json:"relay_dropped"`   // the far switch's queue was full
	HostAnnounce uint64 `json:"host_announce"`   // gratuitous ARPs
	HostARP      uint64 `json:"host_arp_reply"`  //
	HostEcho     uint64 `json:"host_echo_reply"` //
	HostSYN      uint64 `json:"host_syn_ack"`    //
	HostBad      uint64 `json:"host_bad_frame"`  // wrong checksum or length, fragment: not answered
}

func (c *counters) snap() counts {
	return counts{c.packetIn.Load(), c.done.Load(), c.lost.Load(), c.flowMod.Load(), c.packetOut.Load(),
		c.groupMod.Load(), c.barrier.Load(), c.bundle.Load(), c.extra.Load(), c.unmatched.Load(),
		c.control.Load(), c.errs.Load(), c.rxBytes.Load(), c.relayed.Load(), c.relayDrop.Load(),
		c.hostAnnounce.Load(), c.hostARP.Load(), c.hostEcho.Load(), c.hostSYN.Load(), c.hostBad.Load()}
}

func (c *counts) all() []*uint64 {
	return []*uint64{&c.PacketIn, &c.Done, &c.Lost, &c.FlowMod, &c.PacketOut, &c.GroupMod, &c.Barrier, &c.Bundle, &c.Extra,
		&c.Unmatched, &c.Control, &c.Errors, &c.RxBytes, &c.Relayed, &c.RelayDrop, &c.HostAnnounce, &c.HostARP, &c.HostEcho,
		&c.HostSYN, &c.HostBad}
}

func (c counts) plus(b counts) counts {
	y := b.all()
	for i, x := range c.all() {
		*x += *y[i]
	}
	return c
}

func (c counts) minus(b counts) counts {
	y := b.all()
	for i, x := range c.all() {
		*x -= *y[i]
	}
	return c
}
