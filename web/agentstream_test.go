package web

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/agent/wire"
	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

// patience is when something that is awaited is given up.
const patience = time.Minute

// peer is an agent, or what calls itself one.
type peer struct {
	t    *testing.T
	body *io.PipeWriter
	out  *wire.Writer
	res  chan *http.Response
	in   *wire.Reader
}

// dial begins a request. A header without a value is not sent.
func dial(t *testing.T, url, host string, version int, header ...string) *peer {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols), DisableCompression: true}
	transport.Protocols.SetHTTP1(version == 1)
	transport.Protocols.SetUnencryptedHTTP2(version == 2)
	body, pipe := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", url+"/api/v1/agents/"+host+"/states", body)
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, body: pipe, out: wire.NewWriter(pipe, nil), res: make(chan *http.Response, 1)}
	t.Cleanup(func() { cancel(); pipe.Close(); transport.CloseIdleConnections() })
	for _, h := range [][]string{{"Content-Type", wire.Type, "Content-Encoding", "gzip"}, header} {
		for i := 0; i+1 < len(h); i += 2 {
			req.Header.Set(h[i], h[i+1])
		}
	}
	go func() {
		res, err := transport.RoundTrip(req)
		if err != nil {
			t.Logf("request: %v", err)
			pipe.CloseWithError(err)
			close(p.res)
			return
		}
		p.res <- res
	}()
	return p
}

func (p *peer) say(v any) {
	p.t.Helper()
	if err := p.out.Write(v); err != nil {
		p.t.Fatal(err)
	}
}

// answer waits until the server answers, and returns its status; of a refusal the text as well.
func (p *peer) answer() (int, string) {
	p.t.Helper()
	res, ok := <-p.res
	if !ok {
		p.t.Error("no answer")
		return 0, ""
	}
	p.t.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(text)
	}
	p.in = wire.NewReader(res.Body)
	return res.StatusCode, res.Proto
}

// greet begins a conversation.
func (p *peer) greet(eng *fakeEngine) *fakeSession {
	p.t.Helper()
	p.say(wire.FromAgent{Hello: &wire.Hello{Run: "r", First: 3, Last: 4}})
	if status, text := p.answer(); status != http.StatusOK {
		p.t.Fatalf("status %d: %s", status, text)
	}
	return <-eng.sessions
}

func (p *peer) hear(want wire.FromController) {
	p.t.Helper()
	var got wire.FromController
	if err := p.in.Next(&got); err != nil {
		p.t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		p.t.Errorf("-want +got\n%s", diff)
	}
}

// ends reads to the end, and returns the reason that the last line gives, if it is one.
func (p *peer) ends() (reason string) {
	p.t.Helper()
	for {
		var line wire.FromController
		if err := p.in.Next(&line); err != nil {
			if !errors.Is(err, io.EOF) && reason != "" {
				p.t.Errorf("after the reason: %v", err)
			}
			return reason
		}
		if line.Error != nil {
			reason = line.Error.Reason
		}
	}
}

func tcpState(client, local string) wire.State {
	return wire.State{Protocol: "tcp", Client: netip.MustParseAddrPort(client), Local: netip.MustParseAddrPort(local)}
}

