package deferred

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// noteView is the view of a VIP of datagrams in mode othello.
func noteView(generations [][]uint32, pins ...vip.Pin) *apps.View {
	v := viewOf(vip.StepSteady, generations, backend(1, 1, vip.StateUp), backend(2, 2, vip.StateUp))
	x := v.VIPs[0]
	x.Spec.Mode, x.Spec.Protocol, x.Spec.HandOverIdle = vip.ModeOthello, vip.UDP, vip.Duration(time.Hour)
	x.Generations.Kept[0].Pins = pins
	return v
}

func doubted(v *apps.View) *apps.View {
	v.VIPs[0].Doubted = true
	return v
}

const (
	noteMatch = "ct_state=-inv+trk,"
	noteMoves = "actions=move:NXM_NX_CT_NW_SRC[]->NXM_NX_REG6[],move:NXM_NX_CT_TP_SRC[]->NXM_NX_REG7[0..15]," +
		"move:NXM_NX_CT_TP_DST[]->NXM_NX_REG7[16..31],resubmit(,57),resubmit(,74)\n"
	noteLearn = "actions=learn(table=57,idle_timeout=7200,priority=200,delete_learned,cookie=0xef03060000000001,limit=65536," +
		"NXM_NX_REG6[],NXM_NX_REG3[],NXM_NX_REG12[],NXM_NX_REG7[],NXM_NX_CT_MARK[])\n"
	noteAny = cookie + "table=57, priority=50,reg3=0x1 " + noteLearn
)

