package apps

import "github.com/evenflow/evenflow/flows"

// Bits of ct_state.
const (
	CTNew     = 0x01
	CTEst     = 0x02
	CTRelated = 0x04
	CTReply   = 0x08
	CTInvalid = 0x10
	CTTracked = 0x20
	CTSrcNAT  = 0x40
	CTDstNAT  = 0x80
)

// Known passes a packet through a zone of conntrack, which translates it if it is of a connection that is known there, to a table.
func Known(zone uint16, table uint8) flows.CT {
	return flows.CT{Table: table, Zone: zone, Actions: []flows.Action{flows.NAT{}}}
}
