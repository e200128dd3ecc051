package main

import (
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/evenflow/evenflow/apps"
)

func explainCommand(t *terminal) *cobra.Command {
	var src, dst, proto string
	cmd := &cobra.Command{Use: "explain", Short: "Say to which backend a new connection goes", Args: cobra.NoArgs,
		Example: "  evenflow explain --src 10.0.0.9:40000 --dst 10.0.0.100:80"}
	con, out := newConnection(t, cmd), newOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := out.check(); err != nil {
			return err
		}
		c, err := con.open()
		if err != nil {
			return err
		}
		path := "/explain?" + url.Values{"src": {src}, "dst": {dst}, "proto": {proto}}.Encode()
		return out.show(cmd.Context(), t, c, path, func(raw []byte) (string, error) {
			var x apps.Explanation
			if err := json.Unmarshal(raw, &x); err != nil {
				return "", err
			}
			return explanation(src, dst, proto, x), nil
		})
	}
	cmd.Flags().StringVar(&src, "src", "", "the client's address and port")
	cmd.Flags().StringVar(&dst, "dst", "", "the VIP's address and port")
	cmd.Flags().StringVar(&proto, "proto", "tcp", "tcp or udp")
	must(cmd.MarkFlagRequired("src"))
	must(cmd.MarkFlagRequired("dst"))
	return cmd
}

// explanation is what becomes of a connection, and what each switch would do with it.
func explanation(src, dst, proto string, x apps.Explanation) string {
	head := newTable("connection", fmt.Sprintf("%s to %s/%s", src, dst, proto))
	head.add("vip", fmt.Sprintf("%s, mode %s", x.VIP, x.Mode))
	client := "not a known host: what all switches would choose"
	if x.DPID != "" {
		client = "at switch " + x.DPID
	}
	head.add("client", client)
	backend := x.Backend
	if backend == "" {
		backend = "- " + x.Reason
	}
	if x.Via != "" {
		backend += " via " + x.Via
	}
	head.add("backend", backend)
	if x.Detail != "" {
		head.add("how", x.Detail)
	}
	switches := newTable("SWITCH", "HASH", "BACKEND", "REASON")
	for _, c := range x.Switches {
		reason := c.Reason
		if reason != "" && reason == x.Reason {
			reason = "as above"
		}
		switches.add(c.DPID, c.Hash, c.Backend, reason)
	}
	return head.String() + "\n" + switches.String()
}