// Both sides speak when they like, over HTTP/2, and over HTTP/1.1 as well.
func TestAgentConversation(t *testing.T) {
	for version, proto := range map[int]string{1: "HTTP/1.1", 2: "HTTP/2.0"} {
		t.Run(proto, func(t *testing.T) {
			c := newClient(t, Config{})
			p := dial(t, serve(t, c.server), "10.0.0.1", version)
			p.say(wire.FromAgent{Hello: &wire.Hello{Run: "r", First: 3, Last: 4}})
			if status, got := p.answer(); status != http.StatusOK || got != proto {
				t.Fatalf("status %d, %s", status, got)
			}
			s := <-c.eng.sessions
			if want := (apps.AgentHello{Host: netip.MustParseAddr("10.0.0.1"), Run: "r", First: 3, Last: 4}); s.hello != want {
				t.Errorf("hello %+v", s.hello)
			}
			s.orders <- apps.AgentOrder{Resume: true, Seq: 3, Now: 50}
			p.hear(wire.FromController{Resume: &wire.Ack{Seq: 3, Now: 50}})
			s.orders <- apps.AgentOrder{Dump: 7, Now: 60, Ports: map[uint8][]vip.Ports{apps.ProtoTCP: {{First: 80, Last: 80}, {First: 8000, Last: 8010}}}}
			p.hear(wire.FromController{Dump: &wire.Request{ID: 7, Now: 60, Ports: map[string][]string{"tcp": {"80", "8000-8010"}, "udp": {}}}})
			said := func(want string) {
				t.Helper()
				if got := fmt.Sprint(<-s.said); got != want {
					t.Errorf("said %s, want %s", got, want)
				}
			}
			one := tcpState("10.0.0.9:40000", "10.0.0.1:80")
			p.say(wire.FromAgent{Dump: &wire.Dump{ID: 7, States: []wire.State{one}}})
			said("part of 7 [{6 10.0.0.9:40000 10.0.0.1:80}]")
			p.say(wire.FromAgent{Dump: &wire.Dump{ID: 7, End: &wire.End{Seq: 4, States: 1, Complete: []string{"udp"}}}})
			said("part of 7 []")
			said("end of 7 at 4 of 1 {false true}")
			udp := one
			udp.Protocol = "udp"
			p.say(wire.FromAgent{Change: &wire.Change{Seq: 5, After: 60, Opened: []wire.State{udp}, Closed: []wire.State{one}, Complete: []string{"tcp"}}})
			said("{5 60 [{17 10.0.0.9:40000 10.0.0.1:80}] [{6 10.0.0.9:40000 10.0.0.1:80}] {true false}}")
			s.orders <- apps.AgentOrder{Seq: 5, Now: 70}
			p.hear(wire.FromController{Ack: &wire.Ack{Seq: 5, Now: 70}})
			if err := errors.Join(p.out.Close(), p.body.Close()); err != nil {
				t.Fatal(err)
			}
			if reason := p.ends(); reason != "" {
				t.Errorf("it ended for %s", reason)
			}
			if err := <-s.closed; err != nil {
				t.Errorf("the session was closed by %v", err)
			}
		})
	}
}

// Who says what no agent says is told why, and nothing of it is taken.
func TestAgentFaults(t *testing.T) {
	c := newClient(t, Config{})
	c.server.agents = agentLimits{silence: 200 * time.Millisecond, write: 200 * time.Millisecond}
	url := serve(t, c.server)
	one := tcpState("10.0.0.9:40000", "10.0.0.1:80")
	for _, tc := range []struct {
		name, reason string
		do           func(p *peer, s *fakeSession)
	}{
		{"bad gzip", wire.BadGzip, func(p *peer, _ *fakeSession) {
			_, _ = p.body.Write(append([]byte{7}, strings.Repeat("no gzip", 100)...)) // a block of a type that there is not
		}},
		{"no JSON", wire.BadJSON, func(p *peer, _ *fakeSession) { p.say("states") }},
		{"an empty line", wire.BadJSON, func(p *peer, _ *fakeSession) { p.say(wire.FromAgent{}) }},
		{"an empty part", wire.BadJSON, func(p *peer, _ *fakeSession) { p.say(wire.FromAgent{Dump: &wire.Dump{ID: 1}}) }},
		{"another hello", wire.BadJSON, func(p *peer, _ *fakeSession) { p.say(wire.FromAgent{Hello: &wire.Hello{Run: "r"}}) }},
		{"a protocol", wire.BadJSON, func(p *peer, _ *fakeSession) {
			p.say(wire.FromAgent{Change: &wire.Change{Seq: 1, Closed: []wire.State{{Protocol: "sctp", Client: one.Client, Local: one.Local}}}})
		}},
		{"no address", wire.BadJSON, func(p *peer, _ *fakeSession) {
			p.say(wire.FromAgent{Change: &wire.Change{Seq: 1, Opened: []wire.State{{Protocol: "tcp", Local: one.Local}}}})
		}},
		{"a huge line", wire.BadLine, func(p *peer, _ *fakeSession) {
			_ = p.out.Write(wire.FromAgent{Hello: &wire.Hello{Run: strings.Repeat("r", wire.MaxLine)}})
		}},
		{"what the engine does not take", "port", func(p *peer, _ *fakeSession) {
			p.say(wire.FromAgent{Change: &wire.Change{Seq: 1, Opened: []wire.State{tcpState("10.0.0.9:1", "10.0.0.1:22")}}})
		}},
		{"the engine ends it", "late", func(_ *peer, s *fakeSession) {
			s.err = &apps.AgentError{Reason: "late"}
			close(s.over)
		}},
		{"nothing", refusedSilent, func(*peer, *fakeSession) {}},
	} {
		for version := 1; version <= 2; version++ {
			p := dial(t, url, "10.0.0.1", version)
			s := p.greet(c.eng)
			tc.do(p, s)
			if got := p.ends(); got != tc.reason {
				t.Errorf("%s, HTTP/%d: told %q, want %q", tc.name, version, got, tc.reason)
			}
			var fault *apps.AgentError
			if err := <-s.closed; !errors.As(err, &fault) || fault.Reason != tc.reason {
				t.Errorf("%s, HTTP/%d: closed by %v", tc.name, version, err)
			}
			if len(s.said) != 0 {
				t.Errorf("%s: %v was taken", tc.name, <-s.said)
			}
		}
	}
}

