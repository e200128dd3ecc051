package web

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// liveInterval is the time between two looks at what has changed.
const liveInterval = time.Second

// LiveHello begins a stream of what is now.
type LiveHello struct {
	Version  string  `json:"version"`
	Interval float64 `json:"interval" doc:"Seconds between two ticks"`
	Event    uint64  `json:"event" doc:"Id of the newest event"`
}

// LiveTick comes once an interval, after what has changed: whoever misses some knows that what it shows is old.
type LiveTick struct {
	Time     time.Time `json:"time"`
	NotReady string    `json:"not_ready" doc:"Why the controller is not ready; empty: it is"`
}

// LiveSwitch is a switch, with the sum of its ports.
type LiveSwitch struct {
	apps.SwitchStatus
	Ports   int     `json:"ports"`
	PortsUp int     `json:"ports_up"`
	RxBPS   float64 `json:"rx_bps"`
	TxBPS   float64 `json:"tx_bps"`
}

// LiveVIP is a VIP in one row.
type LiveVIP struct {
	Name           string        `json:"name"`
	Address        string        `json:"address"`
	Protocol       vip.Protocol  `json:"protocol"`
	Port           vip.PortRange `json:"port"`
	Mode           vip.Mode      `json:"mode"`
	Origin         vip.Origin    `json:"origin"`
	Phase          vip.Phase     `json:"phase"`
	Reason         string        `json:"reason"`
	Backends       []vip.State   `json:"backends" doc:"State of each, in order"`
	Connections    *int64        `json:"connections" doc:"Live, null where it cannot be known"`
	NewConnections int64         `json:"new_connections" doc:"Ever made, also to backends that have left"`
}

// LiveLink is a cable with its load, in bits per second.
type LiveLink struct {
	A    topo.PortID `json:"a"`
	B    topo.PortID `json:"b"`
	AtoB float64     `json:"a_to_b_bps"`
	BtoA float64     `json:"b_to_a_bps"`
}

type liveInput struct {
	VIP      string `query:"vip" doc:"Follow this VIP with all its backends: messages vip, or gone"`
	DPID     string `query:"dpid" pattern:"^[0-9a-fA-F]{16}$" doc:"Follow the ports of this switch: messages ports"`
	Topology bool   `query:"topology" doc:"Follow links, with their load, and hosts: messages links and hosts"`
	Since    uint64 `query:"since" doc:"Begin with the events after this id"`
	Last     uint64 `query:"last" maximum:"10000" doc:"Begin with so many of the newest events"`
}

func (s *Server) registerLive(a api) {
	op := operation("GET", "live", "/live", "What is now, as server-sent events: all at first, then each second what has changed", readErrors)
	op.Description = "Messages, by name: hello (LiveHello) once; switches (LiveSwitch), vips (LiveVIP), and as asked ports (Port), " +
		"links (LiveLink), hosts (Host): each {\"items\": [what is new or has changed], \"gone\": [keys]}; vip (VIP); gone (the VIP asked for is " +
		"not there); event (Event, with its id) and lost ({\"lost\": 3}: events kept no more); tick (LiveTick) each second."
	schemas := a.OpenAPI().Components.Schemas
	for _, t := range []reflect.Type{reflect.TypeFor[LiveHello](), reflect.TypeFor[LiveTick](), reflect.TypeFor[LiveSwitch](),
		reflect.TypeFor[LiveVIP](), reflect.TypeFor[LiveLink]()} {
		schemas.Schema(t, true, "")
	}
	op.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
		"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}}}}
	huma.Register(a, op, s.live)
}

func (s *Server) live(_ context.Context, in *liveInput) (*eventsOutput, error) {
	l := &liveStream{s: s, vip: in.VIP, topology: in.Topology, since: in.Since, sent: map[string]map[string][]byte{}}
	if in.DPID != "" {
		d, err := flows.ParseDPID(in.DPID)
		if err != nil {
			return nil, invalid(&huma.ErrorDetail{Location: "query.dpid", Message: err.Error(), Value: in.DPID})
		}
		l.dpid, l.ports = d, true
	}
	if in.Since == 0 {
		l.since = s.eng.LastEvent()
		if in.Last > 0 {
			l.since = s.beforeLast(in.Last)
		}
	}
	done, err := s.openStream()
	if err != nil {
		return nil, err
	}
	return &eventsOutput{func(ctx huma.Context) {
		defer done()
		l.run(ctx)
	}}, nil
}

// liveStream is one client's stream. It remembers what it has sent, and sends what differs.
type liveStream struct {
	s        *Server
	vip      string
	dpid     flows.DPID
	ports    bool
	topology bool
	since    uint64 // the last event sent

	sent map[string]map[string][]byte // JSON by message and key
	text []byte
}

func (l *liveStream) run(ctx huma.Context) {
	out := newEventStream(ctx)
	tick := time.NewTicker(l.s.tick)
	defer tick.Stop()
	l.put("hello", LiveHello{l.s.cfg.Version, l.s.tick.Seconds(), l.s.eng.LastEvent()})
	for now := true; ; {
		changed := l.s.eng.EventsChanged()
		l.text, l.since = l.s.appendEvents(l.text, l.since, "event")
		if now {
			l.look()
		}
		if !out.send(l.text) {
			return
		}
		l.text = l.text[:0]
		select {
		case <-changed:
			now = false
		case <-tick.C:
			now = true
		case <-l.s.stopping.Done():
			return
		case <-ctx.Context().Done():
			return
		}
	}
}

