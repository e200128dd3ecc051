package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/evenflow/evenflow/agent"
	"github.com/evenflow/evenflow/agent/wire"
)

func agentCommand(t *terminal) *cobra.Command {
	var host string
	var interval time.Duration
	cmd := &cobra.Command{Use: "agent", Short: "Tell the controller which connections this host has", Args: cobra.NoArgs,
		Long: "agent runs on the host of backends, and tells the controller of the connections to an address of it: all TCP\n" +
			"connections, and what the kernel tracks of UDP, if it does. The controller then knows live connections in every mode,\n" +
			"and in mode othello pins what a change has moved, and need not keep what was before the change. Without agents nothing\n" +
			"breaks: it is kept.",
		Example: "  evenflow agent token 10.0.0.1 > token       # at the controller, with its own token\n" +
			"  evenflow agent --server https://controller:8080 --token-file token --host 10.0.0.1"}
	con := newConnection(t, cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		a, err := netip.ParseAddr(host)
		if err != nil {
			return fmt.Errorf("--host %q: want an address of this host", host)
		}
		c, err := con.open()
		if err != nil {
			return err
		}
		c.speakHTTP2()
		log := logrus.New()
		log.SetOutput(t.err)
		kernel := &agent.Kernel{Host: a, Log: log}
		defer kernel.Close() //nolint:errcheck // the end of the program closes it as well
		return agent.Run(cmd.Context(), agent.Config{Host: a, Interval: interval, Read: kernel.Read, Wait: agent.Pause, Log: log,
			Dial: func(ctx context.Context, body io.Reader) (io.ReadCloser, error) { return c.converse(ctx, a, body) }})
	}
	cmd.Flags().StringVar(&host, "host", "", "the backend's address, one of this host's")
	cmd.Flags().DurationVar(&interval, "interval", 5*time.Second, "between two looks at what has changed, 1s to 10s")
	token := &cobra.Command{Use: "token HOST", Short: "Print the token for the agent of a host", Args: exactly(1),
		Long: "token prints the token that the agent of the host with an address needs. It is good for what that host has, and for nothing else.\n" +
			"It follows from a key that the controller made when it first began, and so is always the same."}
	token.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := con.open()
		if err != nil {
			return err
		}
		raw, err := c.get(cmd.Context(), fill("/agents/%/token", args[0]))
		if err != nil {
			return err
		}
		var answer struct {
			Token string `json:"token"`
		}
		if err := json.Unmarshal(raw, &answer); err != nil {
			return err
		}
		_, err = fmt.Fprintln(t.out, answer.Token)
		return err
	}
	cmd.AddCommand(token)
	return cmd
}

// speakHTTP2 has the client speak HTTP/2 without TLS as well; with it that is agreed upon.
func (c *client) speakHTTP2() {
	t := c.http.Transport.(*http.Transport)
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP2(true)
	t.Protocols.SetUnencryptedHTTP2(true)
	if u, err := url.Parse(c.base); err == nil && u.Scheme == "https" {
		t.Protocols.SetHTTP1(true) // and without TLS it would be taken instead
	}
}

// converse begins an agent's conversation with the controller.
func (c *client) converse(ctx context.Context, host netip.Addr, body io.Reader) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+api+"/agents/"+url.PathEscape(host.String())+"/states", body)
	if err != nil {
		return nil, err
	}
	c.identify(req)
	req.Header.Set("Content-Type", wire.Type)
	req.Header.Set("Content-Encoding", "gzip")
	req.Header.Set("Accept", wire.Type+", application/problem+json")
	req.Header.Set("Accept-Encoding", "gzip") // so that nobody unpacks it on the way
	res, err := c.do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
		if err != nil {
			return nil, err
		}
		return nil, readProblem(res, b)
	}
	return res.Body, nil
}
