package config

import (
	"fmt"
	"math"
	"time"

	"github.com/evenflow/evenflow/anova"
	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// Detector is how the loads of ports are compared.
type Detector struct {
	Mode     string       `json:"mode"`      // robust, paper, off
	Interval vip.Duration `json:"interval"`  // of a sample
	Window   int          `json:"window"`    // samples that are tested
	Step     int          `json:"step"`      // samples between two tests
	Alpha    float64      `json:"alpha"`     // level of the test
	Gate     float64      `json:"gate"`      // deviation from the fair share that matters, as a part of that
	GateMany float64      `json:"gate_many"` // the same from 8 ports on
	Streak   int          `json:"streak"`    // tests in a row for an alarm
	Release  int          `json:"release"`   // calm tests in a row that end it
	CoolDown int          `json:"cool_down"` // samples after that before the next
	MinRate  uint64       `json:"min_rate"`  // bits per second of all ports together, below which nothing is judged
	Sets     []PortSet    `json:"sets"`      // of ports to compare, beside those of backends
}

// PortSet is ports to compare with each other.
type PortSet struct {
	Name  string        `json:"name"`
	Ports []WatchedPort `json:"ports"`
}

// WatchedPort is a port of a set. Capacities are in any unit; 0 is 1.
type WatchedPort struct {
	DPID     flows.DPID `json:"dpid"`
	PortNo   uint32     `json:"port_no"`
	Capacity float64    `json:"capacity"`
}

const (
	detectorOff = "off"
	minInterval = 100 * time.Millisecond
	maxInterval = time.Minute
	maxSets     = 1000
	maxSetPorts = 1000
	defaultRate = 100_000
)

func defaultDetector() Detector {
	s := anova.Defaults()
	return Detector{Mode: string(s.Mode), Interval: vip.Duration(time.Second), Window: s.Window, Step: s.Step, Alpha: s.Alpha, Gate: s.Gate,
		GateMany: s.GateMany, Streak: s.Streak, Release: s.Release, CoolDown: s.CoolDown, MinRate: defaultRate}
}

// Watching are the settings as the engine takes them.
func (t Detector) Watching() apps.Watching {
	w := apps.Watching{Off: t.Mode == detectorOff, Interval: time.Duration(t.Interval), Test: t.settings()}
	for _, s := range t.Sets {
		set := apps.PortSet{Name: s.Name}
		for _, p := range s.Ports {
			c := p.Capacity
			if c == 0 {
				c = 1
			}
			set.Ports = append(set.Ports, apps.WatchedPort{PortID: topo.PortID{DPID: p.DPID, No: p.PortNo}, Capacity: c})
		}
		w.Sets = append(w.Sets, set)
	}
	return w
}

func (t Detector) settings() anova.Settings {
	mode := anova.Mode(t.Mode)
	if t.Mode == detectorOff {
		mode = anova.Robust
	}
	return anova.Settings{Mode: mode, Window: t.Window, Step: t.Step, Alpha: t.Alpha, Gate: t.Gate, GateMany: t.GateMany, Streak: t.Streak,
		Release: t.Release, CoolDown: t.CoolDown, MinLoad: float64(t.MinRate)}
}

func (d *document) checkDetector(t *Detector) {
	d.oneOf("detector.mode", t.Mode, []string{string(anova.Robust), string(anova.Paper), detectorOff})
	if i := time.Duration(t.Interval); i < minInterval || i > maxInterval {
		d.fail("detector.interval", "%s: want %s to %s", t.Interval, minInterval, maxInterval)
	}
	for _, e := range t.settings().Check() {
		if e.Field != "mode" { // told above, with off
			d.fail("detector."+e.Field, "%v: want %s", e.Value, e.Want)
		}
	}
	if len(t.Sets) > maxSets {
		d.fail("detector.sets", "%d: want at most %d", len(t.Sets), maxSets)
		return
	}
	names := map[string]int{}
	for i, s := range t.Sets {
		at := fmt.Sprintf("detector.sets[%d].", i)
		if !vip.ValidName(s.Name) {
			d.fail(at+"name", "%q: want 1 to 63 of a-z, 0-9, '.', '_' and '-', the first a letter or digit", s.Name)
		} else if j, twice := names[s.Name]; twice {
			d.fail(at+"name", "%q is also the name of detector.sets[%d]", s.Name, j)
		}
		names[s.Name] = i
		d.checkSet(at, s)
	}
}

func (d *document) checkSet(at string, s PortSet) {
	if n := len(s.Ports); n < 2 || n > maxSetPorts {
		d.fail(at+"ports", "%d: want 2 to %d ports to compare", n, maxSetPorts)
	}
	seen := map[topo.PortID]int{}
	for j, p := range s.Ports {
		in := fmt.Sprintf("%sports[%d].", at, j)
		if _, ok := d.lines[in+"dpid"]; !ok {
			d.fail(in+"dpid", "is needed: 16 hex digits")
		}
		d.portNo(in+"port_no", p.PortNo)
		if !(p.Capacity >= 0) || math.IsInf(p.Capacity, 0) {
			d.fail(in+"capacity", "%v: want more than 0", p.Capacity)
		}
		id := topo.PortID{DPID: p.DPID, No: p.PortNo}
		if k, twice := seen[id]; twice {
			d.fail(in+"port_no", "%sports[%d] is the same port", at, k)
		}
		seen[id] = j
	}
}
