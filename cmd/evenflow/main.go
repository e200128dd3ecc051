// Command evenflow is the controller and its client in one binary: serve runs the controller, all other commands talk to
// one by REST.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// version is set by the linker.
var version = "unknown"

// terminal is the world that commands see.
type terminal struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string
	now      func() time.Time
}

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals // the first stops cleanly
		cancel()
		<-signals // the second at once
		os.Exit(130)
	}()
	os.Exit(run(ctx, os.Args[1:], &terminal{os.Stdin, os.Stdout, os.Stderr, os.Getenv, time.Now}))
}

// run runs a command line and is its exit code.
func run(ctx context.Context, args []string, t *terminal) int {
	root := newRoot(t)
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		if err != errTold {
			fmt.Fprintln(t.err, "evenflow:", err)
		}
		return 1
	}
	return 0
}
