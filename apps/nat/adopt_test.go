package nat

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// adopt hands over the rules of a text that a switch holds, and answers those to delete.
func (r *rig) adopt(d flows.DPID, text string) string {
	r.t.Helper()
	var rules []flows.InstalledRule
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			rules = append(rules, flows.InstalledRule{Rule: flows.MustParseRule(line), Stats: flows.Stats{DurationSec: 100}})
		}
	}
	return deletions(map[flows.DPID][]flows.Rule{d: r.app.Adopt(r.view, d, rules)})
}

func TestAdoptAfterARestartOfTheController(t *testing.T) {
	r := newRig(t, newVIP(2))
	same(t, "to delete", r.adopt(edge, fwd+fwdActions+"\n"+rev+revActions), "")
	r.live(1, 0)
	c := r.app.List(7, 0)
	want := []apps.Connection{{Client: netip.MustParseAddrPort(client), VIPPort: 80, Backend: "b1", DPID: edge, Since: r.now.Add(-100 * time.Second)}}
	if !slices.Equal(c, want) {
		t.Errorf("%+v, want %+v", c, want)
	}
	same(t, "data whose rule is lost", r.in(data(client)), pairAdded+sent+"(A 10.0.0.9:40000 > 10.0.0.100:80)")
	r.removed(fwd+none, apps.RemovedIdle)
	same(t, "its end", r.removed(rev+none, apps.RemovedIdle), "")
	r.live(0, 0)
}

// Whatever the app installs it must be able to adopt: to the same client, port and backend.
func TestAdoptReadsEveryRuleThatIsMade(t *testing.T) {
	itself := func(x *apps.VIP) { x.Backends[0].Host.At.DPID, x.Backends[0].Host.At.No = edge, 9 }
	for _, x := range []*apps.VIP{newVIP(1), newVIP(1, udp), newVIP(1, listen(0)), newVIP(1, at(80, 89)), newVIP(1, at(80, 89), listen(0)),
		newVIP(1, at(80, 89), listen(80)), newVIP(1, itself), newVIP(1, itself, at(80, 89)), newVIP(1, itself, udp, at(80, 89), listen(0))} {
		for _, with := range []bool{true, false} {
			r := newRig(t, x)
			r.view.Switches[edge] = apps.SwitchInfo{DPID: edge, Nicira: with}
			for _, from := range []string{"10.0.1.1:40000", "10.0.0.9:40000"} {
				if from == "10.0.1.1:40000" && x.Backends[0].Host.At.DPID != edge {
					continue
				}
				var rules []string
				for line := range strings.Lines(r.in(packet{from: from, to: "10.0.0.100:80", proto: x.Proto(), flags: apps.SYN})) {
					if rule, is := strings.CutPrefix(line, "add "); is {
						rules = append(rules, rule)
					}
				}
				again := newRig(t, x)
				same(t, "to delete", again.adopt(edge, strings.Join(rules, "\n")), "")
				again.live(1)
				if c := again.app.List(7, 0); len(c) != 1 || c[0].Client.String() != from || c[0].VIPPort != 80 {
					t.Errorf("%v from %s: %+v", x.Ports, from, c)
				}
				same(t, "the same again", again.adopt(edge, strings.Join(rules, "\n")), "")
				again.live(1)
			}
		}
	}
}

func TestAdoptAfterAReconnect(t *testing.T) {
	r := newRig(t, newVIP(2))
	r.in(syn(client))
	r.in(syn("10.0.0.8:5"))
	p := syn("10.0.0.7:5")
	p.at.DPID, p.at.No = second, 1
	r.in(p)
	r.live(2, 1)
	same(t, "to delete", r.adopt(edge, fwd+fwdActions+"\n"+rev+revActions), "")
	r.live(2, 0) // the second is over, the third is another switch's
	same(t, "to delete", r.adopt(edge, ""), "")
	r.live(1, 0)
	if n := owned(r.app); n != 1 {
		t.Errorf("%d answers are claimed", n)
	}
}

