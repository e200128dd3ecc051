// Package lint guards the design's import directions:
//
//	cmd -> web, engine -> health -> apps -> topo -> flows
//	engine -> controller -> openflow -> flows
//
// anova, othello, ovshash and store are leaves. An app imports no other app but apps/vip. Only web knows gin and huma.
// `go test ./lint` fails with a line for each import that goes another way. A new package needs a line in the table below.
package lint

import (
	"fmt"
	"slices"
	"strings"
)

const module = "github.com/evenflow/evenflow/"

// Package is what `go list -json` says of a package.
type Package struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

// allowed says what of this module each package may import; "apps/*" is each package below apps. Where several lines
// name a package the first counts.
var allowed = []struct {
	pkg     string
	imports []string
}{
	{"flows", nil},
	{"anova", nil},
	{"othello", nil},
	{"ovshash", nil},
	{"store", nil},
	{"openflow", []string{"flows"}},
	{"controller", []string{"openflow", "flows"}},
	{"controller/controllertest", []string{"controller", "openflow", "flows"}},
	{"topo", []string{"flows"}},
	{"apps", []string{"apps/vip", "topo", "flows", "anova", "othello", "ovshash"}},
	{"apps/vip", []string{"topo", "flows", "anova", "othello", "ovshash"}},
	{"apps/*", []string{"apps", "apps/vip", "topo", "flows", "anova", "othello", "ovshash"}},
	{"health", []string{"apps", "apps/vip", "topo", "flows"}},
	{"engine", []string{"apps", "apps/*", "health", "controller", "openflow", "topo", "flows", "anova", "ovshash", "store"}},
	{"config", []string{"apps", "apps/vip", "topo", "flows", "anova"}},
	{"web", []string{"agent/wire", "apps", "apps/*", "topo", "flows", "anova", "web/*"}},
	{"web/*", nil},
	{"cmd/*", []string{"agent", "agent/wire", "config", "web", "engine", "apps", "apps/*", "controller", "openflow", "topo", "flows", "anova", "store"}},
	{"bench/othello", []string{"othello"}},
	{"bench/anova", []string{"anova"}},
	{"bench/*", nil},
	{"agent", []string{"agent/wire"}},
	{"agent/wire", nil},
	{"e2e", []string{"apps", "apps/vip", "web", "agent", "agent/wire"}},
	{"lab", nil},
	{"ops", nil},
	{"lint", nil},
}

// testOnly are the packages that only tests import.
var testOnly = []string{"lab", "controller/controllertest"}

// only says which packages may import what is not ours, by the beginnings of paths.
var only = []struct {
	prefix string
	pkgs   []string
}{
	{"github.com/gin-gonic/", []string{"web"}},
	{"github.com/gin-contrib/", []string{"web"}},
	{"github.com/danielgtaylor/huma", []string{"web"}},
	{"go.etcd.io/bbolt", []string{"store"}},
}

// noNetworks are packages of pure mathematics; of these import paths they have none.
var (
	noNetworks = []string{"anova", "othello", "ovshash"}
	networks   = []string{"net", "net/http", "syscall", "golang.org/x/sys/unix"}
)

// Check is one line for each import that the design forbids.
func Check(packages []Package) (violations []string) {
	for _, p := range packages {
		name := strings.TrimPrefix(p.ImportPath, module)
		may, ok := rule(name)
		if !ok {
			violations = append(violations, fmt.Sprintf("%s: no rule says what it may import; add one to lint/imports.go", name))
			continue
		}
		for _, i := range p.Imports {
			if why := forbidden(name, i, may); why != "" {
				violations = append(violations, fmt.Sprintf("%s imports %s: %s", name, strings.TrimPrefix(i, module), why))
			}
		}
		inTests := slices.Concat(may, testOnly, []string{name})
		if matches("apps/*", name) {
			inTests = append(inTests, "apps/*") // apps are tried together
		}
		for _, i := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(p.TestImports, p.XTestImports)))) {
			if why := forbidden(name, i, inTests); why != "" {
				violations = append(violations, fmt.Sprintf("%s imports %s in its tests: %s", name, strings.TrimPrefix(i, module), why))
			}
		}
	}
	return violations
}

func rule(name string) (may []string, ok bool) {
	for _, a := range allowed {
		if matches(a.pkg, name) {
			return a.imports, true
		}
	}
	return nil, false
}

func matches(pattern, name string) bool {
	below, wild := strings.CutSuffix(pattern, "*")
	return pattern == name || wild && strings.HasPrefix(name, below)
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}

// forbidden is why a package may not import a path, "" if it may.
func forbidden(name, path string, may []string) string {
	if ours, ok := strings.CutPrefix(path, module); ok {
		switch {
		case matchesAny(may, ours):
			return ""
		case slices.Contains(testOnly, ours):
			return "only tests may"
		case len(may) == 0:
			return "it may import nothing of this module"
		}
		return "of this module it may import " + strings.Join(may, ", ")
	}
	for _, o := range only {
		if strings.HasPrefix(path, o.prefix) && !slices.Contains(o.pkgs, name) {
			return "only " + strings.Join(o.pkgs, ", ") + " may"
		}
	}
	if slices.Contains(noNetworks, name) && slices.Contains(networks, path) {
		return "it has nothing to do with networks"
	}
	return ""
}
