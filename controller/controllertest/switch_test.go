package controllertest

import (
	"net"
	"strings"
	"testing"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
	"github.com/google/go-cmp/cmp"
)

// peer is the controller's end of a connection, with the hellos exchanged.
type peer struct {
	t    *testing.T
	v    openflow.Version
	conn net.Conn
	in   *openflow.Reader
}

func dial(t *testing.T, s *Switch, v openflow.Version) *peer {
	t.Helper()
	conn := s.Connect()
	t.Cleanup(func() { _ = conn.Close() })
	p := &peer{t: t, v: v, conn: conn, in: openflow.NewReader(conn)}
	if got := p.next(); got != "HELLO" {
		t.Fatalf("greeted by %s", got)
	}
	p.send(openflow.AppendHello(nil, 1, v))
	return p
}

func (p *peer) send(b []byte) {
	p.t.Helper()
	if _, err := p.conn.Write(b); err != nil {
		p.t.Fatal(err)
	}
}

// next is the next message: an error by its name, else its type.
func (p *peer) next() string {
	p.t.Helper()
	msg, err := p.in.Next()
	if err != nil {
		p.t.Fatal(err)
	}
	if e, err := openflow.ParseError(msg); err == nil {
		return e.Name()
	}
	return openflow.Type(msg[1]).String()
}

