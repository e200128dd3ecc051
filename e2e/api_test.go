package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/lab"
	"github.com/evenflow/evenflow/web"
)

// api is the controller's REST interface.
type api struct {
	client http.Client
	base   string // URL, without a path
	token  string // none if empty
}

func newAPI(home *lab.Host) *api {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		return home.Dial(ctx, network, address)
	}
	return &api{client: http.Client{Timeout: time.Minute, Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}, base: "http://" + apiAddress}
}

// call sends a request and decodes the answer into out, unless that is nil. An answer that is not 2xx is an error.
func (a *api) call(method, path string, body, out any) error {
	var send io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		send = bytes.NewReader(b)
	}
	req, err := http.NewRequest(method, a.base+path, send)
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s %s: %w in %s", method, path, err, text)
	}
	return nil
}

// list reads all of a path below /api/v1.
func list[T any](a *api, path string) ([]T, error) {
	var all struct{ Items []T }
	err := a.call(http.MethodGet, "/api/v1"+path, nil, &all)
	return all.Items, err
}

func (a *api) switches() ([]apps.SwitchStatus, error) { return list[apps.SwitchStatus](a, "/switches") }
func (a *api) links() ([]apps.LinkStatus, error)      { return list[apps.LinkStatus](a, "/links") }
func (a *api) hosts() ([]apps.HostStatus, error)      { return list[apps.HostStatus](a, "/hosts") }
func (a *api) ports(d string) ([]apps.PortStatus, error) {
	return list[apps.PortStatus](a, "/switches/"+d+"/ports")
}
func (a *api) flows(d string) ([]web.Flow, error) { return list[web.Flow](a, "/switches/"+d+"/flows") }

func (a *api) connections(name string) ([]apps.Connection, error) {
	return list[apps.Connection](a, "/vips/"+name+"/connections")
}

func (a *api) vip(name string) (r vip.Read, err error) {
	err = a.call(http.MethodGet, "/api/v1/vips/"+name, nil, &r)
	return r, err
}

// status is one backend's.
func (a *api) status(name, backend string) (vip.BackendStatus, error) {
	r, err := a.vip(name)
	if err != nil {
		return vip.BackendStatus{}, err
	}
	for _, b := range r.Status.Backends {
		if b.Name == backend {
			return b, nil
		}
	}
	return vip.BackendStatus{}, fmt.Errorf("VIP %s has no backend %s", name, backend)
}

// live is the number of live connections of a VIP.
func (a *api) live(name string) (n int64, err error) {
	r, err := a.vip(name)
	if err != nil {
		return 0, err
	}
	for _, b := range r.Status.Backends {
		if b.Connections == nil {
			return 0, fmt.Errorf("backend %s does not count connections", b.Name)
		}
		n += *b.Connections
	}
	return n, nil
}
