package main

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/arp"
	"github.com/evenflow/evenflow/apps/base"
	"github.com/evenflow/evenflow/apps/nat"
	"github.com/evenflow/evenflow/config"
	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/engine"
	"github.com/evenflow/evenflow/store"
	"github.com/evenflow/evenflow/topo"
	"github.com/evenflow/evenflow/web"
)

// serve runs the controller until the context ends.
func serve(ctx context.Context, s settings, log *logrus.Logger) (err error) {
	st, err := store.Open(s.Data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	cfg := engine.Config{
		Controller: controller.Config{Listen: s.OpenFlow},
		Topo:       topo.Config{Ports: fixedPorts(s.Ports), MAC: apps.VIPMAC},
		Store:      st,
		Apps: []engine.Mount{
			{Class: apps.ClassBase, App: base.New(base.Config{Rates: meterRates(s.PacketIn)})},
			{Class: apps.ClassARP, App: arp.New()},
			{Class: apps.ClassNAT, App: nat.New(nat.Config{})},
		},
		Routers:    s.AppRouters(),
		DropReason: base.DropReason,
		Log:        log,
	}
	if s.fromFile {
		cfg.FileVIPs = s.VIPs
	}
	eng, err := engine.New(cfg)
	if err != nil {
		return err
	}
	api, err := web.New(web.Config{Listen: s.HTTP, Token: s.token, AllowedHosts: s.Hosts, Version: version, Log: log,
		Registry: prometheus.NewRegistry()}, eng)
	if err != nil {
		return err
	}
	log.WithFields(logrus.Fields{"version": version, "data": s.Data}).Info("evenflow starts")
	defer log.Info("evenflow has stopped")
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return eng.Run(ctx) })
	g.Go(func() error { return api.Run(ctx) })
	return g.Wait()
}

// fixedPorts are the ports that the configuration takes from LLDP.
func fixedPorts(ports []config.Port) map[topo.PortID]topo.Fixed {
	out := make(map[topo.PortID]topo.Fixed, len(ports))
	for _, p := range ports {
		fixed := topo.Fixed{Kind: topo.Edge}
		if p.Kind == "link" {
			fixed.Kind = topo.Link
			if p.Link != nil {
				fixed.Peer = *p.Link
			}
		}
		out[topo.PortID{DPID: p.DPID, No: p.PortNo}] = fixed
	}
	return out
}

func meterRates(p config.PacketIn) map[uint32]uint32 {
	return map[uint32]uint32{apps.MeterLLDP: p.LLDP, apps.MeterNeighbour: p.Neighbour, apps.MeterVIP: p.VIP,
		apps.MeterOther: p.Other, apps.MeterReject: p.Reject}
}
