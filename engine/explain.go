package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// Explain says where a new connection goes: to which backend, by which switch. apps.ErrNotFound: no VIP has its destination.
func (e *Engine) Explain(t apps.Tuple) (x apps.Explanation, err error) {
	v := e.view.Load()
	target := vipOf(v, t)
	if target == nil {
		return x, fmt.Errorf("a VIP with %s, port %d of %s: %w", t.Dst.Addr(), t.Dst.Port(), protocolName(t.Proto), apps.ErrNotFound)
	}
	x = apps.Explanation{VIP: target.Spec.Name, Mode: target.Spec.Mode, Switches: []apps.Choice{}}
	if h, ok := v.HostAt(t.Src.Addr()); ok {
		x.DPID = h.At.DPID.String()
	}
	for _, d := range slices.Sorted(maps.Keys(v.Switches)) {
		x.Switches = append(x.Switches, e.choice(v, target, d, t))
	}
	x.Backend, x.Reason = decision(x.DPID, x.Switches)
	if i := slices.IndexFunc(target.Backends, func(b apps.Backend) bool { return b.Name == x.Backend }); i >= 0 {
		x.Via = via(&target.Backends[i])
	}
	for _, app := range e.apps {
		if a, ok := app.(apps.Detailer); ok && x.Detail == "" {
			x.Detail = a.Detail(v, target, t)
		}
	}
	return x, nil
}

// vipOf is the VIP that a connection is to, nil if none.
func vipOf(v *apps.View, t apps.Tuple) *apps.VIP {
	for _, x := range v.VIPsAt(t.Dst.Addr()) {
		if string(x.Spec.Protocol) == protocolName(t.Proto) && x.Ports.Contains(t.Dst.Port()) {
			return x
		}
	}
	return nil
}

func protocolName(proto uint8) string {
	if proto == apps.ProtoUDP {
		return string(vip.UDP)
	}
	return string(vip.TCP)
}

// choice is what one switch would do.
func (e *Engine) choice(v *apps.View, x *apps.VIP, d flows.DPID, t apps.Tuple) apps.Choice {
	c := apps.Choice{DPID: d, Hash: v.Switches[d].Hash.String()}
	for _, app := range e.apps {
		if a, ok := app.(apps.Explainer); ok {
			b, reason := a.Explain(v, x, d, t)
			if b != nil {
				c.Backend = b.Name
			}
			if c.Reason = reason; b != nil || reason != "" {
				return c
			}
		}
	}
	c.Reason = fmt.Sprintf("what mode %s chooses cannot be told", x.Spec.Mode)
	return c
}

// About says what a rule is for, in mode othello: Dcodes, owner, pin and generation; "" if there is nothing to say.
func (e *Engine) About(r *flows.Rule) string {
	return e.about(func(a apps.Describer, v *apps.View) string { return a.About(v, r) })
}

// AboutGroup is About of a group.
func (e *Engine) AboutGroup(id uint32) string {
	return e.about(func(a apps.Describer, v *apps.View) string { return a.AboutGroup(v, id) })
}

func (e *Engine) about(say func(apps.Describer, *apps.View) string) string {
	v := e.view.Load()
	for _, app := range e.apps {
		if a, ok := app.(apps.Describer); ok {
			if text := say(a, v); text != "" {
				return text
			}
		}
	}
	return ""
}

// decision is what the client's switch does or, if nobody knows which that is, what all do alike.
func decision(client string, all []apps.Choice) (backend, reason string) {
	if client != "" {
		for _, c := range all {
			if c.DPID.String() == client {
				return c.Backend, c.Reason
			}
		}
		return "", fmt.Sprintf("switch %s, where the client is, is not connected", client)
	}
	if len(all) == 0 {
		return "", "no switch is connected"
	}
	for _, c := range all[1:] {
		if c.Backend != all[0].Backend || c.Reason != all[0].Reason {
			return "", "the client is no known host, and switches differ"
		}
	}
	return all[0].Backend, all[0].Reason
}