// A request that is cut off in the midst of a line ends the conversation, as that of an agent that has gone.
func TestAgentCutOff(t *testing.T) {
	c := newClient(t, Config{})
	url := serve(t, c.server)
	for version := 1; version <= 2; version++ {
		p := dial(t, url, "10.0.0.1", version)
		s := p.greet(c.eng)
		_, err := p.body.Write([]byte{0x00, 0x01, 0x00, 0xfe, 0xff}) // a stored block of which nothing follows
		if err != nil {
			t.Fatal(err)
		}
		p.body.Close()
		if err := <-s.closed; err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("HTTP/%d: closed by %v", version, err)
		}
		p.ends()
	}
}

// One that does not read what it is told is let go.
func TestAgentReadsSlowly(t *testing.T) {
	c := newClient(t, Config{})
	c.server.agents = agentLimits{silence: patience, write: 200 * time.Millisecond}
	p := dial(t, serve(t, c.server), "10.0.0.1", 2)
	s := p.greet(c.eng)
	ports := map[uint8][]vip.Ports{}
	for range 1 << 13 {
		var b [2]byte
		_, _ = rand.Read(b[:]) // so that it cannot be compressed by much
		n := binary.BigEndian.Uint16(b[:])
		ports[apps.ProtoTCP] = append(ports[apps.ProtoTCP], vip.Ports{First: n, Last: n})
	}
	for {
		select {
		case s.orders <- apps.AgentOrder{Dump: 1, Ports: ports}:
			continue
		case err := <-s.closed:
			var fault *apps.AgentError
			if !errors.As(err, &fault) || fault.Reason != refusedSlow {
				t.Errorf("closed by %v", err)
			}
		}
		return
	}
}

// A flood is read no faster than it is taken; the rest waits at the peer.
func TestAgentFlood(t *testing.T) {
	c := newClient(t, Config{})
	url := serve(t, c.server)
	p := dial(t, url, "10.0.0.1", 2)
	s := p.greet(c.eng)
	var sent atomic.Int64 // bytes of states, before they are compressed to a third or so
	go func() {
		states := make([]wire.State, wire.MaxStates)
		for seq := uint64(1); ; seq++ {
			for i := range states {
				var b [6]byte
				_, _ = rand.Read(b[:])
				states[i] = tcpState("10.0.0.9:1", "10.0.0.1:80")
				states[i].Client = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[:])), 1+uint16(b[4]))
			}
			if p.out.Write(wire.FromAgent{Change: &wire.Change{Seq: seq, Opened: states}}) != nil {
				return
			}
			sent.Add(100 * wire.MaxStates)
		}
	}()
	const bound = 64 << 20
	for quiet, last := 0, int64(0); quiet < 20 && last < bound; quiet++ {
		time.Sleep(10 * time.Millisecond)
		if now := sent.Load(); now != last {
			quiet, last = 0, now
		}
	}
	if n := sent.Load(); n >= bound {
		t.Errorf("%d bytes were taken from a peer to which nobody listens", n)
	}
	for seq := uint64(1); seq <= 3; seq++ { // and in order when they are taken
		if got := (<-s.said).(apps.LiveChange); got.Seq != seq || len(got.Opened) != wire.MaxStates {
			t.Errorf("change %d of %d states, want %d", got.Seq, len(got.Opened), seq)
		}
	}
	if r, err := http.Get(url + "/healthz"); err != nil || r.StatusCode != http.StatusOK {
		t.Errorf("meanwhile: %v, %v", r, err)
	}
}

