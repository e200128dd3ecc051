package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/evenflow/evenflow/apps/vip"
)

func vipCommand(t *terminal) *cobra.Command {
	cmd := parent(&cobra.Command{Use: "vip", Short: "Create and delete VIPs",
		Long: "Create and delete VIPs. To see them, `evenflow get vips`; to change their backends, `evenflow backend`; to change\n" +
			"the rest of them, `evenflow apply`."})
	con, w := newConnection(t, cmd), newWrite(cmd)
	cmd.AddCommand(vipCreate(t, con, w), vipDelete(t, con, w))
	return cmd
}

func vipCreate(t *terminal, con *connection, w *write) *cobra.Command {
	var spec vip.Spec
	var health healthFlags
	var protocol, port, mode, reject, onImbalance string
	var idle, drain, affinity time.Duration
	var backends []string
	cmd := &cobra.Command{Use: "create NAME --address ADDRESS --port PORT", Short: "Create a VIP", Args: exactly(1),
		Long: "Create a VIP. What has no flag here (gateways, handover, capacities of backends) is set by `evenflow apply`; docs/api.md has\n" +
			"all fields.",
		Example: "  evenflow vip create web --address 10.0.0.100 --port 80 --backend b1=10.0.0.1:8080 --backend b2=10.0.0.2:8080,weight=3\n" +
			"  evenflow vip create web --address 10.0.0.100 --port 80 --health tcp --backend b1=10.0.0.1:8080 --backend b2=10.0.0.2:8080\n" +
			"  evenflow vip create web6 --address fd00::100 --port 80 --backend b1=[fd00::1]:8080"}
	f := cmd.Flags()
	f.StringVar(&spec.Address, "address", "", "address of the VIP")
	f.StringVar(&port, "port", "", `port, or a range such as "8000-8010"`)
	f.StringVar(&protocol, "protocol", "tcp", "tcp or udp")
	f.StringVar(&mode, "mode", "", "group (the switch chooses, conntrack keeps), nat (the controller), deferred, othello (the switch, each packet anew) (default: group)")
	f.StringVar(&spec.Scheduler, "scheduler", "", "how mode nat chooses: "+strings.Join(vip.Schedulers(), ", ")+" (default: two-choices)")
	f.DurationVar(&idle, "idle-timeout", 0, "after which a silent connection is over (default: 1h for tcp, 1m for udp)")
	f.DurationVar(&drain, "drain-timeout", 0, "after which the connections of a draining backend are ended (default: 5m)")
	f.DurationVar(&affinity, "affinity", 0, "for which a client comes to the same backend (default: not at all)")
	f.StringVar(&reject, "reject", "", "what clients are told of connections that cannot be had: answer or drop (default: answer)")
	health.register(cmd)
	f.StringVar(&onImbalance, "on-imbalance", "", "what follows uneven loads: alarm or reweight (default: alarm)")
	f.StringArrayVar(&backends, "backend", nil, "NAME=ADDRESS[:PORT][,weight=N]; may repeat")
	for _, name := range []string{"address", "port"} {
		must(cmd.MarkFlagRequired(name))
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		spec.Name, spec.Protocol, spec.Port, spec.Mode = args[0], vip.Protocol(protocol), vip.PortRange(port), vip.Mode(mode)
		spec.IdleTimeout, spec.DrainTimeout, spec.Reject = vip.Duration(idle), vip.Duration(drain), vip.Reject(reject)
		spec.OnImbalance = vip.OnImbalance(onImbalance)
		if affinity != 0 {
			spec.Affinity = &vip.Affinity{Timeout: vip.Duration(affinity)}
		}
		spec.Health = health.spec(cmd)
		spec.Backends = []vip.BackendSpec{}
		for _, text := range backends {
			b, err := parseBackend(text)
			if err != nil {
				return err
			}
			spec.Backends = append(spec.Backends, b)
		}
		c, err := con.open()
		if err != nil {
			return err
		}
		raw, err := w.send(cmd.Context(), c, http.MethodPost, "/vips", spec)
		if err != nil {
			return err
		}
		var v vip.Read
		if err := json.Unmarshal(raw, &v); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
		_, err = fmt.Fprintf(t.out, "vip %s %s: %s, version %d\n", v.Name, w.did("created"), where(v.Spec), v.Version)
		return err
	}
	return cmd
}

func vipDelete(t *terminal, con *connection, w *write) *cobra.Command {
	return &cobra.Command{Use: "delete NAME", Short: "Delete a VIP; its connections end", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := con.open()
			if err != nil {
				return err
			}
			if _, err := w.send(cmd.Context(), c, http.MethodDelete, fill("/vips/%", args[0]), nil); err != nil {
				return err
			}
			_, err = fmt.Fprintf(t.out, "vip %s %s\n", args[0], w.did("deleted"))
			return err
		}}
}

// parseBackend reads NAME=ADDRESS[:PORT][,weight=N].
func parseBackend(text string) (vip.BackendSpec, error) {
	wrong := func() (vip.BackendSpec, error) {
		return vip.BackendSpec{}, fmt.Errorf("backend %q: want NAME=ADDRESS[:PORT][,weight=N], such as b1=10.0.0.1:8080,weight=3 or b1=[fd00::1]:8080", text)
	}
	name, rest, ok := strings.Cut(text, "=")
	endpoint, options, weighted := strings.Cut(rest, ",")
	if !ok || name == "" {
		return wrong()
	}
	b := vip.BackendSpec{Name: name, Address: endpoint}
	if ap, err := netip.ParseAddrPort(endpoint); err == nil && ap.Port() != 0 {
		b.Address, b.Port = ap.Addr().String(), ap.Port()
	} else if _, err := netip.ParseAddr(endpoint); err != nil {
		return wrong()
	}
	if weighted {
		n, ok := strings.CutPrefix(options, "weight=")
		weight, err := strconv.Atoi(n)
		if !ok || err != nil {
			return wrong()
		}
		b.Weight = &weight
	}
	return b, nil
}

// must is for what only a mistake in this program makes fail.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