// do sends one modification and a barrier, and returns what comes before the barrier's reply.
func (p *peer) do(command, what string) string {
	p.t.Helper()
	st, err := flows.ParseState(what)
	if err != nil {
		p.t.Fatal(err)
	}
	var b []byte
	switch {
	case len(st.Rules) > 0:
		cmd := map[string]openflow.FlowCommand{"add": openflow.FlowAdd, "modify": openflow.FlowModify, "delete": openflow.FlowDelete,
			"delete strict": openflow.FlowDeleteStrict}[command]
		b, err = openflow.AppendFlowMod(nil, p.v, 7, cmd, &st.Rules[0])
	case len(st.Groups) > 0:
		cmd := map[string]openflow.GroupCommand{"add": openflow.GroupAdd, "modify": openflow.GroupModify, "delete": openflow.GroupDelete}[command]
		b, err = openflow.AppendGroupMod(nil, p.v, 7, cmd, &st.Groups[0])
	default:
		cmd := map[string]openflow.MeterCommand{"add": openflow.MeterAdd, "modify": openflow.MeterModify, "delete": openflow.MeterDelete}[command]
		b, err = openflow.AppendMeterMod(nil, p.v, 7, cmd, st.Meters[0])
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.send(openflow.AppendBarrier(b, p.v, 8))
	var got []string
	for s := p.next(); s != "BARRIER_REPLY"; s = p.next() {
		got = append(got, s)
	}
	return strings.Join(got, " ")
}

func TestModifications(t *testing.T) {
	const (
		rule  = "cookie=0x1, send_flow_rem priority=5,ip,nw_dst=10.0.0.0/24 actions=output:1"
		host  = "priority=6,ip,nw_dst=10.0.0.1 actions=output:1"
		meter = "meter=1 pktps bands=type=drop rate=5"
		group = "group_id=1,type=indirect,bucket=bucket_id:0,actions=output:1"
	)
	for _, c := range []struct {
		name, has, command, what, answer, leaves string
	}{
		{"add a rule", "", "add", rule, "", rule},
		{"add over a rule", rule, "add", "priority=5,ip,nw_dst=10.0.0.0/24 actions=drop", "", "priority=5,ip,nw_dst=10.0.0.0/24 actions=drop"},
		{"modify rules", rule + "\n" + host, "modify", "ip,nw_dst=10.0.0.0/24 actions=output:3", "",
			"cookie=0x1, send_flow_rem priority=5,ip,nw_dst=10.0.0.0/24 actions=output:3\npriority=6,ip,nw_dst=10.0.0.1 actions=output:3"},
		{"delete narrower rules", rule + "\n" + host, "delete", "ip,nw_dst=10.0.0.0/25 actions=drop", "", rule},
		{"delete rules, and tell", rule + "\n" + host, "delete", "ip actions=drop", "FLOW_REMOVED", ""},
		{"delete one rule", rule + "\n" + host, "delete strict", "priority=6,ip,nw_dst=10.0.0.1 actions=drop", "", rule},
		{"delete no rule", rule, "delete strict", "priority=7,ip,nw_dst=10.0.0.0/24 actions=drop", "", rule},
		{"no such group", "", "add", "ip actions=group:1", "OFPBAC_BAD_OUT_GROUP", ""},
		{"no such meter", "", "add", "ip actions=meter:1,output:1", "OFPMMFC_UNKNOWN_METER", ""},
		{"add a group", "", "add", group, "", group},
		{"add a group twice", group, "add", group, "OFPGMFC_GROUP_EXISTS", group},
		{"modify no group", "", "modify", group, "OFPGMFC_UNKNOWN_GROUP", ""},
		{"delete a group and its rules", group + "\nip actions=group:1\n" + host, "delete", group, "", host},
		{"add a meter twice", meter, "add", meter, "OFPMMFC_METER_EXISTS", meter},
		{"modify a meter", meter, "modify", "meter=1 pktps bands=type=drop rate=6", "", "meter=1 pktps bands=type=drop rate=6"},
		{"modify no meter", "", "modify", meter, "OFPMMFC_UNKNOWN_METER", ""},
		{"delete a meter and its rules", meter + "\nip actions=meter:1,output:1\n" + host, "delete", meter, "", host},
	} {
		for _, v := range []openflow.Version{openflow.V13, openflow.V15} {
			t.Run(c.name+"/"+v.String(), func(t *testing.T) {
				s := NewSwitch(1)
				s.Put(c.has)
				if got := dial(t, s, v).do(c.command, c.what); got != c.answer {
					t.Errorf("answered %q, want %q", got, c.answer)
				}
				want, err := flows.ParseState(c.leaves)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want.String(), s.Dump()); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// A bundle is all or nothing, and names what it stumbled over, or as Open vSwitch leaves out what it refused when it was added.
func TestBundle(t *testing.T) {
	rule := flows.MustParseRule("priority=5,ip actions=output:1")
	noGroup := flows.MustParseRule("priority=6,ip actions=group:1")
	encode := func(r flows.Rule) []byte {
		b, err := openflow.AppendFlowMod(nil, openflow.V15, 7, openflow.FlowAdd, &r)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	meter, _ := openflow.AppendMeterMod(nil, openflow.V15, 7, openflow.MeterAdd, flows.Meter{ID: 1, Rate: 5})
	for _, c := range []struct {
		name   string
		opts   []Option
		msgs   [][]byte
		answer string
		leaves string
	}{
		{"good", nil, [][]byte{encode(rule)}, "BUNDLE_CONTROL BUNDLE_CONTROL BUNDLE_CONTROL", rule.String() + "\n"},
		{"one is wrong", nil, [][]byte{encode(rule), encode(noGroup)}, "BUNDLE_CONTROL BUNDLE_CONTROL OFPBAC_BAD_OUT_GROUP OFPBFC_MSG_FAILED", ""},
		{"one is wrong, which is not said", []Option{VagueCommits()}, [][]byte{encode(rule), encode(noGroup)},
			"BUNDLE_CONTROL BUNDLE_CONTROL OFPBFC_MSG_FAILED", ""},
		{"a meter", nil, [][]byte{meter, encode(rule)}, "BUNDLE_CONTROL OFPBFC_MSG_UNSUP BUNDLE_CONTROL BUNDLE_CONTROL", rule.String() + "\n"},
		{"no bundles", []Option{NoBundles()}, nil, "OFPBRC_BAD_TYPE OFPBRC_BAD_TYPE OFPBRC_BAD_TYPE", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewSwitch(1, c.opts...)
			p := dial(t, s, openflow.V15)
			b := openflow.AppendBundleControl(nil, p.v, 1, 9, openflow.BundleOpen, 3)
			for _, m := range c.msgs {
				var err error
				if b, err = openflow.AppendBundleAdd(b, p.v, 7, 9, 3, m); err != nil {
					t.Fatal(err)
				}
			}
			b = openflow.AppendBundleControl(b, p.v, 2, 9, openflow.BundleClose, 3)
			b = openflow.AppendBundleControl(b, p.v, 3, 9, openflow.BundleCommit, 3)
			p.send(openflow.AppendBarrier(b, p.v, 4))
			var got []string
			for a := p.next(); a != "BARRIER_REPLY"; a = p.next() {
				got = append(got, a)
			}
			if diff := cmp.Diff(c.answer, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.leaves, s.Dump()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What a plain switch refuses, and a message of a type that no switch takes.
func TestRefusals(t *testing.T) {
	p := dial(t, NewSwitch(1, Plain()), openflow.V15)
	for what, answer := range map[string]string{
		"ip actions=resubmit(,1)":                "OFPBAC_BAD_EXPERIMENTER",
		"ip actions=set_field:1->reg0":           "OFPBAC_BAD_EXPERIMENTER",
		"reg1=5 actions=drop":                    "OFPBMC_BAD_FIELD",
		"metadata=5 actions=goto_table:2":        "",
		"tcp,tp_dst=80 actions=output:1":         "",
		"ip actions=set_field:5->metadata":       "",
		"ip actions=fin_timeout(idle_timeout=1)": "OFPBAC_BAD_EXPERIMENTER",
	} {
		if got := p.do("add", what); got != answer {
			t.Errorf("%s: answered %q, want %q", what, got, answer)
		}
	}
	b, err := openflow.AppendFlowMod(nil, p.v, 5, openflow.FlowAdd, &flows.Rule{Match: flows.Match(nil).Num(flows.TCPDst, 80)})
	if err != nil {
		t.Fatal(err)
	}
	p.send(b)
	if got := p.next(); got != "OFPBMC_BAD_PREREQ" {
		t.Errorf("tcp_dst without tcp: answered %q", got)
	}
	p.send(openflow.AppendNiciraProbe(nil, p.v, 5))
	if got := p.next(); got != "OFPBRC_BAD_EXPERIMENTER" {
		t.Error(got)
	}
	p.send(openflow.AppendFeaturesReply(nil, p.v, 5, openflow.Features{}))
	if got := p.next(); got != "OFPBRC_BAD_TYPE" {
		t.Error(got)
	}
	p.send(openflow.AppendBarrier(nil, openflow.V13, 5))
	if got := p.next(); got != "OFPBRC_BAD_VERSION" {
		t.Error(got)
	}
}

func TestDisconnectWaits(t *testing.T) {
	s := NewSwitch(1)
	s.Put("ip actions=drop")
	for range 20 {
		dial(t, s, openflow.V15)
		s.Disconnect()
		if n := s.Connected(); n != 0 {
			t.Fatalf("%d connections", n)
		}
	}
	s.Restart()
	if s.Dump() != "" {
		t.Error(s.Dump())
	}
}
