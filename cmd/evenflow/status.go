package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/evenflow/evenflow/anova"
	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

func statusCommand(t *terminal) *cobra.Command {
	cmd := &cobra.Command{Use: "status", Short: "Show on one screen whether all is well; exit code 0 only if so", Args: cobra.NoArgs}
	con := newConnection(t, cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := con.open()
		if err != nil {
			return err
		}
		s, err := readStatus(cmd.Context(), c)
		if err != nil {
			return err
		}
		text, well := s.text(t, c.base)
		if _, err := fmt.Fprint(t.out, text); err != nil {
			return err
		}
		if !well {
			return errTold
		}
		return nil
	}
	return cmd
}

// status is what the screen is made of.
type status struct {
	notReady string
	switches []apps.SwitchStatus
	links    []apps.LinkStatus
	hosts    []apps.HostStatus
	vips     []vip.Read
	loads    []apps.Imbalance
}

func readStatus(ctx context.Context, c *client) (*status, error) {
	s := &status{}
	_, err := c.call(ctx, http.MethodGet, "/readyz", "", nil, 0)
	var p *problem
	switch {
	case errors.As(err, &p) && p.Status == http.StatusServiceUnavailable:
		s.notReady = p.Error()
	case err != nil:
		return nil, err
	}
	return s, errors.Join(fetch(ctx, c, "/switches", &s.switches), fetch(ctx, c, "/links", &s.links),
		fetch(ctx, c, "/hosts", &s.hosts), fetch(ctx, c, "/vips", &s.vips), fetch(ctx, c, "/imbalance", &s.loads))
}

// fetch reads a list.
func fetch[T any](ctx context.Context, c *client, path string, out *[]T) error {
	raw, err := c.get(ctx, path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var answer struct {
		Items []T `json:"items"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return fmt.Errorf("answer of %s%s: %w", c.base, path, err)
	}
	*out = answer.Items
	return nil
}

// text is the screen. Lines with "!" are what is not well, those with "-" are worth a look.
func (s *status) text(t *terminal, server string) (text string, well bool) {
	var b strings.Builder
	problems := 0
	bad := func(format string, args ...any) {
		problems++
		b.WriteString("  ! " + printable(fmt.Sprintf(format, args...), false) + "\n")
	}
	ready := "ready"
	if s.notReady != "" {
		ready = "not ready"
	}
	fmt.Fprintf(&b, "controller  %s, %s\n", server, ready)
	if s.notReady != "" {
		bad("%s", s.notReady)
	}
	s.switchLines(t, &b, bad)
	live := 0
	for _, h := range s.hosts {
		if h.Live {
			live++
		}
	}
	fmt.Fprintf(&b, "links       %d\nhosts       %d live, %d silent\n", len(s.links), live, len(s.hosts)-live)
	s.vipLines(&b, bad)
	s.loadLines(&b)
	s.dropLines(&b)
	switch problems {
	case 0:
		b.WriteString("\nall is well\n")
	case 1:
		b.WriteString("\n1 problem\n")
	default:
		fmt.Fprintf(&b, "\n%d problems\n", problems)
	}
	return b.String(), problems == 0
}

// loadLines are the alarms about uneven loads. They are worth a look; connections are served all the same.
func (s *status) loadLines(b *strings.Builder) {
	for _, r := range s.loads {
		if r.Verdict == anova.Imbalanced {
			line := fmt.Sprintf("  - loads of %s imbalanced since %s: %s", r.Name, r.Since.Format(time.RFC3339), r.Reason)
			if r.Top != "" {
				line += ", " + r.Top
			}
			b.WriteString(printable(line, false) + "\n")
		}
	}
}

func (s *status) switchLines(t *terminal, b *strings.Builder, bad func(string, ...any)) {
	ready, connected := 0, 0
	for _, x := range s.switches {
		if x.Ready {
			ready++
		}
		if x.Connected {
			connected++
		}
	}
	fmt.Fprintf(b, "switches    %d connected, %d ready, %d known\n", connected, ready, len(s.switches))
	if len(s.switches) == 0 {
		bad("no switch has connected")
	}
	for _, x := range s.switches {
		switch {
		case !x.Connected:
			bad("%s away for %s: %s", x.DPID, t.since(x.Since), x.Error)
		case x.Error != "":
			bad("%s %s: %s", x.DPID, switchState(x), x.Error)
		case !x.Ready:
			bad("%s does not hold its rules yet", x.DPID)
		}
		for _, p := range x.Problems {
			bad("%s %s", x.DPID, p)
		}
		for _, w := range x.Warnings {
			b.WriteString("  - " + printable(fmt.Sprintf("%s %s", x.DPID, w), false) + "\n")
		}
	}
}

func (s *status) vipLines(b *strings.Builder, bad func(string, ...any)) {
	up := 0
	var vips, notes troubles
	for _, v := range s.vips {
		switch {
		case v.Status.Phase == vip.PhaseUp:
			if up++; v.Status.Reason != "" {
				notes.add(v.Name, string(v.Status.Phase), v.Status.Reason)
			}
		default:
			vips.add(v.Name, string(v.Status.Phase), v.Status.Reason)
		}
		for _, x := range v.Status.Backends {
			if x.State == vip.StateDown || x.State == vip.StateUnknown {
				notes.add(v.Name+"/"+x.Name, string(x.State), x.Reason)
			}
		}
	}
	fmt.Fprintf(b, "vips        %d up, %d declared\n", up, len(s.vips))
	for _, x := range vips {
		bad("%s", x)
	}
	for _, x := range notes {
		b.WriteString("  - " + printable(x.String(), false) + "\n")
	}
}

// troubles are states that are not well, each once, with all those in it.
type troubles []*trouble

type trouble struct {
	names         []string
	state, reason string
}

func (t *troubles) add(name, state, reason string) {
	for _, x := range *t {
		if x.state == state && x.reason == reason {
			x.names = append(x.names, name)
			return
		}
	}
	*t = append(*t, &trouble{[]string{name}, state, reason})
}

// maxNamed is how many a line names; the rest is counted.
const maxNamed = 5

func (t *trouble) String() string {
	names := strings.Join(t.names[:min(len(t.names), maxNamed)], ", ")
	if more := len(t.names) - maxNamed; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s %s: %s", names, t.state, t.reason)
}

// dropLines are the packets dropped on purpose, by switch and reason.
func (s *status) dropLines(b *strings.Builder) {
	var total uint64
	var lines strings.Builder
	for _, x := range s.switches {
		var reasons []string
		for _, d := range x.Drops {
			if total += d.Packets; d.Packets > 0 {
				reasons = append(reasons, fmt.Sprintf("%s: %d", printable(d.Reason, false), d.Packets))
			}
		}
		if len(reasons) > 0 {
			slices.Sort(reasons)
			fmt.Fprintf(&lines, "  - %s %s\n", x.DPID, strings.Join(reasons, ", "))
		}
	}
	if total > 0 {
		fmt.Fprintf(b, "dropped     %d packets\n%s", total, lines.String())
	}
}
