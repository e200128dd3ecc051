package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/evenflow/evenflow/lab"
)

// answerLimit is how long a peer may take to answer; like patience it only gives up.
const answerLimit = 40 * time.Second

// conn is a client's connection to such a server; over UDP, a connected socket.
type conn struct {
	net.Conn
	from  *lab.Host // nil: it is a server's
	in    *bufio.Reader
	asked int // over UDP
}

func newConn(c net.Conn) *conn { return &conn{Conn: c, in: bufio.NewReader(c)} }

// dial connects a host; local is "" or such as ":4000".
func dial(ctx context.Context, h *lab.Host, network, local, address string) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	c, err := h.DialFrom(ctx, network, local, address)
	if err != nil {
		return nil, err
	}
	out := newConn(c)
	out.from = h
	return out, nil
}

// dial connects a host, until the test ends.
func (w *network) dial(h *lab.Host, network, local, address string) *conn {
	w.t.Helper()
	c, err := dial(w.ctx, h, network, local, address)
	if err != nil {
		w.t.Fatalf("%s to %s %s: %v", h.Name(), network, address, err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

// ask sends a line and returns the name of the backend that has answered and what it says of the client. A busy machine loses
// datagrams: what has no answer is asked again, by another number, so that late answers are told from it.
func (c *conn) ask(text string) (backend, client string, err error) {
	if c.LocalAddr().Network() != "udp" {
		return c.askOnce(text, answerLimit)
	}
	for end := time.Now().Add(answerLimit); ; {
		c.asked++
		backend, client, err = c.askOnce(fmt.Sprintf("%s (%d)", text, c.asked), 2*time.Second)
		if !errors.Is(err, os.ErrDeadlineExceeded) || time.Now().After(end) {
			return backend, client, err
		}
	}
}

func (c *conn) askOnce(text string, limit time.Duration) (backend, client string, err error) {
	_ = c.SetDeadline(time.Now().Add(limit))
	defer func() { _ = c.SetDeadline(time.Time{}) }()
	if _, err := c.Write([]byte(text + "\n")); err != nil {
		return "", "", err
	}
	return c.answer(text)
}

// answer reads the answer to a line. Over UDP others, which are late, are passed over.
func (c *conn) answer(text string) (backend, client string, err error) {
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return "", "", err
		}
		f := strings.SplitN(strings.TrimSpace(line), " ", 3)
		switch {
		case len(f) == 3 && f[2] == text:
			return f[0], f[1], nil
		case c.LocalAddr().Network() != "udp":
			return "", "", fmt.Errorf("asked %q, got %q", text, line)
		}
	}
}

// hear is the next line that comes to an end of a connection.
func (c *conn) hear() (string, error) {
	_ = c.SetDeadline(time.Now().Add(answerLimit))
	defer func() { _ = c.SetDeadline(time.Time{}) }()
	line, err := c.in.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

// pass fails the test unless what is said at one end of a connection is heard at the other.
func (w *network) pass(what, text string, from, to *conn) {
	w.t.Helper()
	if _, err := fmt.Fprintln(from, text); err != nil {
		w.t.Errorf("%s: %s: %v", what, from.LocalAddr(), err)
	}
	if got, err := to.hear(); err != nil || got != text {
		w.t.Errorf("%s: %s hears %q, %v; want %q", what, to.LocalAddr(), got, err, text)
	}
}

// greeted is the name that a client hears first, of one of the [greeters].
func (w *network) greeted(c *conn) string {
	w.t.Helper()
	name, err := c.hear()
	if err != nil {
		w.t.Fatalf("%s to %s is not greeted: %v", c.LocalAddr(), c.RemoteAddr(), err)
	}
	return name
}

// who is the backend that answers now.
func (w *network) who(c *conn) string {
	w.t.Helper()
	name, _, err := c.ask("who")
	if err != nil {
		w.t.Fatalf("%s to %s: %v\n%s", c.LocalAddr(), c.RemoteAddr(), err, w.evidence(c))
	}
	return name
}

// stay fails the test unless connections are at the backends that they were at, but for those of one.
func (w *network) stay(when string, all map[string][]*conn, but string) {
	w.t.Helper()
	for name, list := range all {
		if name == but {
			continue
		}
		for _, c := range list {
			if now := w.who(c); now != name {
				w.t.Errorf("%s: a connection has gone from %s to %s", when, name, now)
			}
		}
	}
}

// reset fails the test unless connections end when the client sends. A switch's cache may let some more segments pass for a
// tenth of a second.
func (w *network) reset(when string, list []*conn) {
	w.t.Helper()
	for _, c := range list {
		w.Eventually(patience, func() error {
			_, _, err := c.ask("hello")
			switch {
			case errors.Is(err, syscall.ECONNRESET):
				return nil
			case err != nil:
				w.t.Fatalf("%s: %v; want a connection reset", when, err)
			}
			return fmt.Errorf("%s: a connection goes on", when)
		})
	}
}

// smooth fails the test if more than a third of connections have lost more than some segments. A busy machine holds a segment up for
// longer than TCP is patient, or loses it, now and then; what is wrong in a switch loses those of every connection.
func (w *network) smooth(what string, all []*conn, most int) {
	w.t.Helper()
	var rough []string
	for _, c := range all {
		n := 0
		for range 20 { // what was not lost the peer tells a little later than the answer comes
			var err error
			if n, err = lost(c); err != nil {
				w.t.Errorf("%s: %v", what, err)
			}
			if n <= most {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if n > most {
			rough = append(rough, fmt.Sprintf("%s: %d", c.LocalAddr(), n))
		}
	}
	if 3*len(rough) > len(all) {
		w.t.Errorf("%s: %d of %d connections have lost segments: %v", what, len(rough), len(all), rough)
	}
}

// lost is how many segments a client's TCP has sent again, but for those that its peer says have come twice (RFC 2883).
func lost(c *conn) (int, error) {
	again, twice, err := retransmissions(c)
	return again - twice, err
}

// retransmissions is how many segments a client's TCP has sent again, and how many its peer says have come twice.
func retransmissions(c *conn) (again, twice int, err error) {
	raw, err := c.Conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var info *unix.TCPInfo
	if ctl := raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.SOL_TCP, unix.TCP_INFO) }); ctl != nil {
		return 0, 0, ctl
	}
	if err != nil {
		return 0, 0, err
	}
	return int(info.Total_retrans), int(info.Dsack_dups), nil
}
