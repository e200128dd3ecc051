package web

import (
	"context"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/flows"
)

type historyInput struct {
	DPID    string `path:"dpid" pattern:"^[0-9a-fA-F]{16}$" doc:"Datapath id, 16 hex digits" example:"0000000000000001"`
	Seconds int    `query:"seconds" minimum:"1" maximum:"900" default:"900" doc:"How far back"`
}

type portHistoryInput struct {
	DPID    string `path:"dpid" pattern:"^[0-9a-fA-F]{16}$" doc:"Datapath id, 16 hex digits" example:"0000000000000001"`
	Port    uint32 `path:"port" minimum:"1" doc:"Number of the port"`
	Seconds int    `query:"seconds" minimum:"1" maximum:"900" default:"900" doc:"How far back"`
}

type vipHistoryInput struct {
	VIP     string `path:"vip" doc:"Name of the VIP" example:"web"`
	Seconds int    `query:"seconds" minimum:"1" maximum:"900" default:"900" doc:"How far back"`
}

type totalHistoryInput struct {
	Seconds int `query:"seconds" minimum:"1" maximum:"900" default:"900" doc:"How far back"`
}

type (
	vipHistoryOutput   struct{ Body apps.VIPHistory }
	totalHistoryOutput struct{ Body apps.History }
)

type portHistoryOutput struct{ Body apps.PortHistory }

func (s *Server) registerHistory(a api) {
	get(a, "list-port-histories", "/switches/{dpid}/history",
		"Rates of all ports of a switch, a value a second of the last 15 minutes; null where nothing is known", s.listHistories)
	get(a, "get-port-history", "/switches/{dpid}/ports/{port}/history",
		"Rates of a port, a value a second of the last 15 minutes; null where nothing is known", s.portHistory)
	get(a, "get-vip-history", "/vips/{vip}/history",
		"Connections a second given to each backend, a value a second of the last 15 minutes", s.vipHistory)
	get(a, "get-history", "/history", "Packet-ins and new connections a second, a value a second of the last 15 minutes", s.totalHistory)
}

func (s *Server) vipHistory(_ context.Context, in *vipHistoryInput) (*vipHistoryOutput, error) {
	h, err := s.eng.VIPHistory(in.VIP, in.Seconds)
	if err != nil {
		return nil, s.fail(err, nil)
	}
	return &vipHistoryOutput{h}, nil
}

func (s *Server) totalHistory(_ context.Context, in *totalHistoryInput) (*totalHistoryOutput, error) {
	return &totalHistoryOutput{s.eng.History(in.Seconds)}, nil
}

func (s *Server) listHistories(_ context.Context, in *historyInput) (*listOutput[apps.PortHistory], error) {
	all, err := onSwitch(&switchPath{in.DPID}, func(d flows.DPID) ([]apps.PortHistory, error) {
		return s.eng.PortHistories(d, 0, in.Seconds)
	})
	if err != nil {
		return nil, err
	}
	return listOf(all), nil
}

func (s *Server) portHistory(_ context.Context, in *portHistoryInput) (*portHistoryOutput, error) {
	all, err := onSwitch(&switchPath{in.DPID}, func(d flows.DPID) ([]apps.PortHistory, error) {
		return s.eng.PortHistories(d, in.Port, in.Seconds)
	})
	if err != nil {
		return nil, err
	}
	return &portHistoryOutput{all[0]}, nil
}
