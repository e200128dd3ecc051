package openflow

import (
	"net"
	"slices"
	"testing"
	"time"

	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/lab"
)

// session is the least that speaks to a real switch.
type session struct {
	t    *testing.T
	v    Version
	conn net.Conn
	r    *Reader
	xid  uint32
}

// dial opens a session with a switch in version v.
func dial(t *testing.T, s *lab.Switch, v Version) *session {
	t.Helper()
	conn, err := net.Dial("unix", s.ManagementSocket())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	c := &session{t: t, v: v, conn: conn, r: NewReader(conn)}
	c.send(AppendHello(nil, 1, v))
	h, err := ParseHello(c.next(TypeHello))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Negotiate([]Version{v}, h); err != nil || got != v {
		t.Fatalf("negotiated %s, %v", got, err)
	}
	return c
}

func (c *session) send(msg []byte) {
	c.t.Helper()
	if _, err := c.conn.Write(msg); err != nil {
		c.t.Fatal(err)
	}
}

// next is the next message of one of the types.
func (c *session) next(types ...Type) []byte {
	c.t.Helper()
	for {
		msg, err := c.r.Next()
		if err != nil {
			c.t.Fatalf("waiting for %v: %v", types, err)
		}
		if slices.Contains(types, Type(msg[1])) {
			return msg
		}
	}
}

// try sends a message and a barrier and returns the error that the message caused.
func (c *session) try(msg []byte, err error) error {
	c.t.Helper()
	if err != nil {
		return err
	}
	c.xid++
	c.send(AppendBarrier(msg, c.v, c.xid))
	reply := c.next(TypeBarrierReply, TypeError)
	if Type(reply[1]) == TypeBarrierReply {
		return nil
	}
	e, err := ParseError(reply)
	if err != nil {
		c.t.Fatal(err)
	}
	c.next(TypeBarrierReply)
	return e
}

// multipart sends a request and returns the bodies of all pieces.
func (c *session) multipart(request []byte) (body []byte, pieces int) {
	c.t.Helper()
	c.send(request)
	for {
		reply := c.next(TypeMultipartReply, TypeError)
		if e, err := ParseError(reply); err == nil {
			c.t.Fatalf("multipart: %v", e)
		}
		p, err := ParseMultipart(reply)
		if err != nil {
			c.t.Fatal(err)
		}
		body = append(body, p.Body...)
		pieces++
		if !p.More {
			return body, pieces
		}
	}
}

func (c *session) rules() []flows.InstalledRule {
	c.t.Helper()
	body, _ := c.multipart(must(c.t)(AppendFlowStatsRequest(nil, c.v, 1, FlowFilter{Table: 0xff})))
	rules, err := ParseFlowStats(c.v, body)
	if err != nil {
		c.t.Fatal(err)
	}
	return rules
}
