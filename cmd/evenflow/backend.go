package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evenflow/evenflow/apps/vip"
)

func backendCommand(t *terminal) *cobra.Command {
	cmd := parent(&cobra.Command{Use: "backend", Short: "Add, change, drain and remove the backends of a VIP"})
	b := &backendWriter{t, newConnection(t, cmd), newWrite(cmd)}
	cmd.AddCommand(b.add(), b.set(), b.drain(), b.remove())
	return cmd
}

type backendWriter struct {
	t   *terminal
	con *connection
	w   *write
}

// command is one that writes to the backend named by its arguments VIP and NAME.
func (b *backendWriter) command(use, short, done, method string, body func(cmd *cobra.Command, name string) (any, error)) *cobra.Command {
	return &cobra.Command{Use: use + " VIP NAME", Short: short, Args: exactly(2), RunE: func(cmd *cobra.Command, args []string) error {
		path := fill("/vips/%/backends/%", args...)
		if method == http.MethodPost {
			path = fill("/vips/%/backends", args...)
		}
		var send any
		if body != nil {
			var err error
			if send, err = body(cmd, args[1]); err != nil {
				return err
			}
		}
		c, err := b.con.open()
		if err != nil {
			return err
		}
		if _, err := b.w.send(cmd.Context(), c, method, path, send); err != nil {
			return err
		}
		name, _, _ := strings.Cut(args[1], "=")
		_, err = fmt.Fprintf(b.t.out, "backend %s of vip %s %s\n", name, args[0], b.w.did(done))
		return err
	}}
}

func (b *backendWriter) add() *cobra.Command {
	var address, admin string
	var port uint16
	var weight int
	var capacity float64
	cmd := b.command("add", "Add a backend", "added", http.MethodPost, func(cmd *cobra.Command, name string) (any, error) {
		spec := vip.BackendSpec{Name: name, Address: address, Port: port}
		if strings.Contains(name, "=") {
			for _, flag := range []string{"address", "port"} {
				if cmd.Flags().Changed(flag) {
					return nil, fmt.Errorf("--%s: %s says it already", flag, name)
				}
			}
			var err error
			if spec, err = parseBackend(name); err != nil {
				return nil, err
			}
		} else if address == "" {
			return nil, fmt.Errorf("no address of backend %s: want --address ADDRESS, or %s=ADDRESS[:PORT]", name, name)
		}
		if spec.Weight == nil || cmd.Flags().Changed("weight") {
			spec.Weight = &weight
		}
		spec.Admin, spec.Capacity = vip.Admin(admin), capacity
		return spec, nil
	})
	cmd.Use = "add VIP NAME=ADDRESS[:PORT]"
	cmd.Long = "Add a backend: as NAME=ADDRESS[:PORT], or as NAME with --address and --port."
	cmd.Example = "  evenflow backend add web b3=10.0.0.3:8080 --weight 2"
	cmd.Flags().StringVar(&address, "address", "", "its address")
	cmd.Flags().Uint16Var(&port, "port", 0, "its port (default: the VIP's)")
	cmd.Flags().IntVar(&weight, "weight", vip.DefaultWeight, "share of new connections, 0 to 255")
	cmd.Flags().Float64Var(&capacity, "capacity", 0, "what it can take in Mbit/s, by which loads are compared (default: its weight)")
	cmd.Flags().StringVar(&admin, "admin", string(vip.Enabled), "enabled, draining or disabled")
	return cmd
}

func (b *backendWriter) set() *cobra.Command {
	var address, admin string
	var port uint16
	var weight int
	var capacity float64
	cmd := b.command("set", "Change a backend; another address or port makes it another one", "changed", http.MethodPatch,
		func(cmd *cobra.Command, _ string) (any, error) {
			patch := map[string]any{}
			for name, value := range map[string]any{"address": &address, "port": &port, "weight": &weight, "capacity": &capacity, "admin": &admin} {
				if cmd.Flags().Changed(name) {
					patch[name] = value
				}
			}
			if len(patch) == 0 {
				return nil, errors.New("nothing to change: want at least one of --weight, --capacity, --admin, --address, --port")
			}
			return patch, nil
		})
	cmd.Flags().StringVar(&address, "address", "", "its address")
	cmd.Flags().Uint16Var(&port, "port", 0, "its port; 0: the VIP's")
	cmd.Flags().IntVar(&weight, "weight", 0, "share of new connections, 0 to 255")
	cmd.Flags().Float64Var(&capacity, "capacity", 0, "what it can take in Mbit/s, by which loads are compared; 0: by its weight")
	cmd.Flags().StringVar(&admin, "admin", "", "enabled, draining or disabled")
	return cmd
}

func (b *backendWriter) drain() *cobra.Command {
	cmd := b.command("drain", "Give a backend no new connections; those it has stay", "set to drain", http.MethodPatch,
		func(*cobra.Command, string) (any, error) { return map[string]any{"admin": vip.Draining}, nil })
	cmd.Long = "Give a backend no new connections; those it has stay until they end, at most for the VIP's drain_timeout.\n" +
		"`evenflow backend set VIP NAME --admin enabled` takes it back."
	return cmd
}

func (b *backendWriter) remove() *cobra.Command {
	return b.command("remove", "Remove a backend; its connections end", "removed", http.MethodDelete, nil)
}
