package main

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

// where is a VIP's service, such as "10.0.0.100:80/tcp" or "[fd00::100]:80/tcp".
func where(s vip.Spec) string {
	return net.JoinHostPort(s.Address, string(s.Port)) + "/" + string(s.Protocol)
}

func vipRows(vips []vip.Read) *table {
	tab := newTable("NAME", "SERVICE", "MODE", "PHASE", "UP", "CONNECTIONS", "VERSION", "ORIGIN", "REASON")
	for _, v := range vips {
		up, sum, counted := 0, int64(0), v.Mode == vip.ModeNAT
		for _, b := range v.Status.Backends {
			if b.State == vip.StateUp {
				up++
			}
			if b.Connections != nil {
				sum += *b.Connections
			}
		}
		connections := "-" // nobody can know
		if counted {
			connections = fmt.Sprint(sum)
		}
		tab.add(v.Name, where(v.Spec), v.Mode, v.Status.Phase, fmt.Sprintf("%d/%d", up, len(v.Backends)), connections, v.Version,
			v.Origin, v.Status.Reason)
	}
	return tab
}

// vipText is a VIP with a table of its backends, and one of the switches that have not confirmed it.
func (t *terminal) vipText(raw []byte) (string, error) {
	var v vip.Read
	if err := json.Unmarshal(raw, &v); err != nil {
		return "", err
	}
	var out strings.Builder
	mode := string(v.Mode)
	if v.Scheduler != "" {
		mode += " " + v.Scheduler
	}
	phase := string(v.Status.Phase)
	if v.Status.Reason != "" {
		phase += ": " + v.Status.Reason
	}
	head := newTable("name", v.Name)
	head.add("service", where(v.Spec))
	head.add("mode", mode)
	head.add("phase", phase)
	head.add("version", fmt.Sprintf("%d, declared by %s", v.Version, v.Origin))
	if v.IdleTimeout > 0 { // only modes that keep time have it
		head.add("idle timeout", v.IdleTimeout)
	}
	if v.Health.Probes() {
		head.add("health", v.Health)
	}
	addExtras(head, v)
	out.WriteString(head.String())

	state := make(map[string]vip.BackendStatus, len(v.Status.Backends))
	for _, s := range v.Status.Backends {
		state[s.Name] = s
	}
	backends := newTable("BACKEND", "ADDRESS", "WEIGHT", "ADMIN", "STATE", "SINCE", "CONNECTIONS", "NEW", "SHARE", "REASON")
	for _, b := range v.Backends {
		s := state[b.Name]
		address, weight, connections := b.Address, vip.DefaultWeight, "?"
		if b.Port != 0 {
			address = fmt.Sprintf("%s:%d", b.Address, b.Port)
		}
		if s.Via != "" {
			address += " via " + s.Via
		}
		if b.Weight != nil {
			weight = *b.Weight
		}
		if s.Connections != nil {
			connections = fmt.Sprint(*s.Connections)
		}
		backends.add(b.Name, address, weight, b.Admin, s.State, t.since(s.Since), connections, s.NewConnections,
			fmt.Sprintf("%.1f%%", 100*s.Share), t.reason(s))
	}
	out.WriteString("\n" + backends.String())

	behind := newTable("SWITCH", "CONFIRMED", "ERROR")
	for _, a := range v.Status.Applied {
		if a.Version < v.Version || a.Error != "" {
			behind.add(a.DPID, a.Version, a.Error)
		}
	}
	if len(behind.rows) > 1 {
		out.WriteString("\n" + behind.String())
	}
	return out.String(), nil
}

// addExtras adds what a VIP has that is not the default, and how far a change has come.
func addExtras(head *table, v vip.Read) {
	if v.Affinity != nil {
		head.add("affinity", v.Affinity.Timeout)
	}
	if v.Reject == vip.RejectDrop {
		head.add("reject", v.Reject)
	}
	if v.OnImbalance == vip.Reweight {
		head.add("on imbalance", v.OnImbalance)
	}
	if len(v.Gateways) > 0 {
		head.add("gateways", strings.Join(v.Gateways, ", "))
	}
	if h := v.Status.HandOver; h != nil {
		text := fmt.Sprintf("step %s, generation %d, %d kept", h.Step, h.Generation, h.Generations)
		if h.Pins > 0 {
			text += fmt.Sprintf(", %d pins", h.Pins)
		}
		if h.Cells > 0 {
			text += fmt.Sprintf(" in %d cells", h.Cells)
		}
		if h.SettleTime != nil {
			text += fmt.Sprintf(", the last change took %s", *h.SettleTime)
		}
		if h.Waiting != "" {
			text += ": " + h.Waiting
		}
		head.add("handover", text)
	}
}

