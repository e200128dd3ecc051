package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
)

// evidence is what there is to see of a client's connection that has no answer: the sockets of its port, and in each switch its entries
// in conntrack, what is cached that its packets may go by, and the rules that have dropped something.
func (w *network) evidence(c *conn) string {
	local := c.LocalAddr().String()
	port := local[strings.LastIndex(local, ":")+1:]
	named := regexp.MustCompile(`[:=]` + port + `\b`)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	text, err := c.from.Run(ctx, "ss", "-tuanm")
	out := lines("sockets of "+c.from.Name(), text, err, named.MatchString)
	for _, s := range w.switches {
		text, err := s.TryAppctl("dpctl/dump-conntrack", "-s")
		out += lines(s.Name()+", conntrack", text, err, named.MatchString)
		text, err = s.TryAppctl("dpctl/dump-flows", "--names")
		out += lines(s.Name()+", cached", text, err, func(l string) bool { return named.MatchString(l) || !ofOthers.MatchString(l) })
		text, err = s.TryOfctl("dump-flows")
		out += lines(s.Name()+", dropped", text, err, func(l string) bool {
			return strings.Contains(l, "actions=drop") && !strings.Contains(l, "n_packets=0,")
		})
	}
	return out
}

// ofOthers matches what is cached for two exact ports, or for neither TCP nor UDP.
var ofOthers = regexp.MustCompile(`(udp|tcp)\(src=\d+,dst=\d+\)|eth_type\(0x(0806|88cc)\)|proto=(1|58)\b`)

// lines are those of a text to keep, the first 40, under a title.
func lines(title, text string, err error, keep func(line string) bool) string {
	out := []string{title + ":"}
	if err != nil {
		out = append(out, err.Error())
	}
	for l := range strings.Lines(text) {
		if keep(l) {
			out = append(out, strings.TrimSpace(l))
		}
	}
	if over := len(out) - 41; over > 0 {
		out = append(out[:41], fmt.Sprintf("and %d more", over))
	}
	return strings.Join(out, "\n    ") + "\n"
}

// The evidence of a connection has all there is of it, and nothing of another.
func TestEvidence(t *testing.T) {
	w := line(t, 1, "OpenFlow15")
	client, b1 := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2)
	serve(8080, b1)
	w.start()
	w.service(vip.Spec{Name: "udp", Address: address, Protocol: vip.UDP, Port: "80", Mode: vip.ModeDeferred}, 8080, b1)
	c, other := w.dial(client, "udp", ":4001", address+":80"), w.dial(client, "udp", ":4002", address+":80")
	w.who(other)
	w.who(c) // what is cached of it goes after 10 s
	got := w.evidence(c)
	for _, want := range []string{
		`sockets of c1:\n    udp .*10\.0\.0\.11:4001 +10\.0\.0\.100:80`,
		`s1, conntrack:\n    udp,orig=\(src=10\.0\.0\.11,dst=10\.0\.0\.100,sport=4001,.*reply=\(src=10\.0\.0\.1,`,
		`s1, cached:\n(    .*\n)*    .*udp\(src=4001,dst=80\)`,
		`s1, dropped:\n`,
	} {
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("no %s", want)
		}
	}
	if t.Failed() || strings.Contains(got, "4002") {
		t.Errorf("evidence of 4001:\n%s", got)
	}
}
