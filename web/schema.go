package web

import (
	"net/netip"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/evenflow/evenflow/anova"
	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// Names of the components that requests are checked against.
const (
	specSchema         = "VIPSpec"
	specPatchSchema    = "VIPPatch"
	backendSchema      = "BackendSpec"
	backendPatchSchema = "BackendPatch"
)

// formatDuration marks text in the notation of Go's time.ParseDuration.
const formatDuration = "go-duration"

const (
	namePattern     = `^[a-z0-9][a-z0-9._-]{0,62}$`
	dpidPattern     = `^[0-9a-fA-F]{16}$`
	durationPattern = `^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$|^0$`
)

// The types of the model know nothing of OpenAPI. These stand for them in the document.
type (
	dpidType      struct{}
	macType       struct{}
	addrType      struct{}
	addrPortType  struct{}
	portRangeType struct{}
	durationType  struct{}
	protocolType  struct{}
	modeType      struct{}
	adminType     struct{}
	rejectType    struct{}
	originType    struct{}
	phaseType     struct{}
	stateType     struct{}
	seriesType    struct{}
	numberType    struct{}
	verdictType   struct{}
	markType      struct{}
)

func (dpidType) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: dpidPattern, Description: "Datapath id, 16 hex digits"}
}

func (macType) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: `^([0-9a-f]{2}:){5}[0-9a-f]{2}$`, Description: "Ethernet address"}
}

func (addrType) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Description: "IP address",
		AnyOf: []*huma.Schema{{Format: "ipv4"}, {Format: "ipv6"}}}
}

func (addrPortType) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Description: "IP address and port", Examples: []any{"10.0.0.9:40000"}}
}

func (portRangeType) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Description: `A port, or a range of ports such as "8000-8010"; answers hold text`, Examples: []any{"80"},
		OneOf: []*huma.Schema{
			{Type: huma.TypeInteger, Minimum: new(1.0), Maximum: new(65535.0)},
			{Type: huma.TypeString, Pattern: `^[0-9]{1,5}(-[0-9]{1,5})?$`}}}
}

func (durationType) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: formatDuration, Pattern: durationPattern,
		Description: "Duration: numbers with the units h, m, s, ms", Examples: []any{"1m30s"}}
}

func (protocolType) Schema(huma.Registry) *huma.Schema { return enum("Protocol", vip.TCP, vip.UDP) }

func (modeType) Schema(huma.Registry) *huma.Schema {
	return enum("Who chooses a backend, and where",
		vip.ModeNAT, vip.ModeGroup, vip.ModeDeferred, vip.ModeOthello)
}

func (adminType) Schema(huma.Registry) *huma.Schema {
	return enum("What the operator wants of a backend", vip.Enabled, vip.Draining, vip.Disabled)
}

func (rejectType) Schema(huma.Registry) *huma.Schema {
	return enum("What clients are told of connections that cannot be had; default "+string(vip.RejectAnswer), vip.RejectAnswer, vip.RejectDrop)
}

func (originType) Schema(huma.Registry) *huma.Schema {
	return enum("Where the VIP was declared", vip.OriginAPI, vip.OriginFile)
}

func (phaseType) Schema(huma.Registry) *huma.Schema {
	return enum("A VIP's health", vip.PhaseUp, vip.PhaseDegraded, vip.PhaseDown, vip.PhasePending)
}

func (stateType) Schema(huma.Registry) *huma.Schema {
	return enum("A backend's health", vip.StateUp, vip.StateDown, vip.StateDraining, vip.StateDrained, vip.StateDisabled, vip.StateUnknown)
}

func (seriesType) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Description: "One value a second; null: nothing is known of it",
		Items: &huma.Schema{Type: huma.TypeNumber, Nullable: true}}
}

func (numberType) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeNumber, Nullable: true}
}

func (verdictType) Schema(huma.Registry) *huma.Schema {
	return enum("Whether ports are evenly loaded; undecided: there is too little to tell", anova.Balanced, anova.Imbalanced, anova.Undecided)
}

func (markType) Schema(huma.Registry) *huma.Schema {
	return enum("How much two ports differ", anova.Same, anova.Differ, anova.Urgent)
}

