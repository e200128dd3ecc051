package lint

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestImports(t *testing.T) {
	cmd := exec.Command("go", "list", "-e", "-tags=soak", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []Package
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p Package
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	if len(packages) < 5 {
		t.Fatalf("go list found %d packages only", len(packages))
	}
	for _, v := range Check(packages) {
		t.Error(v)
	}
}

func TestCheck(t *testing.T) {
	ours := func(names ...string) (paths []string) {
		for _, n := range names {
			paths = append(paths, module+n)
		}
		return paths
	}
	pkg := func(name string, imports ...string) Package {
		return Package{ImportPath: module + name, Imports: imports}
	}
	tests := func(name string, imports ...string) Package {
		return Package{ImportPath: module + name, XTestImports: imports, TestImports: imports}
	}
	const leaf = "it may import nothing of this module"
	for _, c := range []struct {
		pkg  Package
		want string
	}{
		{pkg("cmd/evenflow", ours("web", "engine", "apps/nat", "controller", "config", "store")...), ""},
		{pkg("engine", ours("apps", "apps/vip", "controller", "openflow", "topo", "flows", "store")...), ""},
		{pkg("apps/nat", append(ours("apps", "apps/vip", "topo", "flows"), "fmt")...), ""},
		{pkg("web", "github.com/gin-gonic/gin", "github.com/danielgtaylor/huma/v2"), ""},
		{tests("flows", ours("flows", "lab")...), ""},
		{tests("engine", ours("controller/controllertest", "apps/nat")...), ""},

		{pkg("flows", ours("topo")...), "flows imports topo: " + leaf},
		{pkg("store", ours("flows")...), "store imports flows: " + leaf},
		{pkg("topo", ours("apps")...), "topo imports apps: of this module it may import flows"},
		{pkg("openflow", ours("controller")...), "openflow imports controller: of this module it may import flows"},
		{pkg("controller", ours("apps")...), "controller imports apps: of this module it may import openflow, flows"},
		{pkg("apps/nat", ours("apps/arp")...),
			"apps/nat imports apps/arp: of this module it may import apps, apps/vip, topo, flows, anova, othello, ovshash"},
		{pkg("apps/vip", ours("apps/nat")...), "apps/vip imports apps/nat: of this module it may import topo, flows, anova, othello, ovshash"},
		{pkg("web", ours("engine")...), "web imports engine: of this module it may import agent/wire, apps, apps/*, topo, flows, anova, web/*"},
		{pkg("engine", ours("web")...), "engine imports web: of this module it may import apps, apps/*, health, controller, openflow, topo, flows, anova, ovshash, store"},
		{pkg("engine", ours("lab")...), "engine imports lab: only tests may"},
		{tests("topo", ours("engine")...), "topo imports engine in its tests: of this module it may import flows, lab, controller/controllertest, topo"},
		{pkg("engine", "github.com/gin-gonic/gin"), "engine imports github.com/gin-gonic/gin: only web may"},
		{pkg("cmd/evenflow", "github.com/danielgtaylor/huma/v2"), "cmd/evenflow imports github.com/danielgtaylor/huma/v2: only web may"},
		{pkg("ovshash", "net/netip", "net"), "ovshash imports net: it has nothing to do with networks"},
		{pkg("util"), "util: no rule says what it may import; add one to lint/imports.go"},
	} {
		if d := cmp.Diff(c.want, strings.Join(Check([]Package{c.pkg}), "\n")); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.pkg.ImportPath, d)
		}
	}
}
