package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evenflow/evenflow/apps/vip"
)

func vipCommand(t *terminal) *cobra.Command {
	cmd := parent(&cobra.Command{Use: "vip", Short: "Create, change and delete VIPs",
		Long: "Create, change and delete VIPs. To see them, `evenflow get vips`; to change their backends, `evenflow backend`; to write\n" +
			"them whole, `evenflow apply`."})
	con, w := newConnection(t, cmd), newWrite(cmd)
	cmd.AddCommand(vipCreate(t, con, w), vipSet(t, con, w), vipDelete(t, con, w))
	return cmd
}

func vipCreate(t *terminal, con *connection, w *write) *cobra.Command {
	var spec vip.Spec
	var protocol, port, mode string
	var backends []string
	cmd := &cobra.Command{Use: "create NAME --address ADDRESS --port PORT", Short: "Create a VIP", Args: exactly(1),
		Example: "  evenflow vip create web --address 10.0.0.100 --port 80 --backend b1=10.0.0.1:8080 --backend b2=10.0.0.2:8080,weight=3\n" +
			"  evenflow vip create web --address 10.0.0.100 --port 80 --health tcp --backend b1=10.0.0.1:8080 --backend b2=10.0.0.2:8080\n" +
			"  evenflow vip create web6 --address fd00::100 --port 80 --backend b1=[fd00::1]:8080"}
	f := cmd.Flags()
	f.StringVar(&spec.Address, "address", "", "address of the VIP")
	f.StringVar(&port, "port", "", `port, or a range such as "8000-8010"`)
	f.StringVar(&protocol, "protocol", "tcp", "tcp or udp")
	f.StringVar(&mode, "mode", "", "group (the switch chooses, conntrack keeps), nat (the controller), deferred, othello (the switch, each packet anew) (default: group)")
	f.StringArrayVar(&backends, "backend", nil, "NAME=ADDRESS[:PORT][,weight=N]; may repeat")
	settings := newVIPSettings(cmd)
	for _, name := range []string{"address", "port"} {
		must(cmd.MarkFlagRequired(name))
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		spec.Name, spec.Protocol, spec.Port, spec.Mode = args[0], vip.Protocol(protocol), vip.PortRange(port), vip.Mode(mode)
		if err := settings.into(&spec); err != nil {
			return err
		}
		spec.Backends = []vip.BackendSpec{}
		for _, text := range backends {
			b, err := parseBackend(text)
			if err != nil {
				return err
			}
			spec.Backends = append(spec.Backends, b)
		}
		v, err := sendVIP(cmd, con, w, http.MethodPost, "/vips", spec)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(t.out, "vip %s %s: %s, version %d\n", v.Name, w.did("created"), where(v.Spec), v.Version)
		return err
	}
	return cmd
}

func vipSet(t *terminal, con *connection, w *write) *cobra.Command {
	cmd := &cobra.Command{Use: "set NAME", Short: "Change a VIP; what is not named stays", Args: exactly(1),
		Long:    "Change a VIP; what is not named stays. Its address, protocol, port and mode are fixed for life.",
		Example: "  evenflow vip set web --health tcp --health-interval 5s\n  evenflow vip set web --affinity 0"}
	settings := newVIPSettings(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		patch := settings.patch()
		if len(patch) == 0 {
			return errors.New("nothing to change: want at least one setting; see evenflow vip set --help")
		}
		v, err := sendVIP(cmd, con, w, http.MethodPatch, fill("/vips/%", args[0]), patch)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(t.out, "vip %s %s, version %d\n", v.Name, w.did("changed"), v.Version)
		return err
	}
	return cmd
}

// sendVIP makes a change and reads the VIP that is answered.
func sendVIP(cmd *cobra.Command, con *connection, w *write, method, path string, body any) (v vip.Read, err error) {
	c, err := con.open()
	if err != nil {
		return v, err
	}
	raw, err := w.send(cmd.Context(), c, method, path, body)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("answer: %w", err)
	}
	return v, nil
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