// look adds what has changed.
func (l *liveStream) look() {
	all := l.s.switches()
	rows := make([]LiveSwitch, len(all))
	ports := make(map[topo.PortID]apps.PortStatus)
	for i, st := range all {
		rows[i] = l.switchRow(st, ports)
	}
	changes(l, "switches", rows, func(r *LiveSwitch) string { return r.DPID.String() })
	vips := l.s.eng.VIPs()
	short := make([]LiveVIP, len(vips))
	for i := range vips {
		short[i] = vipRow(&vips[i])
	}
	changes(l, "vips", short, func(r *LiveVIP) string { return r.Name })
	if l.vip != "" {
		l.one(vips)
	}
	if l.ports {
		var own []apps.PortStatus
		for id, p := range ports {
			if id.DPID == l.dpid {
				own = append(own, p)
			}
		}
		slices.SortFunc(own, func(a, b apps.PortStatus) int { return int(int64(a.PortNo) - int64(b.PortNo)) })
		changes(l, "ports", own, func(p *apps.PortStatus) string { return fmt.Sprint(p.PortNo) })
	}
	if l.topology {
		changes(l, "links", loads(l.s.eng.Links(), ports), func(k *LiveLink) string { return k.A.String() + " - " + k.B.String() })
		changes(l, "hosts", l.s.hosts(), func(h *apps.HostStatus) string { return h.MAC.String() })
	}
	t := LiveTick{Time: time.Now()}
	if err := l.s.eng.Ready(); err != nil {
		t.NotReady = err.Error()
	}
	l.put("tick", t)
}

// switchRow is a switch with the sum of its ports, which are put into ports.
func (l *liveStream) switchRow(st apps.SwitchStatus, ports map[topo.PortID]apps.PortStatus) LiveSwitch {
	row := LiveSwitch{SwitchStatus: st}
	all, err := l.s.eng.Ports(st.DPID)
	if err != nil {
		return row // it is not known any more
	}
	row.Ports = len(all)
	for _, p := range all {
		ports[topo.PortID{DPID: st.DPID, No: p.PortNo}] = p
		if p.Up {
			row.PortsUp++
		}
		row.RxBPS += p.RxBPS
		row.TxBPS += p.TxBPS
	}
	return row
}

func vipRow(r *vip.Read) LiveVIP {
	row := LiveVIP{Name: r.Name, Address: r.Address, Protocol: r.Protocol, Port: r.Port, Mode: r.Mode, Origin: r.Origin,
		Phase: r.Status.Phase, Reason: r.Status.Reason, NewConnections: r.Status.NewConnections, Backends: make([]vip.State, len(r.Status.Backends))}
	for i, b := range r.Status.Backends {
		row.Backends[i] = b.State
		if b.Connections != nil {
			if row.Connections == nil {
				row.Connections = new(int64)
			}
			*row.Connections += *b.Connections
		}
	}
	return row
}

// loads are the cables with the rates that their ends send at, or if one end does not tell, that the other receives at.
func loads(links []apps.LinkStatus, ports map[topo.PortID]apps.PortStatus) []LiveLink {
	out := make([]LiveLink, len(links))
	for i, k := range links {
		a, b := ports[k.A], ports[k.B]
		out[i] = LiveLink{A: k.A, B: k.B, AtoB: max(a.TxBPS, b.RxBPS), BtoA: max(b.TxBPS, a.RxBPS)}
	}
	return out
}

// one adds the VIP asked for.
func (l *liveStream) one(all []vip.Read) {
	i := slices.IndexFunc(all, func(r vip.Read) bool { return r.Name == l.vip })
	if i < 0 {
		changes(l, "gone", []string{l.vip}, func(s *string) string { return *s })
		delete(l.sent, "vip")
		return
	}
	delete(l.sent, "gone")
	if data := l.encode("vip", whole(all[i])); data != nil && l.differs("vip", "", data) {
		l.text = fmt.Appendf(l.text, "event: vip\ndata: %s\n\n", data)
	}
}

// changes adds a message with the items that are not as they were sent, and the keys of those that are gone. The first
// message of a name comes even if there is nothing.
func changes[T any](l *liveStream, name string, items []T, key func(*T) string) {
	old, again := l.sent[name]
	var fresh [][]byte
	there := make(map[string]bool, len(items))
	for i := range items {
		k := key(&items[i])
		there[k] = true
		if data := l.encode(name, items[i]); data != nil && l.differs(name, k, data) {
			fresh = append(fresh, data)
		}
	}
	gone := []string{}
	for k := range old {
		if !there[k] {
			gone = append(gone, k)
			delete(old, k)
		}
	}
	if again && len(fresh)+len(gone) == 0 {
		return
	}
	if !again && len(fresh) == 0 {
		l.sent[name] = map[string][]byte{}
	}
	slices.Sort(gone)
	l.text = append(l.text, "event: "+name+"\ndata: {\"items\":["...)
	for i, data := range fresh {
		if i > 0 {
			l.text = append(l.text, ',')
		}
		l.text = append(l.text, data...)
	}
	l.text = append(l.text, "],\"gone\":"...)
	l.text = append(append(l.text, l.encode(name, gone)...), "}\n\n"...)
}

// differs notes what is sent of a key, and reports whether it is not what was.
func (l *liveStream) differs(name, key string, data []byte) bool {
	if l.sent[name] == nil {
		l.sent[name] = map[string][]byte{}
	}
	if string(l.sent[name][key]) == string(data) {
		return false
	}
	l.sent[name][key] = data
	return true
}

func (l *liveStream) put(name string, v any) {
	l.text = fmt.Appendf(l.text, "event: %s\ndata: %s\n\n", name, l.encode(name, v))
}

// encode is a value as JSON, nil and logged if it has none.
func (l *liveStream) encode(name string, v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		l.s.log.WithError(err).WithField("message", name).Error("not sent")
		return nil
	}
	return data
}
