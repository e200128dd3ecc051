package controller_test

import (
	"testing"

	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/flows"
	"github.com/google/go-cmp/cmp"
)

func TestFound(t *testing.T) {
	h := start(t, controller.Config{})
	fake := controllertest.NewSwitch(1)
	fake.Put(`cookie=0xef01000000000000, priority=8,ip actions=output:1
cookie=0xef01000000000000, table=3, priority=8,ip actions=output:1
cookie=0xef02000000000000, priority=7,ip actions=output:1
cookie=0xef03000000000000, priority=6,ip actions=output:1
cookie=0xef01000000000000, priority=9 actions=NORMAL
cookie=0x1, priority=8 actions=NORMAL
priority=5 actions=NORMAL
priority=99,ip actions=NORMAL
priority=98 actions=output:1
table=2, priority=99 actions=NORMAL`)
	h.connect(fake)
	want := controller.Found{Desired: 3, Foreign: map[uint8]int{0: 4, 2: 1},
		Normal: &flows.Rule{Priority: 8, Cookie: 1, Actions: []flows.Action{flows.Output{Port: flows.PortNormal}}}}
	if diff := cmp.Diff(want, h.session().Found()); diff != "" {
		t.Error(diff)
	}
	h.stop()
}
