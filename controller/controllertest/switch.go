package controllertest

import (
	"context"
	"net"
	"slices"
	"sync"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// Switch is a switch in memory. Its methods are safe from any goroutine.
type Switch struct {
	dpid     flows.DPID
	versions []openflow.Version
	desc     openflow.Desc
	plain    bool // no Nicira extensions
	bundles  bool
	vague    bool // a failed commit does not say which message failed
	piece    int  // bytes of a piece of a multipart reply
	aux      uint8
	traffic  func(port uint32) openflow.PortStats

	mu        sync.Mutex
	changed   chan struct{} // closed and replaced at everything that happens
	tables    tables
	ports     []openflow.Port
	conns     []*connection
	received  []Message
	intercept func(Message) Verdict
	mute      bool
	frozen    chan struct{} // closed when not frozen
}

// Option changes how a switch is made.
type Option func(*Switch)

// Versions sets the OpenFlow versions spoken; default 1.3 and 1.5.
func Versions(v ...openflow.Version) Option { return func(s *Switch) { s.versions = v } }

// Ports gives the switch ports of these numbers, all up.
func Ports(numbers ...uint32) Option {
	return func(s *Switch) {
		for _, n := range numbers {
			s.ports = append(s.ports, Port(n))
		}
	}
}

// Desc sets what the switch says about itself.
func Desc(d openflow.Desc) Option { return func(s *Switch) { s.desc = d } }

// Plain makes a switch without Nicira's extensions: it refuses experimenter messages, actions and match fields.
func Plain() Option { return func(s *Switch) { s.plain = true } }

// NoBundles makes a switch that refuses bundles.
func NoBundles() Option { return func(s *Switch) { s.bundles = false } }

// VagueCommits makes a switch that does not say which message made a bundle's commit fail.
func VagueCommits() Option { return func(s *Switch) { s.vague = true } }

// Auxiliary makes connections say that they are an auxiliary one.
func Auxiliary(id uint8) Option { return func(s *Switch) { s.aux = id } }

// Traffic lets f say what a port has counted whenever a controller asks. f must not call the switch.
func Traffic(f func(port uint32) openflow.PortStats) Option { return func(s *Switch) { s.traffic = f } }

// NewSwitch returns a switch without connections and with empty tables.
func NewSwitch(dpid flows.DPID, opts ...Option) *Switch {
	s := &Switch{
		dpid: dpid, versions: []openflow.Version{openflow.V13, openflow.V15}, bundles: true, piece: 2000,
		desc:    openflow.Desc{Manufacturer: "Evenflow", Hardware: "controllertest", Software: "0", Datapath: dpid.String()},
		changed: make(chan struct{}), tables: newTables(), frozen: make(chan struct{}),
	}
	close(s.frozen)
	for _, o := range opts {
		o(s)
	}
	return s
}

// Port is a port of that number that is up.
func Port(no uint32) openflow.Port {
	return openflow.Port{No: no, MAC: flows.MAC{2, 0, 0, 0, byte(no >> 8), byte(no)}, Name: "eth" + decimal(no),
		State: openflow.PortLive, SpeedKbps: 1e7}
}

// DPID is the datapath id.
func (s *Switch) DPID() flows.DPID { return s.dpid }

// Connect returns the controller's end of a new connection over net.Pipe, which works in a testing/synctest bubble.
func (s *Switch) Connect() net.Conn {
	ours, theirs := net.Pipe()
	s.serve(ours)
	return theirs
}

// Dial connects to a controller's socket.
func (s *Switch) Dial(ctx context.Context, network, address string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err == nil {
		s.serve(conn)
	}
	return err
}

// Use takes a connection to a controller that somebody else has made, such as one with TLS.
func (s *Switch) Use(conn net.Conn) { s.serve(conn) }

// Disconnect closes all connections. The state stays.
func (s *Switch) Disconnect() {
	s.mu.Lock()
	conns := slices.Clone(s.conns)
	s.mu.Unlock()
	for _, c := range conns {
		_ = c.conn.Close()
		<-c.gone
	}
}

// Restart closes all connections and forgets rules, groups and meters.
func (s *Switch) Restart() {
	s.Disconnect()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tables = newTables()
	s.happened()
}

// Connected is the number of connections.
func (s *Switch) Connected() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// State is what the switch holds.
func (s *Switch) State() flows.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tables.state()
}

// Dump is the state as text, sorted: what flows.ParseState reads.
func (s *Switch) Dump() string { return s.State().String() }

// Put puts rules, groups and meters into the switch, as somebody does behind the controller's back. It replaces what has the
// same identity. It panics on wrong text.
func (s *Switch) Put(text string) {
	st, err := flows.ParseState(text)
	if err != nil {
		panic(err)
	}
	s.PutState(st)
}

// PutState is Put for what is no text.
func (s *Switch) PutState(st flows.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tables.put(st)
	s.happened()
}

// Remove takes rules, groups and meters out of the switch without a word. Only their identities count.
func (s *Switch) Remove(text string) {
	st, err := flows.ParseState(text)
	if err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tables.remove(st)
	s.happened()
}

// Await waits until ok, which is asked again whenever something has happened in the switch, is true or ctx ends.
func (s *Switch) Await(ctx context.Context, ok func() bool) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if ok() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// happened wakes Await; s.mu is held.
func (s *Switch) happened() {
	close(s.changed)
	s.changed = make(chan struct{})
}
