package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const (
	defaultServer  = "http://127.0.0.1:8080"
	requestTimeout = 30 * time.Second // beside the time that a write waits for switches
	maxAnswer      = 64 << 20
)

// connection is how client commands are told where the server is.
type connection struct {
	t                         *terminal
	server, tokenFile, caFile string
}

func newConnection(t *terminal, cmd *cobra.Command) *connection {
	c := &connection{t: t}
	f := cmd.PersistentFlags()
	f.StringVar(&c.server, "server", "", "URL of the controller (EVENFLOW_SERVER; default "+defaultServer+")")
	f.StringVar(&c.caFile, "ca-file", "", "authorities of the controller's certificate, in PEM (EVENFLOW_CA_FILE; default those of the system)")
	f.StringVar(&c.tokenFile, "token-file", "", "file that holds the API's bearer token (EVENFLOW_TOKEN: the token itself)")
	return c
}

// client talks to a server.
type client struct {
	base  string
	token string
	http  *http.Client
}

func (c *connection) open() (*client, error) {
	server := c.server
	if server == "" {
		server = c.t.env("EVENFLOW_SERVER")
	}
	if server == "" {
		server = defaultServer
	}
	if !strings.Contains(server, "://") {
		server = "http://" + server
	}
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("server %q: want a URL such as %s", server, defaultServer)
	}
	token := c.t.env("EVENFLOW_TOKEN")
	if c.tokenFile != "" {
		if token, err = readToken(c.tokenFile); err != nil {
			return nil, err
		}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if c.caFile == "" {
		c.caFile = c.t.env("EVENFLOW_CA_FILE")
	}
	if c.caFile != "" {
		pool, err := readAuthorities(c.caFile)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
	}
	return &client{base: strings.TrimSuffix(u.String(), "/"), token: token, http: &http.Client{
		Transport: transport,
		// A redirect is no answer of ours, and the token is not for whoever it leads to.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// readToken is the first line of a file.
func readToken(file string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	token, rest, _ := strings.Cut(string(b), "\n")
	if token = strings.TrimSpace(token); token == "" || strings.TrimSpace(rest) != "" {
		return "", fmt.Errorf("token: %s: want one line with the token", file)
	}
	return token, nil
}

const api = "/api/v1"

// get is the body of an answer.
func (c *client) get(ctx context.Context, path string) ([]byte, error) {
	return c.call(ctx, http.MethodGet, api+path, "", nil, 0)
}

// call sends a request and returns the body of its answer. An answer that is no success is a [problem]. wait is how long
// the server may take beside the usual time.
func (c *client) call(ctx context.Context, method, path, contentType string, body any, wait time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout+wait)
	defer cancel()
	var text io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		text = bytes.NewReader(b)
	}
	res, err := c.send(ctx, method, path, contentType, "application/json", text)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err == nil && len(b) > maxAnswer {
		err = fmt.Errorf("more than %d bytes", maxAnswer)
	}
	if err != nil {
		return nil, fmt.Errorf("answer of %s: %w", c.base, err)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, readProblem(res, b)
	}
	return b, nil
}

func (c *client) send(ctx context.Context, method, path, contentType, accept string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	c.identify(req)
	return c.do(req)
}

// identify says who asks.
func (c *client) identify(req *http.Request) {
	req.Header.Set("User-Agent", "evenflow/"+version)
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
}

func (c *client) do(req *http.Request) (*http.Response, error) {
	res, err := c.http.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // the rest repeats the URL
		}
		return nil, fmt.Errorf("no answer from %s: %w", c.base, err)
	}
	return res, nil
}
