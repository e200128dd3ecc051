package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// place is where the API says that a host is, and whether it is live: "s1:2 live".
func (w *network) place(h *lab.Host) (string, error) {
	all, err := w.hosts()
	if err != nil {
		return "", err
	}
	for _, x := range all {
		if x.MAC.String() == h.MAC() {
			state := "gone"
			if x.Live {
				state = "live"
			}
			return fmt.Sprintf("s%d:%d %s", x.DPID, x.PortNo, state), nil
		}
	}
	return "unknown", nil
}

func (w *network) awaitPlace(h *lab.Host, want string) {
	w.t.Helper()
	w.Eventually(patience, func() error {
		got, err := w.place(h)
		if err == nil && got != want {
			err = fmt.Errorf("%s is at %s, not at %s", h.Name(), got, want)
		}
		return err
	})
}

// double makes a host with the MAC and the address of another at another port.
func (w *network) double(h *lab.Host, sw, port int) *lab.Host {
	d := w.Host(h.Name()+"x", h.IP()+w.family.hosts[strings.Index(w.family.hosts, "/"):], lab.MAC(h.MAC()))
	w.cables[d.Name()] = w.Link(d, 0, w.sw(sw), port)
	return d
}

// A host that has left its port is served where it appears again, and so is the VIP whose backend it is. One that appears
// elsewhere while it still answers where it was is somebody else's doing: it is refused, and nothing changes for anybody.
func TestMove(t *testing.T) {
	t.Parallel()
	for _, f := range []family{ipv4, ipv6} {
		t.Run(f.name, func(t *testing.T) {
			w := line(t, 2, "")
			w.family = f
			client, backend := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2)
			double := w.double(backend, 2, 1)
			w.cables["b1x"].Cut()
			serve(8080, backend, double)
			w.start()
			w.service(vip.Spec{Name: "web", Address: f.vip, Protocol: vip.TCP, Port: "80"}, 8080, backend)
			c := w.dial(client, "tcp", "", f.web(80))
			w.who(c)
			w.awaitPlace(backend, "s1:2 live")

			w.cables["b1x"].Restore()
			w.Eventually(patience, func() error { return w.portsKnown(w.sw(2)) })
			in := double.Frames()
			end := time.Now().Add(4 * time.Second)
			for tick := time.NewTicker(100 * time.Millisecond); time.Now().Before(end); <-tick.C {
				if err := in.Send(announcement(t, double)); err != nil {
					t.Fatal(err)
				}
				if got, err := w.place(backend); err != nil || got != "s1:2 live" {
					t.Fatalf("while it still answers, %s is at %s, %v", backend.Name(), got, err)
				}
				if who := w.who(c); who != "b1" {
					t.Fatalf("a connection has gone from b1 to %s", who)
				}
			}
			w.toldOf("refused: still answers", func() error { return in.Send(announcement(t, double)) })

			w.cables["b1"].Cut()
			w.Eventually(patience, func() error { // again, as a host does that nobody answers
				if err := in.Send(announcement(t, double)); err != nil {
					return err
				}
				got, err := w.place(backend)
				if err == nil && got != "s2:1 live" {
					err = fmt.Errorf("it is at %s", got)
				}
				return err
			})
			w.awaitState("web", "b1", vip.StateUp)
			if who := w.who(w.dial(client, "tcp", "", f.web(80))); who != "b1x" {
				t.Errorf("after the move %s answers", who)
			}
		})
	}
}

// announcement is a frame by which a host tells all that it has its address.
func announcement(t *testing.T, h *lab.Host) []byte {
	t.Helper()
	if strings.Contains(h.IP(), ":") {
		return advertisement(t, h)
	}
	return arpRequest(t, h, h.IP())
}

// Hosts that fall silent, though their cables are plugged in, are noticed; those that answer stay.
func TestSilentHosts(t *testing.T) {
	w := line(t, 2, "")
	old, old2 := w.host("h1", 1, 1, 1), w.host("h2", 2, 2, 1)
	w.family = ipv6
	young, young2 := w.host("h3", 3, 1, 2), w.host("h4", 4, 2, 2)
	w.start()
	w.run(old, "ping", "-c1", "-W5", old2.IP())
	w.run(young, "ping", "-c1", "-W5", young2.IP())
	for h, at := range map[*lab.Host]string{old: "s1:1", old2: "s2:1", young: "s1:2", young2: "s2:2"} {
		w.awaitPlace(h, at+" live")
	}
	for _, h := range []*lab.Host{old, young} {
		w.run(h, "ip", "address", "flush", "dev", "eth0")
	}
	w.Eventually(time.Minute, func() error { // 30 s until they are asked, and three questions
		for _, h := range []*lab.Host{old, young} {
			if got, err := w.place(h); err != nil || !strings.HasSuffix(got, " gone") {
				return fmt.Errorf("%s is at %s, %v", h.Name(), got, err)
			}
		}
		return nil
	})
	for h, want := range map[*lab.Host]string{old2: "s2:1 live", young2: "s2:2 live"} {
		if got, err := w.place(h); err != nil || got != want {
			t.Errorf("%s answers, and is at %s, %v", h.Name(), got, err)
		}
	}
}

// An address that a known host takes is learned from its first request, though the switch answers that by itself.
func TestSecondAddress(t *testing.T) {
	t.Parallel()
	for _, f := range []family{ipv4, ipv6} {
		t.Run(f.name, func(t *testing.T) {
			w := line(t, 1, "")
			w.family = f
			client := w.host("c1", 11, 1, 1)
			w.start()
			w.declare(vip.Spec{Name: "web", Address: f.vip, Protocol: vip.TCP, Port: "80"})
			w.run(client, "ping", "-c1", "-W5", f.vip)
			w.awaitPlace(client, "s1:1 live")
			second := fmt.Sprintf(f.hosts, 12)
			argv := []string{"ip", "address", "add", second, "dev", "eth0"}
			if f.name == "IPv6" {
				argv = append(argv, "nodad")
			}
			w.run(client, argv...)
			w.run(client, "ip", "neighbour", "flush", "all")
			address, _, _ := strings.Cut(second, "/")
			w.run(client, "ping", "-c1", "-W5", "-I", address, f.vip)
			w.Eventually(patience, func() error {
				hosts, err := w.hosts()
				if err == nil && !strings.Contains(fmt.Sprint(hosts), address) {
					err = fmt.Errorf("%s is not known: %v", address, hosts)
				}
				return err
			})
		})
	}
}
