package flows

import (
	"slices"
	"testing"
)

func TestPack(t *testing.T) {
	var rules []Rule
	for _, text := range []string{
		"table=1,priority=5,tcp,nw_dst=10.0.0.1,tp_dst=80 actions=output:3",
		"table=1,priority=4 actions=drop",
		"table=2,priority=7,arp,arp_tpa=10.0.0.2/31 actions=move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],IN_PORT",
	} {
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, r)
	}
	packed := Pack(rules)
	for i, k := range Keys(rules) {
		if k != rules[i].Key() || !packed[i].Equal(rules[i]) {
			t.Errorf("%s is packed as %s", rules[i], packed[i])
		}
	}
	before := packed[1].String() + packed[2].String()
	packed[0].Match = packed[0].Match.Num(TCPFlags, 2)
	packed[0].Actions = append(packed[0].Actions, Output{Port: 4})
	if packed[1].String()+packed[2].String() != before {
		t.Error("a rule that is extended changes the next")
	}
	if !slices.EqualFunc(rules[1:], packed[1:], Rule.Equal) {
		t.Error("they are not equal any more")
	}
	if n := testing.AllocsPerRun(10, func() { Pack(rules) }); n > 3 {
		t.Errorf("%v pieces", n)
	}
}