func enum[T ~string](doc string, values ...T) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString, Description: doc}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// newSchemas is the registry of the document's components, with those that requests are checked against.
func newSchemas() huma.Registry {
	named := map[reflect.Type]string{
		reflect.TypeFor[vip.Read]():          "VIP",
		reflect.TypeFor[vip.Spec]():          specSchema,
		reflect.TypeFor[vip.BackendSpec]():   backendSchema,
		reflect.TypeFor[vip.Status]():        "VIPStatus",
		reflect.TypeFor[apps.SwitchStatus](): "Switch",
		reflect.TypeFor[apps.PortStatus]():   "Port",
		reflect.TypeFor[apps.HostStatus]():   "Host",
		reflect.TypeFor[apps.LinkStatus]():   "Link",
		reflect.TypeFor[topo.PortID]():       "PortID",
		reflect.TypeFor[huma.ErrorModel]():   "Problem",
		reflect.TypeFor[huma.ErrorDetail]():  "ProblemDetail",
	}
	reg := huma.NewMapRegistry("#/components/schemas/", func(t reflect.Type, hint string) string {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if name, ok := named[t]; ok {
			return name
		}
		return huma.DefaultSchemaNamer(t, hint)
	})
	for _, a := range []struct{ of, is reflect.Type }{
		{reflect.TypeFor[flows.DPID](), reflect.TypeFor[dpidType]()},
		{reflect.TypeFor[flows.MAC](), reflect.TypeFor[macType]()},
		{reflect.TypeFor[netip.Addr](), reflect.TypeFor[addrType]()},
		{reflect.TypeFor[netip.AddrPort](), reflect.TypeFor[addrPortType]()},
		{reflect.TypeFor[vip.PortRange](), reflect.TypeFor[portRangeType]()},
		{reflect.TypeFor[vip.Duration](), reflect.TypeFor[durationType]()},
		{reflect.TypeFor[vip.Protocol](), reflect.TypeFor[protocolType]()},
		{reflect.TypeFor[vip.Mode](), reflect.TypeFor[modeType]()},
		{reflect.TypeFor[vip.Admin](), reflect.TypeFor[adminType]()},
		{reflect.TypeFor[vip.Reject](), reflect.TypeFor[rejectType]()},
		{reflect.TypeFor[vip.Origin](), reflect.TypeFor[originType]()},
		{reflect.TypeFor[vip.Phase](), reflect.TypeFor[phaseType]()},
		{reflect.TypeFor[vip.State](), reflect.TypeFor[stateType]()},
		{reflect.TypeFor[apps.Series](), reflect.TypeFor[seriesType]()},
		{reflect.TypeFor[apps.Number](), reflect.TypeFor[numberType]()},
		{reflect.TypeFor[anova.Verdict](), reflect.TypeFor[verdictType]()},
		{reflect.TypeFor[anova.Mark](), reflect.TypeFor[markType]()},
	} {
		reg.RegisterTypeAlias(a.of, a.is)
	}
	reg.Schema(reflect.TypeFor[vip.Spec](), true, "")
	m := reg.Map()
	spec, backend := m[specSchema], m[backendSchema]
	spec.Description = "A VIP as declared"
	spec.Required = []string{"name", "address", "protocol", "port"}
	spec.Properties["name"].Pattern = namePattern
	spec.Properties["address"].Description = "IPv4 or IPv6 address, not link-local"
	spec.Properties["scheduler"].Description = "How mode nat chooses; default " + vip.DefaultScheduler
	spec.Properties["on_imbalance"].Description = "What follows when loads are found uneven; reweight moves the weights by live connections, in mode nat"
	spec.Properties["on_imbalance"].Enum = []any{string(vip.Alarm), string(vip.Reweight)}
	spec.Properties["gateways"].Description = "Datapath ids of the switches that choose for this VIP, in mode deferred; none: each client's own"
	spec.Properties["handover"].Description = "How many generations of backends are kept for live connections, the present one included; 1: none is"
	spec.Properties["handover"].Maximum = new(float64(vip.MaxGenerations))
	spec.Properties["handover_idle"].Description = "The oldest generation goes when none of its connections has had a packet for so long"
	spec.Properties["handover_rate"].Description = "Packets a second of connections that it does not know that a backends' switch sends on to others"
	spec.Properties["handover_rate"].Maximum = new(float64(vip.MaxHandOverRate))
	spec.Properties["backends"].MaxItems = new(vip.MaxBackends)
	backend.Description = "A backend as declared"
	backend.Properties["name"].Pattern = namePattern
	backend.Properties["port"].Maximum = new(65535.0)
	backend.Properties["port"].Description = "0 or left out: the VIP's port"
	backend.Properties["weight"].Minimum, backend.Properties["weight"].Maximum = new(0.0), new(float64(vip.MaxWeight))
	backend.Properties["weight"].Description = "Share relative to the others; 0 drains; default 1"
	backend.Properties["capacity"].Minimum, backend.Properties["capacity"].Maximum = new(0.0), new(float64(vip.MaxCapacity))
	backend.Properties["capacity"].Description = "What it can take in Mbit/s; loads are compared by it if all backends have one, else by weight"
	// What is required within these is for package vip to say: a merge patch may hold a part.
	m["Health"].Required, m["Affinity"].Required = nil, nil
	m[specPatchSchema] = patchOf(spec, "What changes in a VIP (RFC 7396): null removes, lists are replaced whole")
	m[backendPatchSchema] = patchOf(backend, "What changes in a backend (RFC 7396)")
	return reg
}

// patchOf is the schema of merge patches to values of s.
func patchOf(s *huma.Schema, doc string) *huma.Schema {
	p := *s
	p.Required, p.Description = nil, doc
	return &p
}

// neverNull says in the document what holds for all answers: a list may be empty, but is never null.
func neverNull(s *huma.Schema) {
	if s == nil {
		return
	}
	if s.Type == huma.TypeArray {
		s.Nullable = false
	}
	neverNull(s.Items)
	for _, p := range s.Properties {
		neverNull(p)
	}
}

func ref(name string) *huma.Schema { return &huma.Schema{Ref: "#/components/schemas/" + name} }

func list(words []string) string { return strings.Join(words, ", ") }
