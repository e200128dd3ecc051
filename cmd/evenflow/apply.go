package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/config"
)

func applyCommand(t *terminal) *cobra.Command {
	var files []string
	var prune bool
	cmd := &cobra.Command{Use: "apply -f FILE", Short: "Create and change VIPs so that they are as a YAML file says", Args: cobra.NoArgs,
		Long: "apply reads VIPs from YAML: a list under the key vips, a plain list, or one VIP in each document. Those that are not there\n" +
			"are created, those that differ are changed; others are left alone, unless --prune."}
	con, w := newConnection(t, cmd), newWrite(cmd)
	cmd.Flags().StringArrayVarP(&files, "file", "f", nil, "file to read, - for the standard input; may repeat")
	cmd.Flags().BoolVar(&prune, "prune", false, "delete all VIPs that the files do not name; those of the server's configuration file stay")
	must(cmd.MarkFlagRequired("file"))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		specs, err := readVIPs(t, files)
		if err != nil {
			return err
		}
		c, err := con.open()
		if err != nil {
			return err
		}
		a := &applier{t: t, c: c, w: w, until: t.now().Add(w.wait)}
		return a.apply(cmd.Context(), specs, prune)
	}
	return cmd
}

// readVIPs reads the VIPs of all files.
func readVIPs(t *terminal, files []string) ([]vip.Spec, error) {
	var all []vip.Spec
	in := make(map[string]string)
	for _, file := range files {
		var data []byte
		var err error
		if file == "-" {
			data, err = io.ReadAll(t.in)
		} else {
			data, err = os.ReadFile(file)
		}
		if err != nil {
			return nil, err
		}
		specs, err := config.VIPs(file, data)
		if err != nil {
			return nil, err
		}
		for _, s := range specs {
			if other, twice := in[s.Name]; twice {
				return nil, fmt.Errorf("%s: vip %q is also declared in %s", file, s.Name, other)
			}
			in[s.Name] = file
		}
		all = append(all, specs...)
	}
	return all, nil
}

// applier makes the VIPs of a server as declared.
type applier struct {
	t     *terminal
	c     *client
	w     *write
	until time.Time // end of the wait for switches, which all VIPs share
	errs  []error
}

// apply writes the declared VIPs, then deletes the others if asked. One that would be in the way is deleted before; else,
// after an error, nothing is.
func (a *applier) apply(ctx context.Context, specs []vip.Spec, prune bool) error {
	present, err := a.present(ctx)
	if err != nil {
		return err
	}
	declared := make(map[string]bool, len(specs))
	for _, s := range specs {
		declared[s.Name] = true
	}
	var later []string
	for _, name := range slices.Sorted(maps.Keys(present)) {
		old := present[name]
		switch {
		case !prune || declared[old.Name]:
		case old.Origin == vip.OriginFile && !a.w.force:
			a.say(old.Name, "kept: the server's configuration file declares it")
		case inTheWay(old.Spec, specs):
			a.delete(ctx, old.Name)
		default:
			later = append(later, name)
		}
	}
	for _, s := range specs {
		a.put(ctx, s, present)
	}
	if len(a.errs) == 0 {
		for _, name := range later {
			a.delete(ctx, name)
		}
	} else if len(later) > 0 {
		a.errs = append(a.errs, fmt.Errorf("not pruned after that: %s", strings.Join(later, ", ")))
	}
	return errors.Join(a.errs...)
}

func (a *applier) present(ctx context.Context) (map[string]vip.Read, error) {
	raw, err := a.c.get(ctx, "/vips")
	if err != nil {
		return nil, err
	}
	var answer struct {
		Items []vip.Read `json:"items"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, fmt.Errorf("answer of %s: %w", a.c.base, err)
	}
	out := make(map[string]vip.Read, len(answer.Items))
	for _, v := range answer.Items {
		out[v.Name] = v
	}
	return out, nil
}

// inTheWay reports whether one of some VIPs cannot be while old is.
func inTheWay(old vip.Spec, others []vip.Spec) bool {
	x, err := vip.Create(1, old, vip.OriginAPI)
	if err != nil {
		return false // of a later version: the server will say
	}
	for _, s := range others {
		if y, err := vip.Create(1, s, vip.OriginAPI); err == nil && vip.Excludes(x, y) {
			return true
		}
	}
	return false
}

func (a *applier) put(ctx context.Context, s vip.Spec, present map[string]vip.Read) {
	raw, err := a.write().send(ctx, a.c, http.MethodPut, fill("/vips/%", s.Name), s)
	if err != nil {
		a.fail(s.Name, err)
		return
	}
	var now vip.Read
	if err := json.Unmarshal(raw, &now); err != nil {
		a.fail(s.Name, fmt.Errorf("answer of %s: %w", a.c.base, err))
		return
	}
	switch was, there := present[s.Name]; {
	case !there:
		a.say(s.Name, a.w.did("created"))
	case was.Version == now.Version:
		a.say(s.Name, "unchanged")
	default:
		a.say(s.Name, fmt.Sprintf("%s, version %d", a.w.did("changed"), now.Version))
	}
}

func (a *applier) delete(ctx context.Context, name string) {
	if _, err := a.write().send(ctx, a.c, http.MethodDelete, fill("/vips/%", name), nil); err != nil {
		a.fail(name, err)
		return
	}
	a.say(name, a.w.did("deleted"))
}

// write is the write with what is left of the time to wait. When that is over a switch has still a moment, so that it is
// told which have not confirmed.
func (a *applier) write() *write {
	w := *a.w
	if w.wait > 0 {
		w.wait = max(a.until.Sub(a.t.now()).Round(time.Millisecond), time.Millisecond)
	}
	return &w
}

func (a *applier) say(name, what string) { fmt.Fprintf(a.t.out, "vip %s %s\n", name, what) }

// fail notes what became of a VIP, by its name, which the server may have said already.
func (a *applier) fail(name string, err error) {
	if said := fmt.Sprintf("vip %q: ", name); !strings.HasPrefix(strings.ToLower(err.Error()), said) {
		err = fmt.Errorf("vip %s: %w", name, err)
	}
	a.errs = append(a.errs, err)
}
