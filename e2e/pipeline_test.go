package e2e

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

const document = "../docs/pipeline.md"

// A part of the document that switches write stands between "<!-- NAME -->" and "<!-- end -->".
var written = regexp.MustCompile("(?s)<!-- ([a-z0-9 ]+) -->\n```text\n(.*?)```\n<!-- end -->")

// The dumps in docs/pipeline.md are what switches hold, and all of it; -update writes them anew.
func TestPipelineDocument(t *testing.T) {
	w := line(t, 2, "OpenFlow15")
	client, b1, b2 := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2), w.host("b2", 2, 2, 1)
	serve(8080, b1, b2)
	w.start()
	w.service(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80", Scheduler: vip.RoundRobin}, 8080, b1, b2)
	w.service(vip.Spec{Name: "shop", Address: "10.0.0.101", Protocol: vip.TCP, Port: "80", Mode: vip.ModeGroup}, 8081, b1, b2)
	for i, c := range []struct {
		from *lab.Host
		to   string
	}{{client, "b1"}, {client, "b2"}, {b1, "b1"}} { // the last one a hairpin
		if who := w.who(w.dial(c.from, "tcp", fmt.Sprint(":", 40001+i), address+":80")); who != c.to {
			t.Fatalf("connection %d is at %s, not %s", i+1, who, c.to)
		}
	}
	w.known(client, b1, b2)
	w.awaitSettled(3)
	parts := w.parts()
	for last := map[string]string(nil); !cmp.Equal(last, parts); { // until the switches have settled
		last = parts
		time.Sleep(time.Second)
		parts = w.parts()
	}

	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	now := written.ReplaceAllStringFunc(string(text), func(part string) string {
		name := written.FindStringSubmatch(part)[1]
		dump, there := parts[name]
		if !there {
			t.Errorf("the document shows %q, which no switch has", name)
		}
		shown[name] = true
		return fmt.Sprintf("<!-- %s -->\n```text\n%s```\n<!-- end -->", name, dump)
	})
	for name := range parts {
		if (strings.HasPrefix(name, "s1 ") || name == "paths") && !shown[name] {
			t.Errorf("the document does not show %q:\n%s", name, parts[name])
		}
	}
	if *update {
		if err := os.WriteFile(document, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(now, string(text)); diff != "" {
		t.Errorf("%s does not show what switches hold; go test ./e2e -run TestPipelineDocument -update (-switches +document):\n%s", document, diff)
	}
}

// parts are what the document may show: "s1 table 30", "s2 groups", "paths" and so on.
func (w *network) parts() map[string]string {
	parts := map[string]string{}
	var ways []string // zones, which ways are told by as well, are numbered as switches come
	for _, s := range w.switches {
		n, err := strconv.Atoi(edgeZone(w.t, s))
		if err != nil {
			w.t.Fatal(err)
		}
		ways = append(ways, fmt.Sprintf("0x8000%04x", n), "WAY_"+s.Name())
	}
	way := strings.NewReplacer(ways...)
	for _, s := range w.switches {
		zone := regexp.MustCompile("zone=" + edgeZone(w.t, s) + `([,)])`)
		for _, rule := range sorted(s.DumpFlows()) {
			parts[fmt.Sprintf("%s table %d", s.Name(), tableOf(rule))] += wrapped(way.Replace(zone.ReplaceAllString(rule, "zone=EDGE$1")))
		}
		parts[s.Name()+" groups"] = strings.Join(s.DumpGroups(), "\n") + "\n"
		parts[s.Name()+" meters"] = strings.Join(meters(s), "\n") + "\n"
	}
	parts["paths"] = w.paths()
	return parts
}

var number = regexp.MustCompile(`(table|priority)=(\d+)`)

func numberOf(rule, what string) int {
	for _, m := range number.FindAllStringSubmatch(rule, -1) {
		if m[1] == what {
			n, _ := strconv.Atoi(m[2])
			return n
		}
	}
	return 0
}

func tableOf(rule string) int { return numberOf(rule, "table") }

// sorted orders rules as they are looked at.
func sorted(rules []string) []string {
	slices.SortStableFunc(rules, func(a, b string) int {
		if c := tableOf(a) - tableOf(b); c != 0 {
			return c
		}
		return numberOf(b, "priority") - numberOf(a, "priority")
	})
	return rules
}

// wrapped is a rule without what the heading says, in lines of a width that can be read.
func wrapped(rule string) string {
	const width, indent = 120, "    "
	rule = regexp.MustCompile(` table=\d+,`).ReplaceAllString(rule, "")
	if len(rule) <= width {
		return rule + "\n"
	}
	text, line := "", ""
	flush := func() {
		if line != "" {
			text, line = text+strings.TrimRight(line, " ")+"\n", indent
		}
	}
	for _, part := range strings.SplitAfter(strings.Replace(rule, " actions=", " \x00actions=", 1), ",") {
		match, actions, begins := strings.Cut(part, "\x00") // actions begin on a line of their own
		if len(line)+len(match) > width {
			flush()
		}
		line += match
		if begins {
			flush()
			line += actions
		}
	}
	flush()
	return text
}

// paths are the tables that packets pass and the recirculations they cost, by Open vSwitch's own trace.
func (w *network) paths() string {
	const c1, b1, b2, vm = "02:00:0a:00:00:0b", "02:00:0a:00:00:01", "02:00:0a:00:00:02", "02:ef:00:00:00:01"
	out := ""
	for _, p := range []struct {
		what   string
		at     int
		packet string
	}{
		{"SYN of a new connection", 1, "in_port=1,tcp,dl_src=" + c1 + ",dl_dst=" + vm + ",nw_src=10.0.0.11,nw_dst=10.0.0.100,nw_ttl=64,tp_src=50000,tp_dst=80,tcp_flags=0x002"},
		{"client to a backend on the same switch", 1, "in_port=1,tcp,dl_src=" + c1 + ",dl_dst=" + vm + ",nw_src=10.0.0.11,nw_dst=10.0.0.100,nw_ttl=64,tp_src=40001,tp_dst=80,tcp_flags=0x010"},
		{"answer of that backend", 1, "in_port=2,tcp,dl_src=" + b1 + ",dl_dst=" + c1 + ",nw_src=10.0.0.1,nw_dst=10.0.0.11,nw_ttl=64,tp_src=8080,tp_dst=40001,tcp_flags=0x010"},
		{"client to a backend on another switch", 1, "in_port=1,tcp,dl_src=" + c1 + ",dl_dst=" + vm + ",nw_src=10.0.0.11,nw_dst=10.0.0.100,nw_ttl=64,tp_src=40002,tp_dst=80,tcp_flags=0x010"},
		{"the same packet there", 2, "in_port=11,tcp,dl_src=" + c1 + ",dl_dst=" + b2 + ",nw_src=10.0.0.11,nw_dst=10.0.0.2,nw_ttl=64,tp_src=40002,tp_dst=8080,tcp_flags=0x010"},
		{"answer of that backend, there", 2, "in_port=1,tcp,dl_src=" + b2 + ",dl_dst=" + c1 + ",nw_src=10.0.0.2,nw_dst=10.0.0.11,nw_ttl=64,tp_src=8080,tp_dst=40002,tcp_flags=0x010"},
		{"the same answer at the client's switch", 1, "in_port=10,tcp,dl_src=" + b2 + ",dl_dst=" + c1 + ",nw_src=10.0.0.2,nw_dst=10.0.0.11,nw_ttl=64,tp_src=8080,tp_dst=40002,tcp_flags=0x010"},
		{"backend to itself through the VIP", 1, "in_port=2,tcp,dl_src=" + b1 + ",dl_dst=" + vm + ",nw_src=10.0.0.1,nw_dst=10.0.0.100,nw_ttl=64,tp_src=40003,tp_dst=80,tcp_flags=0x010"},
		{"its answer to itself", 1, "in_port=2,tcp,dl_src=" + b1 + ",dl_dst=" + vm + ",nw_src=10.0.0.1,nw_dst=10.0.0.100,nw_ttl=64,tp_src=8080,tp_dst=40003,tcp_flags=0x010"},
		{"closed port of the VIP", 1, "in_port=1,tcp,dl_src=" + c1 + ",dl_dst=" + vm + ",nw_src=10.0.0.11,nw_dst=10.0.0.100,nw_ttl=64,tp_src=50000,tp_dst=81,tcp_flags=0x002"},
		{"ping of the VIP", 1, "in_port=1,icmp,dl_src=" + c1 + ",dl_dst=" + vm + ",nw_src=10.0.0.11,nw_dst=10.0.0.100,nw_ttl=64,icmp_type=8,icmp_code=0"},
		{"ARP for the VIP", 1, "in_port=1,arp,dl_src=" + c1 + ",dl_dst=ff:ff:ff:ff:ff:ff,arp_op=1,arp_spa=10.0.0.11,arp_tpa=10.0.0.100,arp_sha=" + c1},
		{"host to a host past the VIP", 1, "in_port=1,tcp,dl_src=" + c1 + ",dl_dst=" + b2 + ",nw_src=10.0.0.11,nw_dst=10.0.0.2,nw_ttl=64,tp_src=50000,tp_dst=22,tcp_flags=0x010"},
	} {
		s := w.sw(p.at)
		tables, recirculations := trace(s.Appctl("ofproto/trace", s.Name(), p.packet))
		out += fmt.Sprintf("%-40s %s: %-36s recirculations: %d\n", p.what, s.Name(), tables, recirculations)
	}
	return out
}

var (
	step   = regexp.MustCompile(`(?m)^ *(\d+)\. `)
	recirc = regexp.MustCompile(`(?m)^recirc\(`)
)

func trace(text string) (tables string, recirculations int) {
	var all []string
	for _, m := range step.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return strings.Join(all, " "), len(recirc.FindAllString(text, -1))
}
