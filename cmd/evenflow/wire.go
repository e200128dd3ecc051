package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/arp"
	"github.com/evenflow/evenflow/apps/base"
	"github.com/evenflow/evenflow/apps/deferred"
	"github.com/evenflow/evenflow/apps/group"
	"github.com/evenflow/evenflow/apps/nat"
	"github.com/evenflow/evenflow/apps/othello"
	"github.com/evenflow/evenflow/config"
	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/engine"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/store"
	"github.com/evenflow/evenflow/topo"
	"github.com/evenflow/evenflow/web"
)

// serve runs the controller until the context ends.
func serve(ctx context.Context, s settings, log *logrus.Logger) (err error) {
	switchTLS, err := loadSwitchTLS(s.OpenFlowTLS)
	if err != nil {
		return err
	}
	httpTLS, err := loadCertificate(s.HTTPTLS)
	if err != nil {
		return err
	}
	st, err := store.Open(s.Data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	cfg := engine.Config{
		Controller: controller.Config{Listen: s.OpenFlow, TLS: switchTLS, Versions: versions(s.OpenFlowVersions)},
		Topo:       topo.Config{Ports: fixedPorts(s.Ports), MAC: apps.VIPMAC},
		Store:      st,
		Apps: []engine.Mount{
			{Class: apps.ClassBase, App: base.New(base.Config{Rates: meterRates(s.PacketIn)})},
			{Class: apps.ClassARP, App: arp.New()},
			{Class: apps.ClassNAT, App: nat.New(nat.Config{})},
			{Class: apps.ClassGroup, App: group.New(group.Config{})},
			{Class: apps.ClassDeferred, App: deferred.New(deferred.Config{})},
			{Class: apps.ClassOthello, App: othello.New()},
		},
		Routers:    s.AppRouters(),
		Routes:     s.AppRoutes(),
		DropReason: dropReason,
		Log:        log,

		PollInterval: s.statsInterval,
		Watching:     s.Detector.Watching(),
	}
	if s.fromFile {
		cfg.FileVIPs = s.VIPs
	}
	eng, err := engine.New(cfg)
	if err != nil {
		return err
	}
	var listener net.Listener // nil: web listens by itself
	if httpTLS != nil {
		httpTLS.NextProtos = []string{"h2", "http/1.1"}
		if listener, err = tls.Listen("tcp", s.HTTP, httpTLS); err != nil {
			return err
		}
	}
	api, err := web.New(web.Config{Listen: s.HTTP, Listener: listener, Token: s.token, AllowedHosts: s.Hosts, Version: version, Log: log,
		Registry: prometheus.NewRegistry()}, eng)
	if err != nil {
		return err
	}
	log.WithFields(logrus.Fields{"version": version, "data": s.Data}).Info("evenflow starts")
	defer log.Info("evenflow has stopped")
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return eng.Run(ctx) })
	g.Go(func() error { return api.Run(ctx) })
	g.Go(func() error { keepHeapSmall(ctx); return nil })
	return g.Wait()
}

// dropReason names a rule made to drop.
func dropReason(r *flows.Rule) (string, bool) {
	if reason, ok := base.DropReason(r); ok {
		return reason, true
	}
	if reason, ok := deferred.DropReason(r); ok {
		return reason, true
	}
	if reason, ok := othello.DropReason(r); ok {
		return reason, ok
	}
	return group.DropReason(r)
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
