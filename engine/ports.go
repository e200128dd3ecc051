package engine

import (
	"fmt"
	"sync"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
	"github.com/evenflow/evenflow/topo"
)

// portRates keeps each port's last counters and its rates over the last interval.
type portRates struct {
	mu    sync.Mutex
	ports map[topo.PortID]portSample
}

// portSample is a port's counters at a time, and its rates in bits per second since the sample before.
type portSample struct {
	at           time.Time
	stats        openflow.PortStats
	rxBPS, txBPS float64
}

func newPortRates() *portRates { return &portRates{ports: map[topo.PortID]portSample{}} }

// note adds a sample. A counter that falls has been reset: there is no rate for that interval.
func (p *portRates) note(d flows.DPID, now time.Time, all []openflow.PortStats) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range all {
		id := topo.PortID{DPID: d, No: s.No}
		next := portSample{at: now, stats: s}
		if prev, ok := p.ports[id]; ok {
			if dt := now.Sub(prev.at).Seconds(); dt > 0 && s.RxBytes >= prev.stats.RxBytes && s.TxBytes >= prev.stats.TxBytes {
				next.rxBPS = 8 * float64(s.RxBytes-prev.stats.RxBytes) / dt
				next.txBPS = 8 * float64(s.TxBytes-prev.stats.TxBytes) / dt
			}
		}
		p.ports[id] = next
	}
}

// forget drops a switch's samples.
func (p *portRates) forget(d flows.DPID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.ports {
		if id.DPID == d {
			delete(p.ports, id)
		}
	}
}

// Ports are a switch's ports, by number.
func (e *Engine) Ports(d flows.DPID) ([]apps.PortStatus, error) {
	if _, err := e.Switch(d); err != nil {
		return nil, err
	}
	ports := e.view.Load().Topo.Ports(d)
	out := make([]apps.PortStatus, 0, len(ports))
	e.ports.mu.Lock()
	defer e.ports.mu.Unlock()
	for _, p := range ports {
		s := e.ports.ports[topo.PortID{DPID: d, No: p.No}]
		out = append(out, apps.PortStatus{
			PortNo: p.No, Name: p.Name, Kind: p.Kind.String(), Up: p.Up,
			RxBytes: s.stats.RxBytes, TxBytes: s.stats.TxBytes, RxBPS: s.rxBPS, TxBPS: s.txBPS,
			RxPackets: s.stats.RxPackets, TxPackets: s.stats.TxPackets, Errors: s.stats.RxErrors + s.stats.TxErrors,
		})
	}
	return out, nil
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
