package othello

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// pinned is a view whose VIP has pins of some connections, b1 and b2 its backends.
func pinned(t *testing.T, n int) *apps.View {
	v := viewOf()
	x := v.VIPs[0]
	x.Backends[0].Name, x.Backends[1].Name = "b1", "b2"
	now := &x.Generations.Kept[0]
	codes, _ := FromOwners(now.Owners)
	live := states(codes, tuples(random(n), n, apps.ProtoTCP, vip4))
	for i := range live { // all at the other backend
		live[i].Owner = 3 - live[i].Owner
	}
	p, err := Pin(codes, live, uint64(now.ID))
	if err != nil {
		t.Fatal(err)
	}
	now.Pins = p.Named
	return v
}

func random(n int) *rand.Rand { return rand.New(rand.NewPCG(uint64(n), 51)) }

// Every rule of a VIP says what it is for, whichever table it is in.
func TestRulesSayWhatTheyAreFor(t *testing.T) {
	for _, test := range []struct {
		pins int
		want []string // of each kind of rule one
	}{
		{0, []string{"web, generation 258: all Dcodes of b1", "web, generation 258: Dcodes that end in 11 of b2",
			"web, generation 1: all Dcodes of b1", "web: the way to b1", "web: the way to b2"}},
		{2, []string{"web, generation 258: no pin of its own"}},
		{1500, []string{"web, generation 258: which cells of the pins", "web, generation 258: pins' cells A[30] to A[59]",
			"web, generation 258: pins' cells B[0] to B[29]"}},
	} {
		v := pinned(t, test.pins)
		var got []string
		values := 0
		for _, r := range New().Desired(v, apps.Owner{Kind: apps.OwnerVIP, VIP: 7})[2].Rules {
			text := New().About(v, &r)
			if text == "" {
				t.Errorf("%s says nothing", r.String())
			}
			if strings.Contains(text, "pin value 0x") && (strings.HasSuffix(text, " is b1's") || strings.HasSuffix(text, " is b2's")) {
				values++
			}
			got = append(got, text)
		}
		for _, want := range test.want {
			if !slices.Contains(got, want) {
				t.Errorf("%d pins: none says %q", test.pins, want)
			}
		}
		if test.pins > exactPins && values != 2 {
			t.Errorf("%d rules of pin values, want 2", values)
		}
		for _, n := range v.VIPs[0].Generations.Kept[0].Pins[:min(test.pins, 2)] {
			want := "web, generation 258: pin of " + n.Client.String() + " to b" + string(rune('0'+n.Backend))
			if test.pins == 2 && !slices.Contains(got, want) {
				t.Errorf("none says %q of %q", want, got)
			}
		}
	}
	v := pinned(t, 0)
	for _, r := range []flows.Rule{
		{Table: apps.TableOwner, Cookie: apps.Cookie(apps.KindDesired, apps.ClassDeferred, 7)},
		{Table: apps.TableOwner, Cookie: apps.Cookie(apps.KindDesired, apps.ClassOthello, 8)},
		{Table: apps.TableOwner, Cookie: 1},
		{Table: apps.TableOutput, Cookie: apps.Cookie(apps.KindDesired, apps.ClassOthello, 7)},
	} {
		if text := New().About(v, &r); text != "" {
			t.Errorf("%q of %s", text, r.String())
		}
	}
}

func TestGroupsSayHowTheyDivide(t *testing.T) {
	v := pinned(t, 1500)
	got := []string{}
	for _, id := range []uint32{apps.GroupOfGeneration(7, 258), apps.GroupOfGeneration(7, 1), apps.GroupOfGeneration(7, 3), apps.GroupOfGeneration(8, 1)} {
		got = append(got, New().AboutGroup(v, id))
	}
	want := []string{"web, generation 258 (current): 256 Dcodes in 2 rules, b1 192, b2 64; 1500 pins in 4260 cells",
		"web, generation 1: 256 Dcodes in 1 rules, b1 256", "", ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	many := vip.Owners(Pack(256, even(20)).Owners())
	v.VIPs[0].Generations.Kept[0].Owners = many
	if text := New().AboutGroup(v, apps.GroupOfGeneration(7, 258)); !strings.Contains(text, ", 4 more;") {
		t.Error(text)
	}
}
