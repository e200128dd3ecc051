package controller

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Run listens, and serves the switches that connect, until ctx ends; then it ends all sessions, removes the Unix sockets it
// made and returns nil. If a socket cannot be opened it returns that error at once. Run may be called once.
func (c *Controller) Run(ctx context.Context) error {
	sessions, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	var listeners []net.Listener
	defer func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	}()
	for _, where := range c.cfg.Listen {
		l, err := c.listen(ctx, where)
		if err != nil {
			return fmt.Errorf("listen on %q: %w", where, err)
		}
		listeners = append(listeners, l)
		c.mu.Lock()
		c.addrs = append(c.addrs, l.Addr())
		c.mu.Unlock()
		c.cfg.Log.WithField("address", l.Addr().String()).Info("OpenFlow server listens")
	}
	close(c.listening)

	var group sync.WaitGroup
	slots := make(chan struct{}, c.cfg.MaxSessions+2*c.cfg.MaxWaiting) // with those that are on their way out
	failed := make(chan error, len(listeners))
	for _, l := range listeners {
		group.Go(func() { failed <- c.accept(sessions, l, slots, &group) })
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	cancel(errShutdown)
	for _, l := range listeners {
		_ = l.Close()
	}
	group.Wait()
	return err
}

var errShutdown = fmt.Errorf("the controller is shutting down: %w", context.Canceled)

// accept serves what connects, each in a goroutine of its own.
func (c *Controller) accept(ctx context.Context, l net.Listener, slots chan struct{}, group *sync.WaitGroup) error {
	pause := 5 * time.Millisecond
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = conn.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil: // such as too many open files: others may close some
			c.cfg.Log.WithError(err).WithField("listen", l.Addr()).Error("accept failed")
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
			pause = min(2*pause, time.Second)
			continue
		}
		pause = 5 * time.Millisecond
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			_ = conn.Close()
			return nil
		}
		group.Go(func() {
			defer func() { <-slots }()
			_ = c.Serve(ctx, conn) // logged there
		})
	}
}

// listen opens one socket.
func (c *Controller) listen(ctx context.Context, where string) (net.Listener, error) {
	network, address := "tcp", where
	if scheme, rest, ok := strings.Cut(where, ":"); ok && (scheme == "tcp" || scheme == "unix" || scheme == "ssl") {
		network, address = scheme, rest
	}
	secure := network == "ssl"
	if secure {
		network = "tcp"
	}
	if secure && c.cfg.TLS == nil {
		return nil, errors.New("no certificate for TLS")
	}
	var err error
	if network == "unix" {
		err = clearSocket(ctx, address)
	} else {
		_, _, err = net.SplitHostPort(address) // an empty address would mean any port
	}
	if err != nil {
		return nil, err
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, network, address)
	if err == nil && secure {
		l = tls.NewListener(l, c.cfg.TLS)
	}
	return l, err
}

// clearSocket removes a Unix socket that nobody listens on any more, as a killed process leaves it.
func clearSocket(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s exists and is no socket", path)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close()
		return fmt.Errorf("%s: %w", path, syscall.EADDRINUSE)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}

// remote names the peer: for a Unix socket, whose peers have no names, the socket.
func remote(conn net.Conn) string {
	if a := conn.RemoteAddr(); a != nil && a.String() != "" && a.String() != "@" {
		return a.String()
	}
	return conn.LocalAddr().String()
}