// reason is a backend's, with the time that a drain still has.
func (t *terminal) reason(s vip.BackendStatus) string {
	if s.State != vip.StateDraining || s.Drain == nil {
		return s.Reason
	}
	left := max(s.Drain.Ends.Sub(t.now()), 0).Round(time.Second)
	return fmt.Sprintf("%s; what is left ends in %s", s.Reason, left)
}

func (t *terminal) connectionRows(connections []apps.Connection) *table {
	tab := newTable("CLIENT", "PORT", "BACKEND", "SWITCH", "AGE")
	for _, c := range connections {
		tab.add(c.Client, c.VIPPort, c.Backend, c.DPID, t.since(c.Since))
	}
	return tab
}

// switchState is a switch's state in one word.
func switchState(s apps.SwitchStatus) string {
	switch {
	case s.Ready:
		return "ready"
	case s.Connected:
		return "connected"
	}
	return "away"
}

func (t *terminal) switchRows(switches []apps.SwitchStatus) *table {
	tab := newTable("DPID", "STATE", "SINCE", "OPENFLOW", "HASH", "ADDRESS", "RULES", "PACKET-INS", "DROPPED", "NOTE")
	for _, s := range switches {
		notes := slices.Concat(s.Problems, s.Warnings)
		if s.Error != "" {
			notes = slices.Insert(notes, 0, s.Error)
		}
		tab.add(s.DPID, switchState(s), t.since(s.Since), s.OpenFlow, s.Hash, s.Address, s.Rules, s.PacketIns, s.DroppedIns, strings.Join(notes, "; "))
	}
	return tab
}

func portRows(ports []apps.PortStatus) *table {
	tab := newTable("PORT", "NAME", "KIND", "STATE", "RX", "TX", "RX-PACKETS", "TX-PACKETS", "ERRORS")
	for _, p := range ports {
		state := "down"
		switch {
		case p.Live:
			state = "up"
		case p.Up:
			state = "not live"
		}
		tab.add(p.PortNo, p.Name, p.Kind, state, rate(p.RxBPS), rate(p.TxBPS), p.RxPackets, p.TxPackets, p.Errors)
	}
	return tab
}

// rate is bits per second with a decimal prefix.
func rate(bps float64) string {
	for _, unit := range []string{"", "k", "M", "G"} {
		if bps < 1000 {
			return fmt.Sprintf("%.3g %sbit/s", bps, unit)
		}
		bps /= 1000
	}
	return fmt.Sprintf("%.3g Tbit/s", bps)
}

func hostRows(hosts []apps.HostStatus) *table {
	tab := newTable("MAC", "ADDRESSES", "SWITCH", "PORT", "STATE")
	for _, h := range hosts {
		addresses := make([]string, len(h.Addresses))
		for i, a := range h.Addresses {
			addresses[i] = a.String()
		}
		state := "silent"
		if h.Live {
			state = "live"
		}
		tab.add(h.MAC, strings.Join(addresses, ","), h.DPID, h.PortNo, state)
	}
	return tab
}

func agentRows(agents []apps.AgentStatus) *table {
	tab := newTable("HOST", "STATE", "TCP", "UDP", "REASON")
	for _, a := range agents {
		state, udp := "gone", "not told"
		if a.Connected {
			state = "connected"
		}
		if a.UDP != nil {
			udp = fmt.Sprint(*a.UDP)
		}
		tab.add(a.Host, state, a.TCP, udp, a.Reason)
	}
	return tab
}

func linkRows(links []apps.LinkStatus) *table {
	tab := newTable("A", "PORT", "B", "PORT")
	for _, l := range links {
		tab.add(l.A.DPID, l.A.No, l.B.DPID, l.B.No)
	}
	return tab
}

// flowLines are rules as text, one a line.
func flowLines(raw []byte) (string, error) {
	var answer struct {
		Items []struct {
			Text    string `json:"text"`
			Packets uint64 `json:"packets"`
		} `json:"items"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return "", err
	}
	tab := newTable("PACKETS", "RULE")
	for _, f := range answer.Items {
		tab.add(f.Packets, f.Text)
	}
	return tab.String(), nil
}