func TestAdoptALoneHalf(t *testing.T) {
	r := newRig(t, newVIP(2))
	same(t, "forward: to delete", r.adopt(edge, fwd+fwdActions), "1: "+fwd+fwdActions)
	r.live(1, 0)
	same(t, "forward: deleted", r.removed(fwd+none, apps.RemovedDelete), "add "+rev+revActions+"\nadd "+fwd+fwdActions)
	r.live(1, 0)

	r = newRig(t, newVIP(2))
	same(t, "reverse: to delete", r.adopt(edge, rev+revActions), "")
	r.live(1, 0)
	same(t, "reverse: data", r.in(data(client)), pairAdded+sent+"(A 10.0.0.9:40000 > 10.0.0.100:80)")

	r = newRig(t, newVIP(2))
	r.adopt(edge, short(rev)+revActions)
	same(t, "reverse: its end", r.removed(short(rev)+none, apps.RemovedIdle), "")
	r.live(0, 0)
}

func TestAdoptRemovesWhatHasNoOwner(t *testing.T) {
	other := func(old, new string) string {
		return strings.ReplaceAll(fwd+fwdActions+"\n"+rev+revActions, old, new)
	}
	for name, rules := range map[string]string{
		"unknown VIP":     other("cookie=0xef02030000000007", "cookie=0xef02030000000009"),
		"removed backend": other("10.0.1.1", "10.0.1.7"),
		"another port":    other("8080", "8081"),
		"down backend":    other("10.0.1.1", "10.0.1.2"),
		"not exact":       "cookie=0xef02030000000007, table=40, priority=100,tcp,nw_dst=10.0.0.100,tp_dst=80 " + fwdActions,
	} {
		r := newRig(t, newVIP(2, state(2, vip.StateDown)))
		var want []string
		for line := range strings.Lines(rules) {
			want = append(want, "1: "+strings.TrimSpace(line))
		}
		same(t, name, r.adopt(edge, rules), strings.Join(want, "\n"))
		r.live(0, 0)
		if n := owned(r.app); n != 0 {
			t.Errorf("%s: %d answers are claimed", name, n)
		}
	}
}

func TestAdoptAPairTwice(t *testing.T) {
	r := newRig(t, newVIP(2))
	r.adopt(second, fwd+fwdActions+"\n"+rev+revActions)
	pair := fwd + fwdActions + "\n" + rev + revActions
	same(t, "at another switch", r.adopt(edge, pair), "1: "+fwd+fwdActions+"\n1: "+rev+revActions)
	r.live(1, 0)
	stale := strings.Replace(rev, "10.0.1.1", "10.0.1.2", 1) + revActions
	same(t, "an older reverse rule", r.adopt(second, pair+"\n"+stale), "3: "+stale)
	r.live(1, 0)
}

// A pair that a packet has added since the start is newer than one that is found elsewhere, though that seems to be younger.
func TestAdoptOutdoneByAPacket(t *testing.T) {
	r := newRig(t, newVIP(2))
	r.in(syn(client))
	r.now = r.now.Add(200 * time.Second)
	stale := strings.NewReplacer("10.0.1.1", "10.0.1.2", "01:01", "01:02").Replace(fwd + fwdActions + "\n" + rev + revActions)
	same(t, "to delete", r.adopt(second, stale), "3: "+strings.Replace(stale, "\n", "\n3: ", 1))
	r.live(1, 0)
}

func TestAdoptARuleToAnOldMAC(t *testing.T) {
	r := newRig(t, newVIP(2))
	old := fwd + strings.Replace(fwdActions, "01:01->eth_dst", "01:55->eth_dst", 1)
	same(t, "to delete", r.adopt(edge, old+"\n"+rev+revActions), "1: "+old)
	same(t, "deleted", r.removed(fwd+none, apps.RemovedDelete), "add "+fwd+fwdActions)
	r.live(1, 0)
}
