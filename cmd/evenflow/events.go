package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/evenflow/evenflow/apps"
)

// events shows what happened; with --watch it follows the server's stream of events.
func (g *getter) events() *cobra.Command {
	var since, last uint64
	cmd := &cobra.Command{Use: "events", Short: "What happened, oldest first", Args: cobra.NoArgs}
	cmd.Flags().Uint64Var(&since, "since", 0, "only events with a higher id")
	cmd.Flags().Uint64Var(&last, "last", 0, "only so many of the newest events; with --watch, begin with them")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := g.out.check(); err != nil {
			return err
		}
		c, err := g.con.open()
		if err != nil {
			return err
		}
		if g.out.watch {
			return g.follow(cmd.Context(), c, since, last)
		}
		return g.out.show(cmd.Context(), g.t, c, eventsPath(since, last), list(eventRows))
	}
	return cmd
}

// eventText is what happened, and of a change from where.
func eventText(e apps.Event) string {
	if e.Origin == "" {
		return e.Message
	}
	return fmt.Sprintf("%s (by %s)", e.Message, e.Origin)
}

func eventsPath(since, last uint64) string {
	path := fmt.Sprintf("/events?since=%d", since)
	if last > 0 {
		path += fmt.Sprintf("&last=%d", last)
	}
	return path
}

func eventRows(events []apps.Event) *table {
	tab := newTable("ID", "TIME", "KIND", "SUBJECT", "MESSAGE")
	for _, e := range events {
		tab.add(e.ID, e.Time.Format(time.RFC3339), e.Kind, e.Subject, eventText(e))
	}
	return tab
}

// follow prints events until the context ends. When the stream breaks it is opened again, after the last event seen.
func (g *getter) follow(ctx context.Context, c *client, since, last uint64) error {
	for opened := false; ; {
		res, err := c.send(ctx, http.MethodGet, api+eventsPath(since, last), "", "text/event-stream", nil)
		if err == nil && res.StatusCode != http.StatusOK {
			b, _ := io.ReadAll(io.LimitReader(res.Body, 1<<20)) // what can be read of the reason is told
			err = readProblem(res, b)
			res.Body.Close()
		}
		if err == nil {
			opened = true
			if since, err = g.stream(res.Body, since); since > 0 {
				last = 0 // the rest follows what has been seen
			}
			res.Body.Close()
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !opened:
			return err
		case err != nil:
			fmt.Fprintln(g.t.err, "evenflow:", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(g.out.interval):
		}
	}
}

// stream prints the events of a server-sent stream until it ends, and returns the id of the last one.
func (g *getter) stream(r io.Reader, last uint64) (uint64, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	lost := false
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		switch {
		case lines.Text() == "event: lost":
			lost = true
			continue
		case !ok:
			continue // an id, a comment, the end of an event
		case lost:
			lost = false
			fmt.Fprintln(g.t.err, "evenflow: events between are not kept any more:", printable(strings.TrimSpace(data), false))
			continue
		}
		var e apps.Event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return last, fmt.Errorf("event stream: %w", err)
		}
		last = e.ID
		if err := g.print(e, strings.TrimSpace(data)); err != nil {
			return last, err
		}
	}
	return last, lines.Err()
}

func (g *getter) print(e apps.Event, raw string) error {
	text := printable(fmt.Sprintf("%s  %s  %s  %s", e.Time.Format(time.RFC3339), e.Kind, e.Subject, eventText(e)), false) + "\n"
	switch g.out.format {
	case "json":
		text = raw + "\n"
	case "yaml":
		var err error
		if text, err = g.out.render([]byte(raw), nil); err != nil {
			return err
		}
		text = "---\n" + text
	}
	_, err := io.WriteString(g.t.out, text)
	return err
}
