package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/web"
)

// Somebody gives a bucket weight in a switch, by which Open vSwitch multiplies its score, so that its backend gets nearly all. That
// is found by counting, and stands in the VIP's reason and an event; and so does the end of it.
func TestGroupSkew(t *testing.T) {
	p := newGroupPool(t, "OpenFlow15")
	made := &made{by: map[string]int64{}}
	made.some(p, 100)
	if r, err := p.vip("tcp"); err != nil || r.Status.Reason != "" {
		t.Fatalf("reason %q, %v", r.Status.Reason, err)
	}
	group := ""
	for _, g := range p.sw(1).DumpGroups() {
		if strings.Contains(g, "reg0") && strings.Contains(g, "tcp_src") && (group == "" || g < group) { // the VIP tcp was declared first
			group = g
		}
	}
	heavy := strings.Replace(group, "bucket=bucket_id:256,", "bucket=bucket_id:256,weight:50,", 1)
	if heavy == group {
		t.Fatalf("no bucket of the first backend in %q", group)
	}
	skewed := func() error {
		r, err := p.vip("tcp")
		if err == nil && !strings.Contains(r.Status.Reason, "do not spread as they should: b") {
			err = fmt.Errorf("phase %s, reason %q", r.Status.Phase, r.Status.Reason)
		}
		if err == nil && r.Status.Phase != vip.PhaseUp {
			t.Errorf("phase %s", r.Status.Phase)
		}
		return err
	}
	p.Eventually(patience, func() error { // the next audit mends the group, whenever that is
		p.sw(1).Ofctl("mod-group", heavy)
		made.some(p, 60)
		return skewed()
	})
	p.told("vip tcp new connections do not spread as they should: b")
	p.change(http.MethodPatch, "tcp/backends/b2", map[string]any{"weight": 2}) // the group as it should be, and another window
	if r, err := p.vip("tcp"); err != nil || strings.Contains(r.Status.Reason, "spread") {
		t.Errorf("reason %q, %v", r.Status.Reason, err)
	}
}

// reader is one way to read how many connections a VIP has had.
type reader struct {
	name string
	read func(ctx context.Context) (int64, error)
}

// readers are all ways there are, the stream of what is now apart.
func (w *network) readers(name string) []reader {
	metric := regexp.MustCompile(`evenflow_vip_new_connections_total\{backend="[^"]*",vip="` + name + `"\} (\d+)`)
	return []reader{
		{"the VIP", func(context.Context) (int64, error) {
			r, err := w.vip(name)
			return r.Status.NewConnections, err
		}},
		{"the list", func(context.Context) (int64, error) {
			all, err := list[vip.Read](w.api, "/vips")
			for _, r := range all {
				if r.Name == name {
					return r.Status.NewConnections, err
				}
			}
			return 0, err
		}},
		{"its backends", func(context.Context) (n int64, err error) {
			r, err := w.vip(name)
			for _, b := range r.Status.Backends {
				n += b.NewConnections
			}
			return n, err
		}},
		{"metrics", func(context.Context) (n int64, err error) {
			resp, err := w.client.Get("http://" + apiAddress + "/metrics")
			if err != nil {
				return 0, err
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			for _, m := range metric.FindAllSubmatch(text, -1) {
				var one int64
				if _, err := fmt.Sscan(string(m[1]), &one); err != nil {
					return 0, err
				}
				n += one
			}
			return n, err
		}},
	}
}

// follow reads of a VIP in the stream of what is now, and hands each number on.
func (w *network) follow(ctx context.Context, name string, got func(int64)) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+apiAddress+"/api/v1/live", nil)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: w.client.Transport}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	event := ""
	for lines.Scan() {
		if e, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			event = e
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || event != "vips" {
			continue
		}
		var rows struct{ Items []web.LiveVIP }
		if err := json.Unmarshal([]byte(data), &rows); err != nil {
			return err
		}
		for _, r := range rows.Items {
			if r.Name == name {
				got(r.NewConnections)
			}
		}
	}
	return lines.Err()
}

// Whoever reads how many connections there have been, and however often, sees a number that never falls and comes to be right,
// while backends come, change and leave and each change of the group sets the switch's counters of it to zero.
func TestGroupCountsForAllReaders(t *testing.T) {
	p := newGroupPool(t, "OpenFlow15")
	const total = 120
	made := &made{by: map[string]int64{}}
	var most atomic.Int64
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	var wg sync.WaitGroup
	note := func(name string) func(int64) {
		last := int64(0)
		return func(n int64) {
			if n < last {
				t.Errorf("%s: %d connections, after %d", name, n, last)
			}
			last = n
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
		}
	}
	for _, r := range p.readers("tcp") {
		wg.Go(func() {
			see := note(r.name)
			for ctx.Err() == nil {
				n, err := r.read(ctx)
				if err != nil {
					t.Errorf("%s: %v", r.name, err)
					return
				}
				if r.name == "the VIP" || r.name == "the list" { // of the others the sum falls when a backend leaves
					see(n)
				}
			}
		})
	}
	streamed := make(chan struct{})
	wg.Go(func() {
		see, done := note("the stream"), false
		if err := p.follow(ctx, "tcp", func(n int64) {
			see(n)
			if n >= total && !done {
				done = true
				close(streamed)
			}
		}); err != nil && ctx.Err() == nil {
			t.Errorf("the stream: %v", err)
		}
	})
	for _, how := range []func(){
		func() {},
		func() { p.change(http.MethodPatch, "tcp/backends/b1", map[string]any{"weight": 3}) },
		func() { p.change(http.MethodDelete, "tcp/backends/b2", nil) },
		func() {
			p.change(http.MethodPost, "tcp/backends", vip.BackendSpec{Name: "b2", Address: p.backends[1].IP(), Port: 8080})
		},
		func() { p.change(http.MethodPatch, "tcp/backends/b3", map[string]any{"admin": "draining"}) },
		func() { p.change(http.MethodPatch, "tcp/backends/b3", map[string]any{"admin": "enabled"}) },
	} {
		how()
		made.some(p, total/6)
	}
	for _, r := range p.readers("tcp") {
		p.Eventually(patience, func() error {
			n, err := r.read(ctx)
			if err == nil && !made.are(n) {
				err = fmt.Errorf("%s: %d connections, want %d", r.name, n, total)
			}
			return err
		})
	}
	select {
	case <-streamed:
	case <-p.ctx.Done():
		t.Error("the stream never came to be right")
	}
	cancel()
	wg.Wait()
	if n := most.Load(); !made.are(n) {
		t.Errorf("%d connections of %d", n, total)
	}
}
