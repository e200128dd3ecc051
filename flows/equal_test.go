package flows_test

import (
	"net/netip"
	"reflect"
	"testing"

	"github.com/evenflow/evenflow/flows"
)

// TestEveryFieldCounts: two actions are equal if and only if all that they say is.
func TestEveryFieldCounts(t *testing.T) {
	seen := map[reflect.Type]bool{}
	for _, r := range append(parse(t, ovsRules), parse(t, niciraRules)...) {
		for _, a := range r.Actions {
			seen[reflect.TypeOf(a)] = true
			changed(t, a)
			if ct, ok := a.(flows.CT); ok {
				for _, inner := range ct.Actions {
					changed(t, inner)
				}
			}
		}
	}
	if len(seen) < 20 {
		t.Errorf("%d types of actions", len(seen))
	}
}

func parse(t *testing.T, texts []string) (rules []flows.Rule) {
	t.Helper()
	for _, text := range texts {
		r, err := flows.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, r)
	}
	return rules
}

// changed changes each field of a copy of a.
func changed(t *testing.T, a flows.Action) {
	t.Helper()
	equal := func(b any) bool {
		return flows.EqualActions([]flows.Action{a}, []flows.Action{b.(flows.Action)}) && flows.EqualActions([]flows.Action{b.(flows.Action)}, []flows.Action{a})
	}
	if !equal(a) {
		t.Errorf("%s is not equal to itself", a.AppendText(nil))
	}
	typ := reflect.TypeOf(a)
	for i := range typ.NumField() {
		b := reflect.New(typ).Elem()
		b.Set(reflect.ValueOf(a))
		if _, output := a.(flows.Output); output && typ.Field(i).Name == "MaxLen" { // of output to a port it says nothing
			continue
		}
		if another(b.Field(i)) && equal(b.Interface()) {
			t.Errorf("%s is equal to one with another %s", a.AppendText(nil), typ.Field(i).Name)
		}
	}
}

// another makes v something else.
func another(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(v.Uint() ^ 1)
	case reflect.Slice:
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
	case reflect.Array:
		return another(v.Index(v.Len() - 1))
	case reflect.Struct:
		if addr, ok := v.Addr().Interface().(*netip.Addr); ok {
			*addr = netip.MustParseAddr("192.0.2.1")
			return true
		}
		return another(v.Field(0))
	default:
		return false
	}
	return true
}

// TestEqualInEffect: what looks different but does the same.
func TestEqualInEffect(t *testing.T) {
	a := netip.MustParseAddr("10.0.0.1")
	for _, c := range [][2]flows.Action{
		{flows.WriteMetadata{Value: 0x1f5, Mask: 0xff}, flows.WriteMetadata{Value: 0xf5, Mask: 0xff}},
		{flows.ToController{MaxLen: 9, Reason: flows.ReasonAction}, flows.Output{Port: flows.PortController, MaxLen: 9}},
		{flows.ToController{MaxLen: 9, Reason: flows.ReasonAction, Userdata: []byte{}}, flows.Output{Port: flows.PortController, MaxLen: 9}},
		{flows.NAT{Kind: flows.NATSrc, Min: a, Max: a, MinPort: 1, MaxPort: 1}, flows.NATTo(flows.NATSrc, a, 1)},
		{flows.DecTTL{Controllers: []uint16{}}, flows.DecTTL{}},
		{flows.CT{Actions: []flows.Action{}}, flows.CT{}},
	} {
		for _, list := range [][2]flows.Action{c, {c[1], c[0]}} {
			if !flows.EqualActions(list[:1], list[1:]) {
				t.Errorf("%s and %s are not equal", list[0].AppendText(nil), list[1].AppendText(nil))
			}
		}
	}
	if err := (flows.Match{}).Num(flows.VLANTCI, 5).Check(); err == nil {
		t.Error("a match may have the whole tag")
	}
}
