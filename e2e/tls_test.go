package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
)

// Switches connect by TLS to an address that others can reach. One whose certificate is another authority's is refused and so is
// one of a version that is not wanted, and the log says why.
func TestTLS(t *testing.T) {
	ours, theirs := lab.NewAuthority(t, "ours"), lab.NewAuthority(t, "theirs")
	cert, key := ours.Issue("controller")
	w := newNetwork(t, 2, "", "--openflow", "ssl:0.0.0.0:6654", "--openflow-tls-cert", cert, "--openflow-tls-key", key,
		"--openflow-tls-ca", ours.CA, "--openflow-versions", "1.5")
	client, backend := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2)
	serve(8080, backend)
	w.ctl.start()
	addresses := w.Manage(w.ctl.home, w.switches...)
	good, bad := w.sw(1), w.sw(2)
	for s, a := range map[*lab.Switch]*lab.Authority{good: ours, bad: theirs} {
		cert, key := a.Issue(s.Name())
		s.Vsctl("set-ssl", key, cert, ours.CA)
	}
	logged := func(text string) {
		t.Helper()
		w.Eventually(patience, func() error {
			if !strings.Contains(w.ctl.child.Output(), text) {
				return fmt.Errorf("not logged: %s", text)
			}
			return nil
		})
	}
	bad.SetController("ssl:" + addresses[1] + ":6654")
	good.SetController("ssl:" + addresses[0] + ":6654")
	logged("certificate signed by unknown authority")
	w.Eventually(patience, func() error {
		all, err := w.api.switches()
		if err != nil || len(all) != 1 || !all[0].Ready || all[0].OpenFlow != "1.5" || !strings.HasPrefix(all[0].Address, "172.31.0.2:") {
			return fmt.Errorf("switches %+v, %v", all, err)
		}
		return w.portsKnown(good)
	})
	w.service(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80"}, 8080, backend)
	w.who(w.dial(client, "tcp", "", address+":80"))

	cert, key = ours.Issue("s2")
	bad.Vsctl("set-ssl", key, cert, ours.CA)
	bad.Vsctl("set", "bridge", "s2", "protocols=OpenFlow13")
	logged("no common version: ours [1.5]")
	bad.Vsctl("set", "bridge", "s2", "protocols=OpenFlow13,OpenFlow15")
	w.Eventually(patience, func() error {
		all, err := w.api.switches()
		if err != nil || len(all) != 2 || !all[1].Ready {
			return fmt.Errorf("switches %+v, %v", all, err)
		}
		return nil
	})
	w.who(w.dial(client, "tcp", "", address+":80"))
}
