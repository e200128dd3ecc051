package web

import (
	"runtime"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("evenflow_"+name, help, labels, nil)
}

// What the engine knows, in base units and without labels that clients choose.
var (
	switchesConnected = desc("switches_connected", "Switches with a session.")
	switchReady       = desc("switch_ready", "1 when the switch is connected and holds its desired state.", "dpid")
	switchHash        = desc("switch_hash", "1; by which hash the switch chooses among the buckets of groups is a label.", "dpid", "hash")
	switchCodes       = desc("switch_codes_foretold", "1 when the switch hashes connections as mode othello needs, 0 when it does not; absent before it is known.", "dpid")
	switchRules       = desc("switch_rules", "Rules that are desired in the switch.", "dpid")
	packetIns         = desc("packet_ins_total", "Packets that the switch sent to the controller.", "dpid")
	packetInsDropped  = desc("packet_ins_dropped_total", "Packet-ins dropped because a queue was full.", "dpid")
	flowMods          = desc("flow_mods_total", "Flow modifications sent to the switch.", "dpid")
	modifications     = desc("modifications_total", "Flow, group and meter modifications for desired state sent to the switch.", "dpid")
	droppedPackets    = desc("dropped_packets_total", "Packets that rules made to drop have dropped.", "dpid", "reason")
	refused           = desc("refused_total", "What the controller was sent and has turned away.", "part", "reason")

	vipPhase          = desc("vip_phase", "1 for the phase that the VIP is in, 0 for the others.", "vip", "phase")
	vipConnections    = desc("vip_connections", "Live connections, where they can be known.", "vip", "backend")
	vipNewConnections = desc("vip_new_connections_total", "Connections ever given to the backend.", "vip", "backend")
	vipGenerations    = desc("vip_generations", "Sets of backends kept for connections made before changes, with the present one.", "vip")
	vipPins           = desc("vip_pins", "Connections of a VIP of mode othello that are kept by name.", "vip")
	vipCells          = desc("vip_cells", "Cells that the pins of a VIP of mode othello are in, 0 where each has a rule of its own.", "vip")
	vipGeneration     = desc("vip_generation", "Number of a VIP's newest set of backends.", "vip")
	vipSettle         = desc("vip_settle_seconds", "How long the last change of a VIP's set of backends took, all steps; absent if there was none.", "vip")
	agentConnected    = desc("agent_connected", "1 when the agent of a backend's host is connected.", "host")
	agentStates       = desc("agent_states", "Connections that the agent of a backend's host has told of.", "host", "protocol")
	agentDumps        = desc("agent_dumps_total", "How often the agent of a backend's host has told of all connections.", "host")
	agentChanges      = desc("agent_changes_total", "How often the agent of a backend's host has told of what has changed.", "host")

	backendUp = desc("backend_up", "1 when the backend takes new connections.", "vip", "backend")

	probesSent     = desc("health_probes_sent_total", "Probes of backends sent.", "type")
	probesAnswered = desc("health_probes_answered_total", "Probes of backends answered.", "type")
	probesFailed   = desc("health_probes_failed_total", "Probes of backends that failed.", "type", "reason")
	probeTargets   = desc("health_targets", "Backends that are probed, by what their probes say; several VIPs may share one.", "type", "state")
)

// engineCollector reads the engine at each scrape.
type engineCollector struct{ eng Engine }

func (engineCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{switchesConnected, switchReady, switchHash, switchCodes, switchRules, packetIns, packetInsDropped, flowMods, modifications,
		droppedPackets, refused, vipPhase, vipConnections, vipNewConnections, vipGenerations, vipPins, vipCells, vipGeneration, vipSettle, backendUp, loadVerdict, loadF, loadP, loadEffect, loadStreak,
		agentConnected, agentStates, agentDumps, agentChanges, probesSent, probesAnswered, probesFailed, probeTargets} {
		ch <- d
	}
}

func (e engineCollector) Collect(ch chan<- prometheus.Metric) {
	put := func(d *prometheus.Desc, t prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, t, v, labels...)
	}
	connected := 0.0
	for _, s := range e.eng.Switches() {
		connected += number(s.Connected)
		collectSwitch(put, s)
	}
	put(switchesConnected, prometheus.GaugeValue, connected)
	for _, c := range e.eng.Counts() {
		put(refused, prometheus.CounterValue, float64(c.N), c.Part, c.Reason)
	}
	for _, r := range e.eng.VIPs() {
		collectVIP(put, r)
	}
	for _, r := range e.eng.Imbalances(false) {
		collectImbalance(put, &r)
	}
	for _, a := range e.eng.Agents() {
		collectAgent(put, a)
	}
	for _, s := range e.eng.Probes() {
		collectProbes(put, s)
	}
}

