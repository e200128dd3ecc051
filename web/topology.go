package web

import (
	"context"
	"net/netip"
	"slices"

	"github.com/evenflow/evenflow/apps"
)

// Topology is all that is known of the network.
type Topology struct {
	Switches []apps.SwitchStatus `json:"switches"`
	Links    []apps.LinkStatus   `json:"links"`
	Hosts    []apps.HostStatus   `json:"hosts"`
}

type topologyOutput struct{ Body Topology }

func (s *Server) registerTopology(a api) {
	get(a, "list-hosts", "/hosts", "Hosts, as heard by ARP", s.listHosts)
	get(a, "list-links", "/links", "Links between switches, one row per cable", s.listLinks)
	get(a, "get-topology", "/topology", "Switches, links and hosts at once", s.getTopology)
}

func (s *Server) hosts() []apps.HostStatus {
	all := slices.Clone(s.eng.Hosts())
	for i := range all {
		all[i].Addresses = notNil[netip.Addr](all[i].Addresses)
	}
	return notNil(all)
}

func (s *Server) listHosts(context.Context, *struct{}) (*listOutput[apps.HostStatus], error) {
	return listOf(s.hosts()), nil
}

func (s *Server) listLinks(context.Context, *struct{}) (*listOutput[apps.LinkStatus], error) {
	return listOf(s.eng.Links()), nil
}

func (s *Server) getTopology(context.Context, *struct{}) (*topologyOutput, error) {
	return &topologyOutput{Topology{s.switches(), notNil(s.eng.Links()), s.hosts()}}, nil
}
