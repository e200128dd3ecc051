package apps

import (
	"fmt"
	"strings"
)

// TableName is what a table of the pipeline does, in a word; "" for a table that is not ours.
func TableName(id uint8) string {
	switch id {
	case TableClassify:
		return "classify"
	case TableSource:
		return "source"
	case TableKind:
		return "kind"
	case TableCopy:
		return "copy"
	case TableNeighbour, TableNeighbor2:
		return "neighbour"
	case TableReply:
		return "reply"
	case TableHairpin, TableHairback:
		return "hairpin"
	case TableAnswer:
		return "answer"
	case TableMirror, TableMirrored:
		return "mirror"
	case TableRoute:
		return "route"
	case TableVIP:
		return "vip"
	case TableSelect:
		return "select"
	case TableGroup:
		return "group"
	case TableCommit:
		return "commit"
	case TableDcode:
		return "dcode"
	case TableOwner:
		return "owner"
	case TableConsult:
		return "consult"
	case TablePinned:
		return "pinned"
	case TableCells, TableRowA, TableCellA, TableRowB, TableCellB, TableXor, TableXor + 1, TableXor + 2, TablePinValue:
		return "cells"
	case TableNoted:
		return "noted"
	case TableChosen:
		return "chosen"
	case TableRefuse:
		return "refuse"
	case TableForward:
		return "forward"
	case TableEgress:
		return "egress"
	case TableUnNAT:
		return "un-nat"
	case TableArrival:
		return "arrival"
	case TableDoubt:
		return "doubt"
	case TableDeliver:
		return "deliver"
	case TableAccept:
		return "accept"
	case TableAsk:
		return "ask"
	case TablePick:
		return "pick"
	case TableAge:
		return "age"
	case TableSelf:
		return "self"
	case TableOutput:
		return "output"
	}
	return ""
}

// MeterName is what a meter limits; "" for one that is not ours.
func MeterName(id uint32) string {
	switch {
	case id == MeterLLDP:
		return "LLDP"
	case id == MeterNeighbour:
		return "ARP and ND"
	case id == MeterVIP:
		return "first packets to VIPs"
	case id == MeterOther:
		return "other packets to the controller"
	case id == MeterReject:
		return "refusals, all together"
	case id == MeterForbidden:
		return "packets dropped for their sender"
	case id == MeterEdgeLLDP:
		return "LLDP by edge ports"
	case id == MeterProbe:
		return "answers to probes of backends"
	case id > meterPort && id <= meterPort+maxMeteredPort:
		return fmt.Sprintf("copies of what port %d sends", id-meterPort)
	case id > MeterVIPReject && id < MeterHandOver:
		return fmt.Sprintf("refusals of VIP %d", id-MeterVIPReject)
	case id > MeterHandOver && OwnMeter(id):
		return fmt.Sprintf("hand-over of VIP %d", id-MeterHandOver)
	}
	return ""
}

// GroupName is what a group is for; "" for one that is not ours.
func GroupName(id uint32) string {
	switch {
	case id == GroupCopy:
		return "on, with a copy to the controller"
	case id == GroupHash:
		return "shows by which hash the switch chooses"
	case !OwnGroup(id):
	case id>>24 == groupOfGeneration>>24:
		return fmt.Sprintf("backends of VIP %d, generation %d mod 256", id>>8&0xffff, id&0xff)
	case id>>24 == groupOfGateways>>24:
		return fmt.Sprintf("gateways of VIP %d", id&0xffff)
	case id>>24 == groupOfWay>>24:
		return fmt.Sprintf("the way to switch number %d, and a detour", id&0xffff)
	case id>>24 == groupOfEdges>>24:
		return fmt.Sprintf("edges with backends of VIP %d and others of its address", id&0xffff)
	default:
		return fmt.Sprintf("backends of VIP %d", id&0xffff)
	}
	return ""
}

// named is how many switches or backends a reason names.
const named = 3

// Some names switches or backends, "switch a, b, c and 2 more": not all if they are many.
func Some(what string, names []string) string {
	if more := len(names) - named; more > 0 {
		return fmt.Sprintf("%s %s and %d more", what, strings.Join(names[:named], ", "), more)
	}
	return what + " " + strings.Join(names, ", ")
}
