package controller

import (
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
)

// Found tells what rules a switch held when it connected.
type Found struct {
	Desired int           // of kind Desired
	Foreign map[uint8]int // of kind Foreign, by table; those in tables without any are left out
	Normal  *flows.Rule   // of kind Foreign: the one that comes first of those which leave all packets of table 0 to the switch
}

// Found is what rules the switch held when it connected.
func (sw *Switch) Found() Found { return sw.found }

// count sorts the rules that were read.
func count(rules []flows.InstalledRule, kind func(cookie uint64) RuleKind) Found {
	f := Found{Foreign: map[uint8]int{}}
	for i := range rules {
		r := &rules[i].Rule
		unreadable := openflow.Foreign(r.Match)
		switch k := kind(r.Cookie); {
		case k == Foreign || unreadable:
			f.Foreign[r.Table]++
			if r.Table == 0 && !unreadable && len(r.Match) == 0 && normal(r.Actions) && (f.Normal == nil || r.Priority > f.Normal.Priority) {
				f.Normal = &flows.Rule{Priority: r.Priority, Cookie: r.Cookie, Actions: r.Actions}
			}
		case k == Desired:
			f.Desired++
		}
	}
	return f
}

func normal(actions []flows.Action) bool {
	if len(actions) != 1 {
		return false
	}
	o, ok := actions[0].(flows.Output)
	return ok && o.Port == flows.PortNormal
}
