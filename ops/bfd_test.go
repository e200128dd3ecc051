package ops

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/evenflow/evenflow/lab"
)

// Ports named with --bfd are watched from both ends, and have what they had before after --detach.
func TestAttachBFD(t *testing.T) {
	t.Parallel()
	l := lab.New(t)
	a := &bridge{l.Switch("s1"), t, "s1"}
	b := &bridge{l.Switch("s2"), t, "s2"}
	cable := l.Link(a.Switch, 1, b.Switch, 1)
	l.Link(a.Switch, 2, l.Host("h1", "10.0.0.1/24"), 0)
	a.Vsctl("set", "interface", "s1-p1", "bfd:min_tx=700", "bfd:enable=false")
	columns := func() string {
		return a.Vsctl("--columns=name,bfd,external_ids", "list", "interface") + b.Vsctl("--columns=name,bfd,external_ids", "list", "interface")
	}
	was := columns()
	dry := a.must("--bfd", "s1-p1", "--dry-run")
	if columns() != was {
		t.Errorf("a dry run changed\n%s\nto\n%s", was, columns())
	}
	if out := a.must("--bfd", "s1-p1"); out != dry {
		t.Errorf("the dry run said\n%s\nthen it said\n%s", dry, out)
	}
	for range 2 { // the second time there is nothing to do
		b.must("--bfd=s2-p1", "--bfd-interval=200")
	}
	if out := b.must("--bfd=s2-p1", "--bfd-interval", "200"); out != "s2 is attached already\n" {
		t.Errorf("not idempotent: %s", out)
	}
	live := func(want bool) {
		t.Helper()
		for _, s := range []*bridge{a, b} {
			l.Eventually(30*time.Second, func() error {
				show := s.ofctl("dump-ports-desc", s.name+"-p1")
				if is := strings.Contains(show, "LIVE"); is != want || strings.Contains(show, "LINK_DOWN") {
					return fmt.Errorf("%s", show)
				}
				return nil
			})
		}
	}
	live(true)
	cable.Lose()
	live(false)
	cable.Restore()
	live(true)
	if host := a.ofctl("dump-ports-desc", "s1-p2"); !strings.Contains(host, "LIVE") {
		t.Errorf("a port that is not watched: %s", host)
	}
	a.must("--detach")
	b.must("--detach")
	if columns() != was {
		t.Errorf("before\n%s\nafter --detach\n%s", was, columns())
	}
	for _, bad := range [][]string{{"--bfd", "s2-p1"}, {"--bfd"}, {"--bfd-interval", "100"}, {"--bfd", "s1-p1", "--bfd-interval", "19"},
		{"--bfd", "s1-p1", "--bfd-interval", "1e3"}, {"--detach", "--bfd", "s1-p1"}} {
		if out := a.attach(bad...); !strings.HasPrefix(out, "exit status 1\nattach-bridge: ") {
			t.Errorf("%v: %s", bad, out)
		}
	}
	if columns() != was {
		t.Errorf("what is refused has changed\n%s\nto\n%s", was, columns())
	}
}
