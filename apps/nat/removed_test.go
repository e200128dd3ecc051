package nat

import (
	"strings"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// bare is a rule's text without its timeout: its identity and cookie.
var bare = strings.NewReplacer("idle_timeout=3600, ", "", "idle_timeout=12, ", "").Replace

const none = "actions=drop"

func idle(seconds uint32) flows.Stats {
	return flows.Stats{Packets: 3, IdleSec: seconds, HasIdle: true}
}

// short is a rule whose timeout a FIN has lowered.
func short(rule string) string { return strings.Replace(rule, "3600", "12", 1) }

func TestOneHalfIdleTheOtherBusy(t *testing.T) {
	for _, c := range []struct {
		name                string
		lost, other, action string
	}{{"forward", fwd, rev, fwdActions}, {"reverse", rev, fwd, revActions}} {
		r := newRig(t, newVIP(1))
		r.in(syn(client))
		same(t, c.name, r.removed(c.lost+none, apps.RemovedIdle), "ask "+bare(c.other)+none)
		r.live(1)
		same(t, c.name+" is put back", r.stats(c.other+none, idle(5), true), "add "+c.lost+c.action)
		r.live(1)
		same(t, c.name+" again", r.removed(short(c.lost)+none, apps.RemovedIdle), "ask "+bare(c.other)+none)
		same(t, c.name+" is put back with its lowered timeout", r.stats(c.other+none, idle(10), true), "add "+short(c.lost)+c.action)
	}
}

// A rule that has been idle for its time has been so whatever the clock was set to meanwhile.
func TestIdleWhileTheClockIsSetBack(t *testing.T) {
	r := newRig(t, newVIP(1))
	r.in(syn(client))
	r.now = r.now.Add(-time.Hour)
	passed := time.Duration(0)
	r.app.elapsed = func(time.Time) time.Duration { return passed }
	if got := r.app.List(7, 0)[0].Since; !got.Equal(r.now) {
		t.Errorf("made just now, at %s, and said to be since %s", r.now, got)
	}
	passed = time.Hour
	same(t, "removed", r.removed(fwd+none, apps.RemovedIdle), "ask "+bare(rev)+none)
	same(t, "its other half", r.stats(rev+none, idle(3600), true), "delete "+bare(rev)+none)
	r.live(0)
}

func TestBothHalvesIdle(t *testing.T) {
	for _, c := range []struct {
		name        string
		lost, other string
		idle        uint32
	}{
		{"forward", fwd, rev, 3600}, {"reverse", rev, fwd, 3601}, {"last packet a moment later", fwd, rev, 3599},
		{"after a FIN", short(fwd), rev, 12}, {"after a FIN, a moment later", short(rev), fwd, 11},
	} {
		r := newRig(t, newVIP(1))
		r.in(syn(client))
		r.removed(c.lost+none, apps.RemovedIdle)
		same(t, c.name, r.stats(c.other+none, idle(c.idle), true), "delete "+bare(c.other)+none)
		r.live(0)
		same(t, c.name+": the delete's own end", r.removed(c.other+none, apps.RemovedDelete), "")
		r.live(0)
		same(t, c.name+": then data", r.in(data(client)), "packet-out in_port=9 actions=IN_PORT (R 10.0.0.100:80 > 10.0.0.9:40000)")
	}
}

func TestAHalfPutBackIsNotBusyUntilItHasAPacket(t *testing.T) {
	for _, hasIdle := range []bool{true, false} {
		r := newRig(t, newVIP(1))
		r.in(syn(client))
		r.removed(fwd+none, apps.RemovedIdle)
		same(t, "forward", r.stats(rev+none, flows.Stats{Packets: 3, IdleSec: 3000, HasIdle: hasIdle}, true), "add "+fwd+fwdActions)
		r.removed(rev+none, apps.RemovedIdle)
		same(t, "reverse", r.stats(fwd+none, flows.Stats{IdleSec: 600, HasIdle: hasIdle}, true), "delete "+bare(fwd)+none)
		r.live(0)
	}
}

func TestBothHalvesGone(t *testing.T) {
	r := newRig(t, newVIP(1))
	r.in(syn(client))
	r.removed(fwd+none, apps.RemovedIdle)
	same(t, "the second", r.removed(rev+none, apps.RemovedIdle), "")
	r.live(0)
	same(t, "the answer to what was asked", r.stats(rev+none, flows.Stats{}, false), "")
	r.live(0)

	r.in(syn(client))
	r.removed(fwd+none, apps.RemovedIdle)
	same(t, "asked for what is not there", r.stats(rev+none, flows.Stats{}, false), "")
	r.live(0)
}

func TestAPacketWhileTheSwitchIsAsked(t *testing.T) {
	r := newRig(t, newVIP(1))
	r.in(syn(client))
	r.removed(fwd+none, apps.RemovedIdle)
	r.in(data(client))
	same(t, "a late answer", r.stats(rev+none, idle(3600), true), "")
	r.live(1)
}

// A switch that does not tell idle times is asked again after another timeout.
func TestBusyByPacketCounts(t *testing.T) {
	r := newRig(t, newVIP(1))
	r.in(syn(client))
	ask := func(packets uint64) string {
		r.removed(fwd+none, apps.RemovedIdle)
		return r.stats(rev+none, flows.Stats{Packets: packets}, true)
	}
	back := "add " + fwd + fwdActions
	same(t, "first", ask(10), back)
	same(t, "more packets", ask(11), back)
	same(t, "no more packets", ask(11), "delete "+bare(rev)+none)
	r.live(0)
}

func TestPacketCountsOfOneHalfAreNotThoseOfTheOther(t *testing.T) {
	r := newRig(t, newVIP(1))
	r.in(syn(client))
	r.removed(fwd+none, apps.RemovedIdle)
	r.stats(rev+none, flows.Stats{Packets: 10}, true)
	r.removed(rev+none, apps.RemovedIdle)
	same(t, "forward", r.stats(fwd+none, flows.Stats{Packets: 10}, true), "add "+rev+revActions)
	r.live(1)
}

func TestAnEndOvertakenByAPacketIsNoEnd(t *testing.T) {
	r := newRig(t, newVIP(1))
	r.in(syn(client))
	r.now = r.now.Add(time.Hour)
	r.in(data(client)) // its rule had ended just before, and is added again
	r.now = r.now.Add(-time.Hour + time.Second)
	same(t, "forward", r.removed(fwd+none, apps.RemovedIdle), "")
	r.live(1)
}

func TestADeletedHalfIsPutBack(t *testing.T) {
	r := newRig(t, newVIP(1))
	r.in(syn(client))
	same(t, "reverse", r.removed(rev+none, apps.RemovedDelete), "add "+rev+revActions)
	same(t, "forward, after a FIN", r.removed(short(fwd)+none, apps.RemovedDelete), "add "+fwd+fwdActions)
	r.removed(rev+none, apps.RemovedIdle)
	same(t, "forward, with the reverse one missing", r.removed(fwd+none, apps.RemovedDelete), "add "+rev+revActions+"\nadd "+fwd+fwdActions)
	r.live(1)
}

func TestAnEvictedHalfEndsItsConnection(t *testing.T) {
	r := newRig(t, newVIP(1))
	r.in(syn(client))
	same(t, "evicted", r.removed(fwd+none, apps.RemovedOther), "delete "+bare(rev)+none)
	r.live(0)
}

func TestADeletedHalfWithoutAPlaceToLeadTo(t *testing.T) {
	r := newRig(t, newVIP(1))
	r.in(syn(client))
	r.sync(newVIP(1, state(1, vip.StateUnknown), func(x *apps.VIP) { x.Backends[0].Host = nil }))
	r.live(1)
	same(t, "forward", r.removed(fwd+none, apps.RemovedDelete), "")
	r.live(1)
	same(t, "data", r.in(data(client)), "")
	same(t, "reverse", r.removed(rev+none, apps.RemovedDelete), "")
	r.live(0)
}

func TestRulesThatAreNobodysHalf(t *testing.T) {
	r := newRig(t, newVIP(1))
	r.in(syn(client))
	for name, rule := range map[string]string{
		"another client's":     strings.Replace(fwd, "40000", "40001", 1),
		"another backend's":    strings.Replace(rev, "10.0.1.1", "10.0.1.2", 1),
		"another table's":      strings.Replace(fwd, "table=40", "table=60", 1),
		"another VIP's":        strings.Replace(fwd, "cookie=0xef02030000000007", "cookie=0xef02030000000008", 1),
		"reverse of another":   strings.Replace(rev, "cookie=0xef02030000000007", "cookie=0xef02030000000008", 1),
		"a desired one":        strings.Replace(fwd, "cookie=0xef02", "cookie=0xef01", 1),
		"another app's":        strings.Replace(fwd, "cookie=0xef0203", "cookie=0xef0202", 1),
		"nobody's":             strings.Replace(fwd, "cookie=0xef02030000000007, ", "", 1),
		"not of a connection":  "cookie=0xef02030000000007, table=40, priority=100,tcp,nw_dst=10.0.0.100,tp_dst=80 ",
		"masked":               strings.Replace(fwd, "10.0.0.9", "10.0.0.0/24", 1),
		"of another protocol":  strings.Replace(rev, "tcp", "udp", 1),
		"without any protocol": "cookie=0xef02030000000007, table=40, priority=100,ip,nw_src=10.0.0.9,nw_dst=10.0.0.100 ",
	} {
		for _, reason := range []apps.RemovedReason{apps.RemovedIdle, apps.RemovedDelete, apps.RemovedOther} {
			if got := r.removed(rule+none, reason); got != "" {
				t.Errorf("%s: %s", name, got)
			}
		}
		if got := r.stats(rule+none, idle(9999), true); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	r.live(1)
}

func TestHairpinHalves(t *testing.T) {
	const (
		there = "cookie=0xef02030000000007, table=40, idle_timeout=3600, send_flow_rem priority=100,tcp,nw_src=10.0.1.1,nw_dst=10.0.0.100,tp_src=40000,tp_dst=80 "
		back  = "cookie=0xef02030000000007, table=20, idle_timeout=3600, send_flow_rem priority=110,tcp,nw_src=10.0.1.1,nw_dst=10.0.0.100,tp_src=8080,tp_dst=40000 "
	)
	r := newRig(t, newVIP(1, func(x *apps.VIP) { x.Backends[0].Host.At.DPID = edge; x.Backends[0].Host.At.No = 9 }))
	r.in(syn("10.0.1.1:40000"))
	r.live(1)
	same(t, "reverse", r.removed(back+none, apps.RemovedIdle), "ask "+bare(there)+none)
	if got := r.stats(there+none, idle(1), true); !strings.HasPrefix(got, "add "+back) {
		t.Errorf("put back: %s", got)
	}
	r.removed(back+none, apps.RemovedIdle)
	same(t, "over", r.stats(there+none, idle(3600), true), "delete "+bare(there)+none)
	r.live(0)
}
