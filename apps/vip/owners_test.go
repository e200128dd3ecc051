package vip

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestOwnersAsJSON(t *testing.T) {
	for _, test := range []struct {
		owners Owners
		text   string
	}{
		{Owners{}, "[]"}, {Owners{7}, "[1,7]"}, {Owners{1, 1, 2, 0, 0, 0}, "[2,1,1,2,3,0]"},
	} {
		b, err := json.Marshal(test.owners)
		if err != nil || string(b) != test.text {
			t.Errorf("%v is %s, want %s; %v", test.owners, b, test.text, err)
		}
		var back Owners
		if err := json.Unmarshal(b, &back); err != nil || !slices.Equal(back, test.owners) {
			t.Errorf("%s read back is %v; %v", b, back, err)
		}
	}
	for _, bad := range []string{"[1]", "[5000,1]", "[4096,1,1,1]", "[-1,1]", `"x"`} {
		if err := json.Unmarshal([]byte(bad), new(Owners)); err == nil {
			t.Errorf("%s passes", bad)
		}
	}
}
