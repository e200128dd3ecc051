package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
)

var formats = []string{"table", "json", "yaml"}

// output is how a read is shown.
type output struct {
	format   string
	watch    bool
	interval time.Duration
}

func newOutput(cmd *cobra.Command) *output {
	o := &output{}
	cmd.PersistentFlags().StringVarP(&o.format, "output", "o", "table", "format: "+strings.Join(formats, ", "))
	cmd.PersistentFlags().BoolVarP(&o.watch, "watch", "w", false, "go on, and show it again when it changes")
	cmd.PersistentFlags().DurationVar(&o.interval, "interval", time.Second, "how often --watch asks")
	return o
}

func (o *output) check() error {
	if !slices.Contains(formats, o.format) {
		return fmt.Errorf("--output %q: want one of %s", o.format, strings.Join(formats, ", "))
	}
	if o.interval <= 0 {
		return fmt.Errorf("--interval %s: want more than 0", o.interval)
	}
	return nil
}

// show reads a path and shows it, again and again with --watch.
func (o *output) show(ctx context.Context, t *terminal, c *client, path string, asTable func([]byte) (string, error)) error {
	last := ""
	for {
		raw, err := c.get(ctx, path)
		if o.watch && ctx.Err() != nil {
			return nil // who watches ends it, most often in the midst of a request
		}
		if err != nil {
			return err
		}
		text, err := o.render(raw, asTable)
		if err != nil {
			return fmt.Errorf("answer of %s%s: %w", c.base, path, err)
		}
		if text != last {
			if _, err := fmt.Fprint(t.out, o.separator(last == ""), text); err != nil {
				return err
			}
			last = text
		}
		if !o.watch {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(o.interval):
		}
	}
}

// separator stands between two outputs of --watch; JSON needs none.
func (o *output) separator(first bool) string {
	switch {
	case first || o.format == "json":
		return ""
	case o.format == "yaml":
		return "---\n"
	}
	return "\n"
}

func (o *output) render(raw []byte, asTable func([]byte) (string, error)) (string, error) {
	switch o.format {
	case "json":
		var b bytes.Buffer
		if err := json.Indent(&b, bytes.TrimSpace(raw), "", "  "); err != nil {
			return "", err
		}
		return b.String() + "\n", nil
	case "yaml":
		b, err := yaml.JSONToYAML(raw)
		return string(b), err
	}
	return asTable(raw)
}

// list makes a table of a list that the API answers.
func list[T any](rows func([]T) *table) func([]byte) (string, error) {
	return func(raw []byte) (string, error) {
		var answer struct {
			Items []T `json:"items"`
		}
		if err := json.Unmarshal(raw, &answer); err != nil {
			return "", err
		}
		return rows(answer.Items).String(), nil
	}
}