type putMetric func(d *prometheus.Desc, t prometheus.ValueType, v float64, labels ...string)

func collectSwitch(put putMetric, s apps.SwitchStatus) {
	d := s.DPID.String()
	put(switchReady, prometheus.GaugeValue, number(s.Connected && s.Ready), d)
	if s.Hash != "" {
		put(switchHash, prometheus.GaugeValue, 1, d, s.Hash)
	}
	if s.Codes != "" {
		put(switchCodes, prometheus.GaugeValue, number(s.Codes == "foretold"), d)
	}
	put(switchRules, prometheus.GaugeValue, float64(s.Rules), d)
	put(packetIns, prometheus.CounterValue, float64(s.PacketIns), d)
	put(packetInsDropped, prometheus.CounterValue, float64(s.DroppedIns), d)
	put(flowMods, prometheus.CounterValue, float64(s.FlowMods), d)
	put(modifications, prometheus.CounterValue, float64(s.Modifications), d)
	for _, x := range s.Drops {
		put(droppedPackets, prometheus.CounterValue, float64(x.Packets), d, x.Reason)
	}
}

func collectVIP(put putMetric, r vip.Read) {
	for _, p := range []vip.Phase{vip.PhaseUp, vip.PhaseDegraded, vip.PhaseDown, vip.PhasePending} {
		put(vipPhase, prometheus.GaugeValue, number(r.Status.Phase == p), r.Name, string(p))
	}
	if h := r.Status.HandOver; h != nil {
		put(vipGenerations, prometheus.GaugeValue, float64(h.Generations), r.Name)
		put(vipPins, prometheus.GaugeValue, float64(h.Pins), r.Name)
		put(vipCells, prometheus.GaugeValue, float64(h.Cells), r.Name)
		put(vipGeneration, prometheus.GaugeValue, float64(h.Generation), r.Name)
		if h.SettleTime != nil {
			put(vipSettle, prometheus.GaugeValue, time.Duration(*h.SettleTime).Seconds(), r.Name)
		}
	}
	for _, b := range r.Status.Backends {
		put(backendUp, prometheus.GaugeValue, number(b.State == vip.StateUp), r.Name, b.Name)
		put(vipNewConnections, prometheus.CounterValue, float64(b.NewConnections), r.Name, b.Name)
		if b.Connections != nil {
			put(vipConnections, prometheus.GaugeValue, float64(*b.Connections), r.Name, b.Name)
		}
	}
}

func collectAgent(put putMetric, a apps.AgentStatus) {
	host := a.Host.String()
	put(agentConnected, prometheus.GaugeValue, number(a.Connected), host)
	put(agentStates, prometheus.GaugeValue, float64(a.TCP), host, "tcp")
	if a.UDP != nil {
		put(agentStates, prometheus.GaugeValue, float64(*a.UDP), host, "udp")
	}
	put(agentDumps, prometheus.CounterValue, float64(a.Dumps), host)
	put(agentChanges, prometheus.CounterValue, float64(a.Changes), host)
}

func collectProbes(put putMetric, s apps.ProbeStats) {
	put(probesSent, prometheus.CounterValue, float64(s.Sent), s.Type)
	put(probesAnswered, prometheus.CounterValue, float64(s.Answered), s.Type)
	for reason, n := range s.Failed {
		put(probesFailed, prometheus.CounterValue, float64(n), s.Type, reason)
	}
	for state, n := range map[string]int{"up": s.Up, "down": s.Down, "suspended": s.Suspended} {
		put(probeTargets, prometheus.GaugeValue, float64(n), s.Type, state)
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func register(reg prometheus.Registerer, cs ...prometheus.Collector) error {
	for _, c := range cs {
		if err := reg.Register(c); err != nil {
			return err
		}
	}
	return nil
}

// registerMetrics adds the engine's metrics, the build and Go's own to the registry, and serves it.
func (s *Server) registerMetrics(g *gin.Engine, reg *prometheus.Registry, version string) error {
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "evenflow_build_info", Help: "Always 1; the version is a label.",
		ConstLabels: prometheus.Labels{"version": version, "go_version": runtime.Version()}})
	build.Set(1)
	err := register(reg, engineCollector{s.eng}, build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if err != nil {
		return err
	}
	g.GET("/metrics", gin.WrapH(promhttp.HandlerFor(reg, promhttp.HandlerOpts{
		ErrorLog: s.log, MaxRequestsInFlight: 4, Timeout: 10 * time.Second})))
	return nil
}
