package apps

import (
	"net/netip"
	"sync"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
)

// Served is a VIP with one of its backends.
type Served struct {
	VIP     *VIP
	Backend *Backend
}

// Listens are the ports at which the backend gets the VIP's packets.
func (s Served) Listens() vip.Ports {
	if s.Backend.Port != 0 {
		return vip.Ports{First: s.Backend.Port, Last: s.Backend.Port}
	}
	return s.VIP.Ports
}

// OneToOne reports whether a port of the backend stands for one port of the VIP.
func (s Served) OneToOne() bool { return s.Backend.Port == 0 || s.VIP.Ports.Single() }

// servedIndex finds backends by address, and the addresses of those behind gateways by these. It is made when it is first asked.
type servedIndex struct {
	once   sync.Once
	byAddr map[netip.Addr][]Served
	behind map[flows.MAC][]netip.Addr
}

// ServedBy are the VIPs, of all modes, that have an address among their backends, by id; one with several ports of the
// address comes several times.
func (v *View) ServedBy(a netip.Addr) []Served {
	v.index()
	return v.served.byAddr[a]
}

func (v *View) index() {
	v.served.once.Do(func() {
		v.served.byAddr, v.served.behind = map[netip.Addr][]Served{}, map[flows.MAC][]netip.Addr{}
		for _, x := range v.VIPs {
			for i := range x.Backends {
				b := &x.Backends[i]
				known := v.served.byAddr[b.Address]
				v.served.byAddr[b.Address] = append(known, Served{x, b})
				if b.Via.IsValid() && b.Host != nil && len(known) == 0 {
					v.served.behind[b.Host.MAC] = append(v.served.behind[b.Host.MAC], b.Address)
				}
			}
		}
	})
}

// Forget is what a switch is to forget of its tracked connections: those of a zone and protocol that agree with all that is
// set here. Client and VIP are the ends that the client sees, Backend is who answers.
type Forget struct {
	Zone    uint16
	Proto   uint8
	Client  netip.AddrPort // port 0: any
	VIP     netip.AddrPort
	Backend netip.AddrPort
}

// ForgetRate bounds how many connections a second an app has a switch forget for packets that have come, as it looks at all it tracks
// each time.
const ForgetRate = 20

// Forgetter is a [Reply] that can have the switch forget connections.
type Forgetter interface{ Forget(f Forget) }

// Stale is an app of which a change of the view leaves connections in switches that must not go on.
type Stale interface {
	// Stale lists, for a switch, what it is to forget once it has confirmed what the owner wants.
	Stale(old, now *View, o Owner, at SwitchInfo) []Forget
}

// Keeps reports whether a backend may have connections. A backend behind a switch whose session is lost is not known to
// be dead, whatever became of its state, unless its probes had failed before; its connections live on.
func (v *View) Keeps(b *Backend) bool {
	switch b.State {
	case vip.StateDisabled, vip.StateDrained: // a drain that ends early, for want of connections, does not show in a view
		return false
	case vip.StateDown:
		if b.Host == nil || b.Dead {
			return false
		}
		_, connected := v.all[b.Host.At.DPID]
		return !connected
	}
	return true
}

// Sharing is an app of a mode whose switches divide new connections by themselves.
type Sharing interface {
	// Shares are the parts of all new connections, which add up to 1, that a VIP's backends should get, in their order: 0 for those
	// that take none. nil: nobody can say.
	Shares(v *View, x *VIP) []float64
}

// Limited is an app that tells of what a VIP of its mode lacks.
type Limited interface {
	// Limits says what is not as the mode promises, "" if nothing; degraded if it is more than users need to know.
	Limits(v *View, x *VIP) (degraded bool, reason string)
}