// What is no conversation is answered like any request.
func TestAgentTurnedAway(t *testing.T) {
	c := newClient(t, Config{})
	url := serve(t, c.server)
	hello := func(run string) func(p *peer) {
		return func(p *peer) { p.say(wire.FromAgent{Hello: &wire.Hello{Run: run}}) }
	}
	for _, tc := range []struct {
		name, host string
		header     []string
		do         func(p *peer)
		status     int
		text       string
		refusals   []string
	}{
		{"unknown host", "10.0.0.2", nil, hello("r"), 404, "not found", []string{"10.0.0.2 host"}},
		{"no address", "web", nil, nil, 422, "path.host", nil},
		{"not compressed", "10.0.0.1", []string{"Content-Encoding", "identity"}, nil, 415, "gzip", nil},
		{"another type", "10.0.0.1", []string{"Content-Type", "text/plain"}, func(p *peer) { p.body.Close() }, 415, "text/plain", nil},
		{"no gzip", "10.0.0.1", nil, func(p *peer) { _, _ = p.body.Write([]byte("hello, controller")) }, 400, "gzip", []string{"10.0.0.1 gzip"}},
		{"no hello", "10.0.0.1", nil, func(p *peer) { p.say(wire.FromAgent{Change: &wire.Change{}}) }, 400, "hello", []string{"10.0.0.1 json"}},
		{"no run", "10.0.0.1", nil, hello(""), 400, "hello", []string{"10.0.0.1 json"}},
		{"a long run", "10.0.0.1", nil, hello(strings.Repeat("r", maxRun+1)), 400, "hello", []string{"10.0.0.1 json"}},
		{"nothing", "10.0.0.1", nil, func(p *peer) { p.body.Close() }, 400, "ended", nil},
	} {
		for version := 1; version <= 2; version++ {
			p := dial(t, url, tc.host, version, tc.header...)
			if tc.do != nil {
				go tc.do(p)
			}
			if status, text := p.answer(); status != tc.status || !strings.Contains(text, tc.text) {
				t.Errorf("%s, HTTP/%d: status %d, want %d with %q: %s", tc.name, version, status, tc.status, tc.text, text)
			}
			c.eng.mu.Lock()
			if !slices.Equal(c.eng.refusals, tc.refusals) {
				t.Errorf("%s, HTTP/%d: refusals %q", tc.name, version, c.eng.refusals)
			}
			c.eng.refusals = nil
			c.eng.mu.Unlock()
		}
	}
}

// An agent's token is good for what its own host has, and for nothing else.
func TestAgentToken(t *testing.T) {
	c := newClient(t, Config{Token: "admin"})
	if got := c.do(200, "GET", "/api/v1/agents/10.0.0.1/token", "").at("token"); got != "of 10.0.0.1" {
		t.Errorf("the token is %v", got)
	}
	c.do(422, "GET", "/api/v1/agents/web/token", "")
	const states = `{"states": []}`
	for _, tc := range []struct {
		method, path, body, token string
		status                    int
	}{
		{"POST", "/agents/10.0.0.1/states", states, "of 10.0.0.1", 200},
		{"POST", "/agents/10.0.0.1/states", states, "admin", 200},
		{"POST", "/agents/10.0.0.1/states", states, "of 10.0.0.2", 401},
		{"POST", "/agents/10.0.0.2/states", states, "of 10.0.0.1", 401},
		{"POST", "/agents/10.0.0.1/states", states, "", 401},
		{"GET", "/agents/10.0.0.1/token", "", "of 10.0.0.1", 401},
		{"GET", "/agents", "", "of 10.0.0.1", 401},
		{"GET", "/vips", "", "of 10.0.0.1", 401},
		{"POST", "/vips", webVIP, "of 10.0.0.1", 401},
	} {
		c.do(tc.status, tc.method, "/api/v1"+tc.path, tc.body, "Authorization", "Bearer "+tc.token)
	}
	if want := []string{"10.0.0.1 token", "10.0.0.2 token", "10.0.0.1 token"}; !slices.Equal(c.eng.refusals, want) {
		t.Errorf("refusals %q", c.eng.refusals)
	}
}

// A server that stops says so to the agents.
func TestAgentAndShutdown(t *testing.T) {
	c := newClient(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.server.Run(ctx) }()
	<-c.server.Listening()
	p := dial(t, "http://"+c.server.Addr().String(), "10.0.0.1", 2)
	p.greet(c.eng)
	cancel()
	if got := p.ends(); got != "stopping" {
		t.Errorf("it ended for %q", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
