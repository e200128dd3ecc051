package e2e

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/evenflow/evenflow/apps/vip"
)

// message is an OpenFlow 1.5 message.
func message(kind byte, xid uint32, body ...byte) []byte {
	b := []byte{6, kind}
	b = binary.BigEndian.AppendUint16(b, uint16(8+len(body)))
	return append(binary.BigEndian.AppendUint32(b, xid), body...)
}

const (
	hello           = 0
	featuresRequest = 5
	featuresReply   = 6
)

// Whoever else connects to the controller's port, and whatever they say or do not say, switches connect and are served.
func TestHostileNeighbours(t *testing.T) {
	w := line(t, 1, "OpenFlow15")
	client, backend := w.host("c1", 11, 1, 1), w.host("b1", 1, 1, 2)
	serve(8080, backend)
	w.ctl.start()
	w.Eventually(patience, func() error { return w.call("GET", "/readyz", nil, nil) })

	noise := make([]byte, 1<<16)
	rand.NewChaCha8([32]byte{1}).Read(noise)
	says := map[string][]byte{
		"nothing":              nil,
		"HTTP":                 []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"noise":                noise,
		"zeros":                make([]byte, 4096),
		"half a hello":         message(hello, 1)[:5],
		"a hello alone":        message(hello, 1),
		"an unknown version":   {99, 0, 0, 8, 0, 0, 0, 1},
		"length 0":             {6, 0, 0, 0, 0, 0, 0, 1},
		"length 7":             {6, 0, 0, 7, 0, 0, 0, 1},
		"a hello, then noise":  append(message(hello, 1), noise...),
		"a long promise":       append(message(hello, 1), 6, 19, 0xff, 0xff, 0, 0, 0, 2),
		"features of nonsense": append(message(hello, 1), message(featuresReply, 7, 1, 2, 3)...),
	}
	var all []net.Conn
	speak := func(text []byte) net.Conn {
		t.Helper()
		c, err := w.ctl.home.Dial(w.ctx, "tcp", openflowAddress)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetWriteDeadline(time.Now().Add(answerLimit))
		_, _ = c.Write(text) // which may be refused already
		return c
	}
	for range 10 {
		for _, text := range says {
			all = append(all, speak(text))
		}
	}
	for range 1500 { // more than there is room for
		all = append(all, speak(nil))
	}
	w.attach()
	w.service(vip.Spec{Name: "web", Address: address, Protocol: vip.TCP, Port: "80"}, 8080, backend)
	held := w.dial(client, "tcp", "", address+":80")
	w.who(held)

	t.Run("impostor", func(t *testing.T) {
		before, err := w.api.switches()
		if err != nil {
			t.Fatal(err)
		}
		c := speak(message(hello, 1))
		body := binary.BigEndian.AppendUint64(nil, w.sw(1).DPID())
		body = append(body, 0, 0, 0, 0, 254, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		if err := answerFeatures(c, body); err != nil {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(time.Now().Add(answerLimit))
		if _, err := io.Copy(io.Discard, c); err != nil { // it ends with EOF: the controller has hung up
			t.Errorf("a second switch of the same datapath id is not refused: %v", err)
		}
		after, err := w.api.switches()
		if err != nil || len(after) != 1 || !after[0].Connected || !after[0].Since.Equal(before[0].Since) {
			t.Errorf("the switch was %+v and is %+v, %v", before, after, err)
		}
	})

	// Those that say nothing more are hung up on, too.
	for i, c := range all {
		_ = c.SetReadDeadline(time.Now().Add(patience))
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("connection %d is still open: %v", i, err)
		}
	}
	w.who(held)
	w.who(w.dial(client, "tcp", "", address+":80"))
	for reason, least := range map[string]float64{"not OpenFlow": 20, "crowded out": 100, "does not answer": 20,
		"datapath id in use": 1} {
		if n := w.refusedCount("sessions", reason); n < least {
			t.Errorf("%v sessions have ended for %q, want %v", n, reason, least)
		}
	}
	if n := strings.Count(w.ctl.child.Output(), "session ended"); n == 0 || n > 100 {
		t.Errorf("%d lines in the log for %d connections", n, len(all))
	}
}

// answerFeatures answers the controller's question for a switch's features.
func answerFeatures(c net.Conn, body []byte) error {
	_ = c.SetReadDeadline(time.Now().Add(answerLimit))
	header := make([]byte, 8)
	for {
		if _, err := io.ReadFull(c, header); err != nil {
			return fmt.Errorf("no features request: %w", err)
		}
		rest := make([]byte, max(int(binary.BigEndian.Uint16(header[2:]))-8, 0))
		if _, err := io.ReadFull(c, rest); err != nil {
			return err
		}
		if header[1] == featuresRequest {
			_, err := c.Write(message(featuresReply, binary.BigEndian.Uint32(header[4:]), body...))
			return err
		}
	}
}
