package controller

import (
	"testing"

	"github.com/evenflow/evenflow/flows"
)

func TestBlockShares(t *testing.T) {
	read := func(lines ...string) (s flows.State) {
		for _, l := range lines {
			s.Rules = append(s.Rules, flows.MustParseRule(l))
		}
		return s
	}
	a := read("table=1,in_port=1,actions=output:9", "table=1,in_port=2,actions=output:9", "table=1,in_port=3,actions=output:9")
	b := read("table=1,in_port=4,actions=output:9", "table=1,in_port=2,actions=output:9", "table=1,in_port=1,actions=output:8")
	first := NewBlock(a, nil)
	second := NewBlock(b, first)

	if !first.MadeOf(a) || !second.MadeOf(b) || first.MadeOf(b) || second.MadeOf(a) || first.MadeOf(read()) {
		t.Error("a block does not know what it was made of")
	}
	if got, want := NewState(second).String(), NewState(NewBlock(b, nil)).String(); got != want {
		t.Errorf("shared:\n%s\nwant:\n%s", got, want)
	}
	shared := 0
	for _, x := range first.objects {
		for _, y := range second.objects {
			if x == y {
				shared++
			}
		}
	}
	if shared != 1 {
		t.Errorf("%d rules are shared, want that of port 2 alone", shared)
	}
	for i := range b.Rules {
		for _, x := range second.objects {
			if x.rule == &b.Rules[i] {
				t.Error("the list that the block was made of is kept")
			}
		}
	}
	if !NewState(first, second).MadeOf([]*Block{first, second}) || NewState(first).MadeOf([]*Block{second}) {
		t.Error("a state does not know its blocks")
	}
}
