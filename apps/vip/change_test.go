package vip

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var sameAddr = cmpopts.EquateComparable(netip.Addr{})

func create(t *testing.T, text string) *VIP {
	t.Helper()
	v, err := Create(7, parse(t, text), OriginAPI)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func update(t *testing.T, old *VIP, mutate func(*Spec)) *VIP {
	t.Helper()
	s := old.Spec.Clone()
	mutate(&s)
	v, err := Update(old, s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// ids is "name=id …" in the order of the backends.
func ids(v *VIP) string {
	var s []string
	for _, b := range v.Backends {
		s = append(s, fmt.Sprintf("%s=%d", b.Name, b.ID))
	}
	return strings.Join(s, " ")
}

func TestCreate(t *testing.T) {
	v := create(t, webText)
	if v.ID != 7 || v.Version != 1 || v.Origin != OriginAPI || ids(v) != "b1=1 b2=2" || v.NextID != 3 {
		t.Errorf("got %+v", v)
	}
	if v.Address.String() != "10.0.0.100" || v.Ports != (Ports{80, 80}) || v.Idle != DefaultIdleTCP {
		t.Errorf("derived fields: %+v", v)
	}
	if b := v.Backends[1]; b.Port != 8080 || b.Weight != 0 || b.Admin != Enabled || b.Address.String() != "10.0.0.2" {
		t.Errorf("derived backend: %+v", b)
	}
	if _, err := Create(0, parse(t, webText), OriginAPI); err == nil {
		t.Error("id 0 was taken")
	}
	if _, err := Create(1, Spec{}, OriginAPI); !errors.As(err, new(FieldErrors)) {
		t.Errorf("an empty Spec: %v", err)
	}
}

func TestUpdateKeepsVersionOfSameSpec(t *testing.T) {
	v := create(t, webText)
	same, err := Update(v, parse(t, webText)) // as first written: without defaults, port a number
	if err != nil || same != v {
		t.Errorf("got version %d, %v; want the old VIP itself", same.Version, err)
	}
	if u := update(t, v, func(s *Spec) { s.Scheduler = RoundRobin }); u.Version != 2 || v.Version != 1 || v.Spec.Scheduler != TwoChoices {
		t.Errorf("a change: version %d, the old VIP is %+v", u.Version, v)
	}
}

func TestUpdateRefusesFixedFields(t *testing.T) {
	v := create(t, webText)
	tests := map[string]func(*Spec){
		"name":     func(s *Spec) { s.Name = "other" },
		"address":  func(s *Spec) { s.Address = "10.0.0.101" },
		"protocol": func(s *Spec) { s.Protocol = UDP },
		"port":     func(s *Spec) { s.Port = "81" },
		"mode":     func(s *Spec) { s.Mode = ModeDeferred },
	}
	for field, mutate := range tests {
		s := v.Spec.Clone()
		mutate(&s)
		if _, err := Update(v, s); !errors.Is(err, ErrFixed) || !strings.Contains(err.Error(), ": "+field+" is ") {
			t.Errorf("%s: %v", field, err)
		}
	}
	// A mode left out stays, also when it is no longer the default.
	if x, err := Update(v, parse(t, strings.Replace(webText, `"mode":"nat",`, "", 1))); err != nil || x.Spec.Mode != ModeNAT {
		t.Errorf("a mode left out: %v, want the old one", err)
	}
	s := v.Spec.Clone()
	s.Port = "eighty"
	if _, err := Update(v, s); !errors.As(err, new(FieldErrors)) {
		t.Errorf("an invalid port: %v, want FieldErrors", err)
	}
}

func TestBackendIDs(t *testing.T) {
	v := create(t, webText) // b1=1 b2=2, b2 on port 8080
	steps := []struct {
		what   string
		mutate func(*Spec)
		want   string
	}{
		{"order and weight keep ids", func(s *Spec) {
			s.Backends[0], s.Backends[1] = s.Backends[1], s.Backends[0]
			*s.Backends[1].Weight = 9
		}, "b2=2 b1=1"},
		{"the VIP's port written out is no other port", func(s *Spec) { s.Backends[1].Port = 80 }, "b2=2 b1=1"},
		{"another port is another backend", func(s *Spec) { s.Backends[1].Port = 81 }, "b2=2 b1=3"},
		{"and back", func(s *Spec) { s.Backends[1].Port = 0 }, "b2=2 b1=1"},
		{"another address", func(s *Spec) { s.Backends[0].Address = "10.0.0.9" }, "b2=4 b1=1"},
		{"all gone", func(s *Spec) { s.Backends = nil }, ""},
		{"a name returns, a new one comes", func(s *Spec) {
			s.Backends = []BackendSpec{{Name: "new", Address: "10.0.0.7"}, {Name: "b2", Address: "10.0.0.2", Port: 8080}}
		}, "new=5 b2=2"},
		{"the address alone is not the backend", func(s *Spec) { s.Backends[1].Name = "b3" }, "new=5 b3=6"},
	}
	for i, step := range steps {
		v = update(t, v, step.mutate)
		if got := ids(v); got != step.want {
			t.Fatalf("%s: got %q, want %q", step.what, got, step.want)
		}
		if v.Version != uint64(i+2) {
			t.Fatalf("%s: version %d", step.what, v.Version)
		}
	}
}

func TestFormerIsBounded(t *testing.T) {
	v := create(t, webText)
	n := MaxFormer + 10
	for i := range n {
		v = update(t, v, func(s *Spec) {
			s.Backends = []BackendSpec{{Name: "b", Address: fmt.Sprintf("10.1.%d.%d", i/250, i%250+1)}}
		})
	}
	if len(v.Former) != MaxFormer {
		t.Errorf("%d former backends, want %d", len(v.Former), MaxFormer)
	}
	next := v.NextID
	v = update(t, v, func(s *Spec) { s.Backends[0].Address = "10.1.0.1" }) // long forgotten
	if v.Backends[0].ID != next {
		t.Errorf("a forgotten backend got id %d, want the new one %d", v.Backends[0].ID, next)
	}
	v = update(t, v, func(s *Spec) { s.Backends[0].Address = fmt.Sprintf("10.1.%d.%d", (n-1)/250, (n-1)%250+1) })
	if v.Backends[0].ID != next-1 {
		t.Errorf("a late one got id %d, want %d", v.Backends[0].ID, next-1)
	}
}

func TestBackendIDsEnd(t *testing.T) {
	v := create(t, webText)
	v.NextID = MaxBackendID
	v = update(t, v, func(s *Spec) { s.Backends[0].Address = "10.0.0.8" })
	if v.Backends[0].ID != MaxBackendID {
		t.Errorf("last id: %s", ids(v))
	}
	s := v.Spec.Clone()
	s.Backends[0].Address = "10.0.0.9"
	if _, err := Update(v, s); !errors.Is(err, ErrExhausted) {
		t.Errorf("beyond the last id: %v", err)
	}
}

func TestOverlap(t *testing.T) {
	spec := func(address, proto, port string) *VIP {
		return create(t, fmt.Sprintf(`{"name":"a","address":%q,"protocol":%q,"port":%q}`, address, proto, port))
	}
	base := spec("10.0.0.100", "tcp", "80-90")
	tests := []struct {
		address, proto, port string
		want                 bool
	}{
		{"10.0.0.100", "tcp", "80", true},
		{"10.0.0.100", "tcp", "90-100", true},
		{"10.0.0.100", "tcp", "1-65535", true},
		{"10.0.0.100", "tcp", "91", false},
		{"10.0.0.100", "tcp", "79", false},
		{"10.0.0.100", "udp", "80", false}, // Floodlight had one VIP per address, whatever protocol and port
		{"10.0.0.101", "tcp", "80", false},
	}
	for _, tt := range tests {
		v := spec(tt.address, tt.proto, tt.port)
		if Overlap(base, v) != tt.want || Overlap(v, base) != tt.want {
			t.Errorf("%s %s %s: want %v", tt.address, tt.proto, tt.port, tt.want)
		}
	}
}

func TestEncode(t *testing.T) {
	v := update(t, create(t, webText), func(s *Spec) {
		s.Backends = append(s.Backends[1:], BackendSpec{Name: "b3", Address: "10.0.0.3"})
	})
	b, err := Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"schema":1,"id":7,"version":2,"origin":"api","spec":{"name":"web","address":"10.0.0.100","protocol":"tcp","port":"80",` +
		`"mode":"nat","scheduler":"two-choices","idle_timeout":"1h0m0s","health":{"type":"none"},"drain_timeout":"5m0s","reject":"answer","on_imbalance":"alarm","backends":[` +
		`{"name":"b2","address":"10.0.0.2","port":8080,"weight":0,"admin":"enabled"},` +
		`{"name":"b3","address":"10.0.0.3","weight":1,"admin":"enabled"}]},` +
		`"backend_ids":[2,3],"next_id":4,"former":[{"id":1,"name":"b1","address":"10.0.0.1","port":0}]}`
	if got := string(b); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	got, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(v, got, sameAddr); diff != "" {
		t.Errorf("-encoded +decoded\n%s", diff)
	}
}

func TestDecodeRefuses(t *testing.T) {
	b, err := Encode(create(t, webText))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ old, new, want string }{
		{`"schema":1`, `"schema":2`, "unknown stored schema 2, this version reads 1"},
		{`"schema":1,`, ``, "unknown stored schema 0"},
		{`"id":7`, `"id":0`, "0 \"web\""},
		{`[1,2]`, `[1]`, "1 ids for 2 backends"},
		{`[1,2]`, `[1,3]`, "id 3 was never given"},
		{`10.0.0.100`, `ten`, "unable to parse IP"},
		{`{`, `[`, "stored vip"},
	}
	for _, tt := range tests {
		if _, err := Decode([]byte(strings.Replace(string(b), tt.old, tt.new, 1))); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s for %s: %v, want %s", tt.new, tt.old, err, tt.want)
		}
	}
}

func TestExcludes(t *testing.T) {
	at := func(address, port, backend string) *VIP {
		s := Spec{Name: "x", Address: address, Protocol: TCP, Port: PortRange(port), Mode: ModeGroup}
		if backend != "" {
			s.Backends = []BackendSpec{{Name: "b", Address: backend}}
		}
		x, err := Create(1, s, OriginAPI)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	web := at("10.0.0.100", "80", "10.0.0.1")
	for _, tt := range []struct {
		other *VIP
		want  bool
	}{
		{at("10.0.0.100", "70-90", ""), true},
		{at("10.0.0.100", "81", "10.0.0.1"), false},
		{at("10.0.0.101", "80", "10.0.0.1"), false},
		{at("10.0.0.101", "80", "10.0.0.100"), true},
		{at("10.0.0.1", "80", ""), true},
	} {
		if got := Excludes(web, tt.other); got != tt.want || Excludes(tt.other, web) != got {
			t.Errorf("%s port %s, backends %v: %v", tt.other.Address, tt.other.Spec.Port, tt.other.Backends, got)
		}
	}
}
