package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/evenflow/evenflow/agent"
)

func agentCommand(t *terminal) *cobra.Command {
	var host string
	var interval time.Duration
	cmd := &cobra.Command{Use: "agent", Short: "Tell the controller which connections this host has", Args: cobra.NoArgs,
		Long: "agent runs on the host of backends of VIPs of mode othello, and reports all TCP connections of an address of it, as\n" +
			"/api/v1/agents/{host}/states takes them. With them the controller pins what a change has moved, and need not keep what\n" +
			"was before the change. Without agents nothing breaks: it is kept.",
		Example: "  evenflow agent --server https://controller:8080 --token-file /etc/evenflow/token --host 10.0.0.1"}
	con := newConnection(t, cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		a, err := netip.ParseAddr(host)
		if err != nil {
			return fmt.Errorf("--host %s: want an address of this host", host)
		}
		c, err := con.open()
		if err != nil {
			return err
		}
		log := logrus.New()
		log.SetOutput(t.err)
		return agent.Run(cmd.Context(), agent.Config{Host: a, Interval: interval, Read: agent.TCP, Wait: agent.Pause, Log: log,
			Send: func(ctx context.Context, r agent.Report) (int64, error) {
				raw, err := c.call(ctx, http.MethodPost, api+"/agents/"+url.PathEscape(a.String())+"/states", "application/json", r, 0)
				if err != nil {
					return 0, err
				}
				var answer struct {
					After int64 `json:"after"`
				}
				return answer.After, json.Unmarshal(raw, &answer)
			}})
	}
	cmd.Flags().StringVar(&host, "host", "", "the backend's address, one of this host's")
	cmd.Flags().DurationVar(&interval, "interval", 5*time.Second, "between two reports, at least 1s")
	must(cmd.MarkFlagRequired("host"))
	return cmd
}
