package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/evenflow/evenflow/lab"
)

const (
	apiAddress      = "127.0.0.1:8080"
	openflowAddress = "127.0.0.1:6653"
)

// controller is the program as a child process in a namespace of its own. It listens in the run directory of each switch.
type controller struct {
	t     testing.TB
	home  *lab.Host
	args  []string
	child *lab.Process // nil: not running
	log   string       // of those that have ended
}

func newController(t testing.TB, l *lab.Lab, sockets []string, flags ...string) *controller {
	c := &controller{t: t, home: l.Host("ctl", "192.0.2.1/24")}
	c.args = append([]string{program, "serve", "--http", apiAddress, "--openflow", openflowAddress, "--data", t.TempDir()}, flags...)
	for _, s := range sockets {
		c.args = append(c.args, "--openflow", "unix:"+s)
	}
	t.Cleanup(c.finish)
	return c
}

func (c *controller) start() { c.child = c.home.Start(c.args...) }

// kill ends it by SIGKILL.
func (c *controller) kill() {
	c.child.Kill()
	c.ended()
}

// stop ends it as an operator does, and fails the test if it does not end well.
func (c *controller) stop() {
	c.t.Helper()
	if err := syscall.Kill(c.child.PID(), syscall.SIGTERM); err != nil {
		c.t.Errorf("SIGTERM: %v", err)
	}
	err := c.child.Wait()
	c.ended()
	if err != nil {
		c.t.Errorf("the controller ended with %v", err)
	}
}

func (c *controller) ended() {
	c.log += c.child.Output() + "\n"
	c.child = nil
}

// finish ends what runs, and reads the log: nothing that is an error to the controller itself is expected in any test.
func (c *controller) finish() {
	if c.child != nil {
		c.stop()
	}
	for line := range strings.Lines(c.log) {
		if strings.Contains(line, "level=error") || strings.Contains(line, "DATA RACE") || strings.HasPrefix(line, "panic:") {
			c.t.Errorf("the controller's log: %s", line)
		}
	}
	if c.t.Failed() {
		c.t.Logf("the controller's log:\n%s", tail(c.log, 80))
	}
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	if over := len(all) - lines; over > 0 {
		all = append([]string{fmt.Sprintf("(%d lines left out)", over)}, all[over:]...)
	}
	return strings.Join(all, "\n")
}
