package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/evenflow/evenflow/anova"
	"github.com/evenflow/evenflow/apps"
)

// imbalance shows how evenly loads are spread: of everything, or of one VIP.
func (g *getter) imbalance() *cobra.Command {
	cmd := &cobra.Command{Use: "imbalance [VIP]", Short: "How evenly the ports of backends are loaded", Args: cobra.MaximumNArgs(1)}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := g.out.check(); err != nil {
			return err
		}
		c, err := g.con.open()
		if err != nil {
			return err
		}
		if len(args) == 0 {
			return g.out.show(cmd.Context(), g.t, c, "/imbalance", list(g.t.imbalanceRows))
		}
		return g.out.show(cmd.Context(), g.t, c, fill("/vips/%/imbalance", args...), g.t.imbalanceText)
	}
	return cmd
}

func (t *terminal) imbalanceRows(all []apps.Imbalance) *table {
	tab := newTable("NAME", "KIND", "VERDICT", "SINCE", "F", "P", "EFFECT", "STREAK", "TOP", "REASON")
	for i := range all {
		r := &all[i]
		tab.add(r.Name, r.Kind, r.Verdict, t.since(r.Since), statistic(r), digits(r.P), percent(r.EffectSize), r.Streak, r.Top, r.Reason)
	}
	return tab
}

// imbalanceText is one VIP's, with its ports and how each two compare.
func (t *terminal) imbalanceText(raw []byte) (string, error) {
	var r apps.Imbalance
	if err := json.Unmarshal(raw, &r); err != nil {
		return "", err
	}
	w := r.Window
	head := newTable("name", r.Name)
	head.add("verdict", fmt.Sprintf("%s: %s", r.Verdict, r.Reason))
	head.add("since", r.Since.Format(time.RFC3339))
	test := fmt.Sprintf("mode %s, none yet", r.Mode)
	if r.Tested != nil {
		test = fmt.Sprintf("mode %s, F %s, p %s, effect %s (gate %s), %d in a row", r.Mode, statistic(&r), digits(r.P),
			percent(r.EffectSize), percent(apps.Number(r.Gate)), r.Streak)
	}
	head.add("test", test)
	window := fmt.Sprintf("%d of %d samples of %s, tested each %d; begun %s ago", w.Samples, w.Size,
		time.Duration(w.Interval*float64(time.Second)), w.Step, t.since(w.Restarted))
	if w.Reason != "begun" {
		window += ": " + w.Reason
	}
	head.add("window", window)
	var out strings.Builder
	out.WriteString(head.String())
	ports := newTable("PORT", "SWITCH", "NO", "CAPACITY", "MEAN", "DEVIATION", "REASON")
	for _, p := range r.Ports {
		mean := ""
		if !math.IsNaN(float64(p.Mean)) {
			mean = rate(float64(p.Mean))
		}
		dpid, no := "", ""
		if p.DPID != 0 { // a host that has not been heard is at no port
			dpid, no = p.DPID.String(), fmt.Sprint(p.PortNo)
		}
		ports.add(p.Name, dpid, no, p.Capacity, mean, percent(p.Deviation), p.Reason)
	}
	out.WriteString("\n" + ports.String())
	if len(r.Matrix) > 0 {
		out.WriteString("\n" + matrix(&r).String())
	}
	return out.String(), nil
}

// matrix is who differs from whom: * at the level of the test, ** at a fifth of it.
func matrix(r *apps.Imbalance) *table {
	header := []string{""}
	for i := range r.Matrix {
		header = append(header, r.Ports[i].Name)
	}
	tab := newTable(header...)
	for i, row := range r.Matrix {
		cells := []any{r.Ports[i].Name}
		for j, m := range row {
			switch {
			case i == j:
				cells = append(cells, "\\")
			case m == anova.Same:
				cells = append(cells, ".")
			default:
				cells = append(cells, m)
			}
		}
		tab.add(cells...)
	}
	return tab
}

// statistic is F with its degrees of freedom; empty: there was no test.
func statistic(r *apps.Imbalance) string {
	switch {
	case r.Tested == nil:
		return ""
	case math.IsNaN(float64(r.F)) && r.P == 0:
		return "infinite"
	case math.IsNaN(float64(r.F)):
		return "none"
	}
	return fmt.Sprintf("%.4g (%.4g, %.4g)", float64(r.F), float64(r.DF1), float64(r.DF2))
}

func digits(n apps.Number) string {
	if math.IsNaN(float64(n)) {
		return ""
	}
	return fmt.Sprintf("%.2g", float64(n))
}

func percent(n apps.Number) string {
	if math.IsNaN(float64(n)) {
		return ""
	}
	return fmt.Sprintf("%.0f%%", 100*float64(n))
}
