package lab

import (
	"os/exec"
	"strings"
	"sync"
)

// limited keeps the end of what a program prints.
type limited struct {
	mu   sync.Mutex
	text []byte
}

const outputLimit = 1 << 20

func (l *limited) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	if over := len(l.text) - outputLimit; over > 0 {
		l.text = append(l.text[:0], l.text[over:]...)
	}
	return len(p), nil
}

func (l *limited) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimSpace(string(l.text))
}

// Process is a program that runs beside the test.
type Process struct {
	cmd  *exec.Cmd
	out  limited
	done chan struct{}
	err  error // set before done is closed
}

func startProcess(cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.out, &p.out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Output is what the program has printed so far: at most the last MiB.
func (p *Process) Output() string { return p.out.String() }

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the program's end; the error is that of exec.Cmd.Wait.
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// Kill ends the program by SIGKILL and waits until it has.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// PID is the program's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }
