package engine

import (
	"fmt"
	"math"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// Ports are a switch's ports, by number.
func (e *Engine) Ports(d flows.DPID) ([]apps.PortStatus, error) {
	if _, err := e.Switch(d); err != nil {
		return nil, err
	}
	ports := e.view.Load().Topo.Ports(d)
	out := make([]apps.PortStatus, 0, len(ports))
	for _, p := range ports {
		s, r := e.stats.Port(d, p.No)
		out = append(out, apps.PortStatus{
			PortNo: p.No, Name: p.Name, Kind: p.Kind.String(), Up: p.Up, Live: p.Live,
			RxBytes: kept(s.RxBytes), TxBytes: kept(s.TxBytes), RxBPS: known(r.RxBits), TxBPS: known(r.TxBits),
			RxPackets: kept(s.RxPackets), TxPackets: kept(s.TxPackets), RxPPS: known(r.RxPackets), TxPPS: known(r.TxPackets),
			Errors: kept(s.RxErrors) + kept(s.TxErrors), Dropped: kept(s.RxDropped) + kept(s.TxDropped),
		})
	}
	return out, nil
}

// kept is a counter, 0 if the switch does not keep it.
func kept(n uint64) uint64 {
	if n == math.MaxUint64 {
		return 0
	}
	return n
}

// known is a rate, 0 where it is unknown.
func known(rate float32) float64 {
	if r := float64(rate); !math.IsNaN(r) {
		return r
	}
	return 0
}

// PortHistories are the rates of a switch's ports in the last seconds, at most 900; of one port, or of all if port is 0. One
// that is away has a history as well.
func (e *Engine) PortHistories(d flows.DPID, port uint32, seconds int) ([]apps.PortHistory, error) {
	if _, err := e.Switch(d); err != nil {
		return nil, err
	}
	out := []apps.PortHistory{}
	for _, p := range e.view.Load().Topo.Ports(d) {
		if port == 0 || port == p.No {
			out = append(out, historyOf(p, e.stats.History(d, p.No, e.cfg.Now(), seconds)))
		}
	}
	if port != 0 && len(out) == 0 {
		return nil, fmt.Errorf("port %d of switch %s: %w", port, d, apps.ErrNotFound)
	}
	return out, nil
}

func historyOf(p topo.Port, h controller.PortHistory) apps.PortHistory {
	n := len(h.Rates)
	out := apps.PortHistory{PortNo: p.No, Name: p.Name, End: h.End,
		RxBPS: make(apps.Series, n), TxBPS: make(apps.Series, n), RxPPS: make(apps.Series, n), TxPPS: make(apps.Series, n)}
	for i, r := range h.Rates {
		out.RxBPS[i], out.TxBPS[i], out.RxPPS[i], out.TxPPS[i] = r.RxBits, r.TxBits, r.RxPackets, r.TxPackets
	}
	return out
}

// connectedSwitch is a switch's session for reading, or an error that says it is away.
func (e *Engine) connectedSwitch(d flows.DPID) (*controller.Switch, error) {
	if sw, ok := e.ctl.Switch(d); ok {
		return sw, nil
	}
	if _, err := e.Switch(d); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("switch %s: %w", d, apps.ErrAway)
}
