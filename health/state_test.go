package health

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
)

var (
	epoch   = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	backend = netip.MustParseAddr("10.0.0.1")
	tcp8080 = target{what{vip.HealthTCP, backend, 8080}, how{2 * time.Second, time.Second, 2, 3}}
)

// play lets probes pass (+), time out (-), be refused (x), the target be lost (L) and be put in another place (P), one each interval;
// spaces are intervals without a probe. It returns the state after each step, u or d, in capitals where there was something to tell.
func play(s *state, t target, steps string) (states string) {
	for i, step := range steps {
		now := epoch.Add(time.Duration(i) * t.interval)
		changed := false
		switch step {
		case '+':
			changed = s.passed(now, t)
		case '-':
			changed = s.failed(now, t, timedOut)
		case 'x':
			changed = s.failed(now, t, refusedConnection)
		case 'L':
			changed = s.lost(now, t)
		case 'P':
			s.lenient = true
		}
		letter := "u"
		if s.down {
			letter = "d"
		}
		if changed {
			letter = strings.ToUpper(letter)
		}
		states += letter
	}
	return states
}

func TestState(t *testing.T) {
	for name, c := range map[string]struct{ steps, want, reason string }{
		"up before the first probe":            {" ", "u", ""},
		"down after fall failures":             {"+---", "uuuD", "tcp probe: no answer from port 8080 within 1s"},
		"failures count in a row":              {"--+--+--", "uuuuuuuu", ""},
		"up after rise answers":                {"---++", "uuDdU", ""},
		"answers count in a row":               {"---+-+-+", "uuDddddd", "tcp probe: no answer from port 8080 within 1s"},
		"the last reason":                      {"---xx-", "uuDDdD", "tcp probe: no answer from port 8080 within 1s"},
		"of failures the last":                 {"--x", "uuD", "tcp probe: port 8080 refuses connections"},
		"gone at once":                         {"+L", "uD", "was gone, and has not answered 2 probes since"},
		"gone twice":                           {"LL", "Dd", "was gone, and has not answered 2 probes since"},
		"gone, then probes fail":               {"L-", "DD", "tcp probe: no answer from port 8080 within 1s"},
		"the first in a new place is forgiven": {"P---", "uuuu", ""},
		"but no others":                        {"P----", "uuuuD", "tcp probe: no answer from port 8080 within 1s"},
		"held down the second time":            {"---++---++++++", "uuDdUuuDdDddUu", ""},
		"twice as long the third time":         {"---++---++++++---+++++++++++", "uuDdUuuDdDddUuuuDdDdddddddUu", ""},
		"a failure while held down":            {"---++---++-+++++", "uuDdUuuDdDDdUuuu", ""},
		"held down, said why": {"---++---++", "uuDdUuuDdD",
			"answers again; flapping: down 2 times in short order, so held down for 10s"},
		"forgotten after a calm time": {"---++" + strings.Repeat("+", 60) + "---++", "uuDdU" + strings.Repeat("u", 60) + "uuDdU", ""},
		"not forgotten before":        {"---++" + strings.Repeat("+", 50) + "---++", "uuDdU" + strings.Repeat("u", 50) + "uuDdD", "answers again; flapping: down 2 times in short order, so held down for 10s"},
	} {
		t.Run(name, func(t *testing.T) {
			var s state
			if got := play(&s, tcp8080, c.steps); got != c.want {
				t.Errorf("%s\ngives %s\nwant  %s", c.steps, got, c.want)
			}
			if s.reason != c.reason {
				t.Errorf("reason %q, want %q", s.reason, c.reason)
			}
		})
	}
}

func TestHold(t *testing.T) {
	for _, c := range []struct {
		n        int
		interval time.Duration
		want     time.Duration
	}{
		{0, time.Second, 0}, {1, time.Second, 0}, {2, time.Second, 5 * time.Second}, {3, time.Second, 10 * time.Second},
		{8, time.Second, 5 * time.Minute}, {1 << 30, time.Second, 5 * time.Minute}, {2, time.Hour, 5 * time.Hour}, {9, time.Hour, 5 * time.Hour},
	} {
		if got := hold(c.n, c.interval); got != c.want {
			t.Errorf("time %d, interval %s: %s, want %s", c.n, c.interval, got, c.want)
		}
	}
}

func TestReasons(t *testing.T) {
	for kind, want := range map[string]string{
		vip.HealthICMP: "icmp probe: no answer within 1s", vip.HealthARP: "arp probe: no answer within 1s",
	} {
		if got := describe(target{what{kind, backend, 0}, tcp8080.how}, timedOut); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := describe(target{what{vip.HealthARP, netip.MustParseAddr("fd00::1"), 0}, tcp8080.how}, timedOut); got != "ND probe: no answer within 1s" {
		t.Errorf("%q", got)
	}
}
