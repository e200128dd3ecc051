package agent

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/evenflow/evenflow/agent/wire"
)

// readTries is how often a table is read that changes while it is.
const readTries = 3

// Kernel reads the connections of a host from its kernel.
type Kernel struct {
	Host netip.Addr
	Log  logrus.FieldLogger

	probe *probe // nil: there is none yet
	why   string // UDP is not read, as told
}

// Read is what the kernel has at the ports that are wanted.
func (k *Kernel) Read(wanted func(protocol string, port uint16) bool) (Reading, error) {
	tcp, err := TCP(k.Host)
	if err != nil {
		return Reading{}, err
	}
	r := Reading{Complete: []string{wire.TCP}}
	udp, err := k.udp()
	why := ""
	if err != nil {
		why = err.Error()
	} else {
		r.Complete = append(r.Complete, wire.UDP)
	}
	if why != k.why {
		k.why = why
		if why != "" {
			k.Log.WithError(err).Warn("UDP is not told")
		}
	}
	for _, s := range append(tcp, udp...) {
		if wanted(s.Protocol, s.Local.Port()) {
			r.States = append(r.States, s)
		}
	}
	return r, nil
}

// errUntracked is why nothing can be said of UDP.
var errUntracked = errors.New("the kernel tracks no connections here: no rule of its firewall asks for their state")

// udp is what the kernel tracks, if it does: it must have seen a datagram of our own.
func (k *Kernel) udp() ([]State, error) {
	if k.probe == nil {
		p, err := newProbe(k.Host)
		if err != nil {
			return nil, err
		}
		k.probe = p
	}
	if err := k.probe.send(); err != nil {
		return nil, err
	}
	all, err := UDP(k.Host)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if s.Local == k.probe.to && s.Client == k.probe.from {
			return all, nil
		}
	}
	return nil, errUntracked
}

// Close lets go of the probe.
func (k *Kernel) Close() error {
	if k.probe == nil {
		return nil
	}
	return k.probe.close()
}

// probePatience is how long a datagram to ourselves may take, which a firewall may drop.
const probePatience = time.Second

// probe is a pair of sockets of the host's own address, one of which sends to the other.
type probe struct {
	sender, sink *net.UDPConn
	from, to     netip.AddrPort
}

func newProbe(host netip.Addr) (*probe, error) {
	at := net.UDPAddrFromAddrPort(netip.AddrPortFrom(host, 0))
	sink, err := net.ListenUDP("udp", at)
	if err != nil {
		return nil, fmt.Errorf("a socket at %s: %w", host, err)
	}
	sender, err := net.DialUDP("udp", at, sink.LocalAddr().(*net.UDPAddr))
	if err != nil {
		return nil, errors.Join(err, sink.Close())
	}
	plain := func(a net.Addr) netip.AddrPort {
		p := a.(*net.UDPAddr).AddrPort()
		return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
	}
	return &probe{sender, sink, plain(sender.LocalAddr()), plain(sink.LocalAddr())}, nil
}

// send sends a datagram, and waits until it has come.
func (p *probe) send() error {
	if err := p.sink.SetReadDeadline(time.Now().Add(probePatience)); err != nil {
		return err
	}
	_, err := p.sender.Write([]byte("evenflow"))
	if err == nil {
		_, err = p.sink.Read(make([]byte, 16))
	}
	if err != nil {
		return fmt.Errorf("a datagram to ourselves: %w", err)
	}
	return nil
}

func (p *probe) close() error { return errors.Join(p.sender.Close(), p.sink.Close()) }

// States of TCP sockets that are no connections, or none any more (include/net/tcp_states.h).
const (
	tcpTimeWait = 6
	tcpClose    = 7
	tcpListen   = 10
)

// whole repeats a reading that was interrupted: its table has changed while it was read, and something may be missing.
func whole[T any](read func() ([]T, error)) (all []T, err error) {
	for range readTries {
		if all, err = read(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	return all, err
}

// end is one end of a connection as the kernel tells it, the zero AddrPort if its address is none.
func end(ip net.IP, port uint16) netip.AddrPort {
	a, ok := netip.AddrFromSlice(ip)
	if !ok {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(a.Unmap(), port)
}

// TCP are the TCP connections of the calling thread's network namespace with this local address, also those that a SYN has
// just begun. Those of IPv4 may be at sockets of IPv6, by mapped addresses: a server that listens on all addresses of both has them so.
func TCP(local netip.Addr) ([]State, error) {
	families := []uint8{unix.AF_INET6}
	if local.Is4() {
		families = append(families, unix.AF_INET)
	}
	var sockets []*netlink.Socket
	for _, family := range families {
		some, err := whole(func() ([]*netlink.Socket, error) { return netlink.SocketDiagTCP(family) })
		if err != nil {
			return nil, fmt.Errorf("read TCP sockets: %w", err)
		}
		sockets = append(sockets, some...)
	}
	var out []State
	for _, s := range sockets {
		if s.State == tcpTimeWait || s.State == tcpClose || s.State == tcpListen {
			continue
		}
		from, to := end(s.ID.Destination, s.ID.DestinationPort), end(s.ID.Source, s.ID.SourcePort)
		if from.IsValid() && to.Addr() == local {
			out = append(out, State{Protocol: wire.TCP, Client: from, Local: to})
		}
	}
	return out, nil
}

// UDP are the UDP conversations to this local address that the kernel tracks in the calling thread's network namespace, whoever sent the
// last datagram.
func UDP(local netip.Addr) ([]State, error) {
	family := netlink.InetFamily(unix.AF_INET)
	if local.Is6() {
		family = unix.AF_INET6
	}
	tracked, err := whole(func() ([]*netlink.ConntrackFlow, error) {
		return netlink.ConntrackTableList(netlink.ConntrackTable, family)
	})
	if err != nil {
		return nil, fmt.Errorf("read tracked connections: %w", err)
	}
	var out []State
	for _, f := range tracked {
		if f.Forward.Protocol != unix.IPPROTO_UDP {
			continue
		}
		from, to := end(f.Forward.SrcIP, f.Forward.SrcPort), end(f.Forward.DstIP, f.Forward.DstPort)
		if from.IsValid() && to.Addr() == local {
			out = append(out, State{Protocol: wire.UDP, Client: from, Local: to})
		}
	}
	return out, nil
}
