package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program is the path of the built controller, under test with the race detector if the tests are.
var program string

var update = flag.Bool("update", false, "write the dumps in docs/pipeline.md anew")

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests wait most of the time, so that more of them can run than there are processors, unless the command line says else.
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("6")
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	sweep()
	dir, err := os.MkdirTemp("", fmt.Sprintf("evenflow-e2e-%d-*", os.Getpid()))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "evenflow")
	args := []string{"build", "-o", program}
	if raced {
		args = append(args, "-race")
	}
	build := exec.Command("go", append(args, "../cmd/evenflow")...)
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "the program does not build:", err)
		return 1
	}
	return m.Run()
}

// sweep removes what earlier runs have left that were killed.
func sweep() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), "evenflow-e2e-*-*"))
	for _, dir := range left {
		pid := strings.Split(filepath.Base(dir), "-")[2]
		if _, err := os.Stat("/proc/" + pid); os.IsNotExist(err) {
			_ = os.RemoveAll(dir)
		}
	}
}
