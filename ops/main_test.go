package ops

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// program is the path of the built program.
var program string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "evenflow-ops-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir) //nolint:errcheck // in the system's directory for such things
	program = filepath.Join(dir, "evenflow")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/evenflow").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "the program does not build: %v\n%s", err, out)
		return 1
	}
	// What the tests run is read here, so that a result is cached for the same scripts only.
	for _, f := range []string{"scripts/attach-bridge", "scripts/deb", "scripts/install", "scripts/manual", "Makefile",
		"packaging/evenflow.service", "packaging/evenflow-agent.service", "packaging/evenflow.yaml"} {
		if _, err := os.ReadFile(filepath.Join("..", f)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}
