package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

// write is how a change is to be made.
type write struct {
	wait          time.Duration
	force, dryRun bool
}

func newWrite(cmd *cobra.Command) *write {
	w := &write{}
	cmd.PersistentFlags().Var((*seconds)(&w.wait), "wait", "wait so long for every connected switch to confirm; else fail (the change stands)")
	cmd.PersistentFlags().BoolVar(&w.force, "force", false, "change also a VIP that the server's configuration file declares")
	cmd.PersistentFlags().BoolVar(&w.dryRun, "dry-run", false, "check, and change nothing")
	return w
}

// seconds is a flag's value: a duration such as 30s, or a plain number of seconds.
type seconds time.Duration

func (s *seconds) String() string { return time.Duration(*s).String() }
func (s *seconds) Type() string   { return "duration" }

func (s *seconds) Set(text string) error {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		*s = seconds(time.Duration(n) * time.Second)
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return errors.New(`want a time such as "30s" or "2m"`)
	}
	*s = seconds(d)
	return nil
}

const (
	typeJSON  = "application/json"
	typePatch = "application/merge-patch+json"
)

// send makes a change and returns the answer's body.
func (w *write) send(ctx context.Context, c *client, method, path string, body any) ([]byte, error) {
	q := url.Values{}
	if w.wait > 0 {
		q.Set("wait", w.wait.String())
	}
	if w.force {
		q.Set("force", "true")
	}
	if w.dryRun {
		q.Set("dry_run", "true")
	}
	path = api + path
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	kind := ""
	switch {
	case method == http.MethodPatch:
		kind = typePatch
	case body != nil:
		kind = typeJSON
	}
	return c.call(ctx, method, path, kind, body, w.wait)
}

// did is what is said of a change made, or only tried.
func (w *write) did(done string) string {
	if w.dryRun {
		return "would be " + done
	}
	return done
}