// What an edge notes: while older generations are asked, what does not come straight to its backend, of any age; with pins alone,
// all that is older; in doubt what does come straight to its backend, too; else nothing.
func TestNotes(t *testing.T) {
	for name, test := range map[string]struct {
		view *apps.View
		want string
	}{
		"older generations": {noteView([][]uint32{{1, 2}, {1}}), noteAny +
			cookie + "table=57, priority=110,reg3=0x1,dl_src=0e:ef:01:00:00:00/ff:ff:ff:00:00:00 " + noteLearn +
			cookie + "table=57, priority=100,ct_mark=0x3e9,reg3=0x1,dl_dst=02:09:00:00:00:01 actions=set_field:0->reg1\n" +
			cookie + "table=78, priority=100,ct_state=-inv+trk,ct_label=0x1/0xffffffff,ct_nw_proto=17,udp,reg3=0x1 " + noteMoves +
			cookie + "table=78, priority=100,ct_state=-inv+trk,ct_label=0x2/0xffffffff,ct_nw_proto=17,udp,reg3=0x1 " + noteMoves +
			cookie + "table=78, priority=50,ct_state=-inv+trk,ct_nw_proto=17,udp,reg3=0x1 " + noteMoves},
		"in doubt": {doubted(noteView([][]uint32{{1, 2}, {1}})), noteAny +
			cookie + "table=57, priority=110,reg3=0x1,dl_src=0e:ef:01:00:00:00/ff:ff:ff:00:00:00 " + noteLearn +
			cookie + "table=78, priority=100,ct_state=-inv+trk,ct_label=0x1/0xffffffff,ct_nw_proto=17,udp,reg3=0x1 " + noteMoves +
			cookie + "table=78, priority=100,ct_state=-inv+trk,ct_label=0x2/0xffffffff,ct_nw_proto=17,udp,reg3=0x1 " + noteMoves +
			cookie + "table=78, priority=50,ct_state=-inv+trk,ct_nw_proto=17,udp,reg3=0x1 " + noteMoves},
		"pins alone": {noteView([][]uint32{{1, 2}}, vip.Pin{Backend: 1}), noteAny +
			cookie + "table=78, priority=100,ct_label=0x1/0xffffffff,reg3=0x1 actions=resubmit(,74)\n" +
			cookie + "table=78, priority=50,ct_state=-inv+trk,ct_nw_proto=17,udp,reg3=0x1 " + noteMoves},
		"neither": {noteView([][]uint32{{1, 2}}), cookie + "table=78, priority=100,ct_label=0x1/0xffffffff,reg3=0x1 actions=resubmit(,74)\n" +
			cookie + "table=78, priority=50,reg3=0x1 actions=resubmit(,74)\n"},
	} {
		state := vipState(test.view, 1)
		state.Groups, state.Meters = nil, nil
		var rules []flows.Rule
		for _, r := range state.Rules {
			if r.Table == apps.TableNoted || r.Table == apps.TableAge {
				rules = append(rules, r)
			}
		}
		state.Rules = rules
		if diff := cmp.Diff(sorted(t, test.want), state.String()); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// A backend that shares its host's MAC is told by its own.
func TestNotesTellBackendsOfOneHostApart(t *testing.T) {
	v := noteView([][]uint32{{1, 2}, {1}})
	x := v.VIPs[0]
	x.Backends[1].Host, x.Backends[1].Aliased = x.Backends[0].Host, true
	way := x.Backends[1].Way()
	for _, r := range vipState(v, 1).Rules {
		mark, _ := r.Match.Get(flows.CTMark)
		if mac, has := r.Match.Get(flows.EthDst); has && r.Table == apps.TableNoted && mark.Value == flows.U64(1002, 4) && mac.Value == way.Value() {
			return
		}
	}
	t.Error("no rule for the backend's own MAC")
}

// Notes say whose a flow is; those of another generation, of another VIP, or of a backend that has gone say nothing, and a flow
// that is there twice is where its last packet was.
func TestNotesAreRead(t *testing.T) {
	var rules []flows.InstalledRule
	for _, text := range strings.Split(strings.TrimSpace(`
cookie=0xef03060000000001, table=57, priority=200,ct_mark=0x3e9,reg3=0x1,reg6=0x0a00000b,reg7=0x00509c40,reg12=0x2 actions=drop
cookie=0xef03060000000001, table=57, priority=200,ct_mark=0x3ea,reg3=0x1,reg6=0x0a00000b,reg7=0x00509c40,reg12=0x2 actions=drop
cookie=0xef03060000000001, table=57, priority=200,ct_mark=0x3ea,reg3=0x1,reg7=0x00509c41,reg8=0xfd000000,reg9=0x0,reg10=0x0,reg11=0xb,reg12=0x2 actions=drop
cookie=0xef03060000000001, table=57, priority=200,ct_mark=0x3e9,reg3=0x1,reg6=0x0a00000b,reg7=0x00509c42,reg12=0x1 actions=drop
cookie=0xef03060000000001, table=57, priority=200,ct_mark=0x3eb,reg3=0x1,reg6=0x0a00000b,reg7=0x00509c43,reg12=0x2 actions=drop
cookie=0xef03060000000001, table=57, priority=200,reg3=0x1,reg6=0x0a00000b,reg7=0x00509c44,reg12=0x2 actions=drop
cookie=0xef01060000000001, table=57, priority=200,ct_mark=0x3e9,reg3=0x1,reg6=0x0a00000b,reg7=0x00509c45,reg12=0x2 actions=drop
cookie=0xef03060000000009, table=57, priority=200,ct_mark=0x3e9,reg3=0x9,reg6=0x0a00000b,reg7=0x00509c46,reg12=0x2 actions=drop`), "\n") {
		r, err := flows.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		idle := uint32(9)
		if mark, _ := r.Match.Get(flows.CTMark); mark.Value == flows.U64(1002, 4) {
			idle = 3
		}
		rules = append(rules, flows.InstalledRule{Rule: r, Stats: flows.Stats{IdleSec: idle, HasIdle: true}})
	}
	all := Notes(time.Unix(1e9, 0), rules)
	if len(all) != 2 || len(all[1]) != 5 || len(all[9]) != 1 {
		t.Fatalf("%v", all)
	}
	v := noteView([][]uint32{{1, 2}, {1}})
	got := NotedPins(v, v.VIPs[0], 2, all[1])
	want := []vip.Pin{{Client: netip.MustParseAddrPort("10.0.0.11:40000"), Port: 80, Backend: 2},
		{Client: netip.MustParseAddrPort("[fd00::b]:40001"), Port: 80, Backend: 2}}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
