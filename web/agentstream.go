package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"github.com/evenflow/evenflow/agent/wire"
	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

// agentLimits are how long an agent may be silent, and how long it may take to read a line; and the least time between two lines of
// changes: one that sends more is read no faster.
type agentLimits struct{ silence, write, pace time.Duration }

var defaultAgentLimits = agentLimits{silence: 30 * time.Second, write: 10 * time.Second, pace: 10 * time.Millisecond}

// Reasons for which agents are refused here, beside those of package wire and of the engine.
const (
	refusedToken  = "token"
	refusedHost   = "host"
	refusedSilent = "silent"
	refusedSlow   = "slow"
)

// maxRun bounds the name of an agent's run.
const maxRun = 64

// errStopping ends conversations when the server does.
var errStopping = errors.New("the controller stops")

// streamStates holds the conversation with an agent that package wire describes; requests of another type are for next.
func (s *Server) streamStates(ctx huma.Context, next func(huma.Context)) {
	if t, _, _ := mime.ParseMediaType(ctx.Header("Content-Type")); t != wire.Type {
		next(ctx)
		return
	}
	c := humagin.Unwrap(ctx)
	host, err := netip.ParseAddr(ctx.Param("host"))
	switch {
	case err != nil:
		writeProblem(c.Writer, invalid(&huma.ErrorDetail{Location: "path.host", Message: "want an IP address", Value: ctx.Param("host")}))
		return
	case ctx.Header("Content-Encoding") != "gzip":
		writeProblem(c.Writer, problem(http.StatusUnsupportedMediaType, "Content-Encoding "+ctx.Header("Content-Encoding")+" is not taken; want gzip"))
		return
	}
	talk := &agentTalk{s: s, host: host, in: wire.NewReader(c.Request.Body), w: c.Writer, control: http.NewResponseController(c.Writer)}
	// Not the request's context: over HTTP/1.1 that ends with any error of reading, before we have seen which.
	talk.run, talk.end = context.WithCancelCause(context.WithoutCancel(c.Request.Context()))
	defer talk.leave()
	talk.hold(c)
}

// converses reports whether a request is a conversation, and makes its connection fit for that, also to be refused: over HTTP/1.1 a
// server would first read what the agent will not send before it has been answered.
func (s *Server) converses(c *gin.Context) {
	if t, _, _ := mime.ParseMediaType(c.GetHeader("Content-Type")); t == wire.Type {
		control := http.NewResponseController(c.Writer)
		_ = control.EnableFullDuplex() // HTTP/2 is ever so
		_ = control.SetReadDeadline(time.Now().Add(s.agents.silence))
	}
}

// agentTalk is a conversation with an agent. Its handler reads, and a goroutine writes; who is first to end it says why.
type agentTalk struct {
	s       *Server
	host    netip.Addr
	in      *wire.Reader
	w       gin.ResponseWriter
	control *http.ResponseController
	session apps.AgentSession

	run context.Context
	end context.CancelCauseFunc

	mu   sync.Mutex // between those that set the deadline of reads
	done bool       // no read is to wait any more
	left bool       // the handler has returned: there is no connection to set it for
}

// hold holds it until it ends.
func (t *agentTalk) hold(c *gin.Context) {
	context.AfterFunc(t.run, t.interrupt)
	hello, err := t.hello()
	if err == nil {
		t.session, err = t.s.eng.OpenAgent(t.run, hello)
	}
	if err != nil {
		t.end(err)
		t.turnAway(err)
		return
	}
	c.Header("Content-Type", wire.Type)
	c.Header("Content-Encoding", "gzip")
	c.Header("X-Accel-Buffering", "no")
	c.Status(http.StatusOK)
	var writer sync.WaitGroup
	writer.Go(t.tell)
	t.end(t.listen())
	writer.Wait()
	err = context.Cause(t.run)
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		err = nil
	}
	t.session.Close(err)
}

// interrupt ends a read that waits.
func (t *agentTalk) interrupt() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done = true
	if !t.left {
		_ = t.control.SetReadDeadline(time.Unix(1, 0))
	}
}

// leave ends what may go on when the handler returns. The server is to read no more of the body.
func (t *agentTalk) leave() {
	t.end(nil)
	t.interrupt()
	t.mu.Lock()
	t.left = true
	t.mu.Unlock()
}

// next reads a line, for which the agent has so long.
func (t *agentTalk) next() (line wire.FromAgent, err error) {
	t.mu.Lock()
	if !t.done {
		_ = t.control.SetReadDeadline(time.Now().Add(t.s.agents.silence)) // fails on no socket
	}
	t.mu.Unlock()
	err = t.in.Next(&line)
	var bad *wire.Error
	switch {
	case errors.As(err, &bad):
		err = &apps.AgentError{Reason: bad.Reason, Detail: bad.Detail}
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = &apps.AgentError{Reason: refusedSilent, Detail: fmt.Sprintf("nothing was heard for %s", t.s.agents.silence)}
	}
	return line, err
}

func (t *agentTalk) hello() (apps.AgentHello, error) {
	line, err := t.next()
	switch {
	case err != nil:
		return apps.AgentHello{}, err
	case line.Hello == nil || line.Hello.Run == "" || len(line.Hello.Run) > maxRun:
		return apps.AgentHello{}, &apps.AgentError{Reason: wire.BadJSON, Detail: "the first line is no hello with the name of a run"}
	}
	return apps.AgentHello{Host: t.host, Run: line.Hello.Run, First: line.Hello.First, Last: line.Hello.Last}, nil
}

// turnAway answers an agent that has no session.
func (t *agentTalk) turnAway(err error) {
	var bad *apps.AgentError
	switch {
	case errors.As(err, &bad):
		t.s.eng.RefuseAgent(t.host, bad)
		writeProblem(t.w, problem(http.StatusBadRequest, bad.Error()))
		return
	case errors.Is(err, apps.ErrNotFound):
		t.s.eng.RefuseAgent(t.host, &apps.AgentError{Reason: refusedHost, Detail: err.Error()})
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = problem(http.StatusBadRequest, "the request ended before it said anything")
	}
	if p := known(t.s.fail(err, nil), nil); p != nil {
		writeProblem(t.w, p)
	}
}

// listen takes what the agent says until one of them ends it.
func (t *agentTalk) listen() error {
	for {
		line, err := t.next()
		if err == nil {
			err = t.take(line)
		}
		if err != nil {
			return err
		}
	}
}

func (t *agentTalk) take(line wire.FromAgent) error {
	switch {
	case line.Dump != nil:
		return t.dump(line.Dump)
	case line.Change != nil:
		c := line.Change
		opened, err := liveStates(c.Opened)
		if err != nil {
			return err
		}
		closed, err := liveStates(c.Closed)
		if err != nil {
			return err
		}
		if err := t.session.Change(t.run, apps.LiveChange{Seq: c.Seq, After: c.After, Opened: opened, Closed: closed, Complete: protocols(c.Complete)}); err != nil {
			return err
		}
		pause := time.NewTimer(t.s.agents.pace)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-t.run.Done():
		}
		return nil
	}
	return &apps.AgentError{Reason: wire.BadJSON, Detail: "a line is neither dump nor change"}
}

func (t *agentTalk) dump(d *wire.Dump) error {
	if len(d.States) == 0 && d.End == nil {
		return &apps.AgentError{Reason: wire.BadJSON, Detail: "a part of a dump is empty"}
	}
	states, err := liveStates(d.States)
	if err == nil {
		err = t.session.DumpPart(d.ID, states)
	}
	if err == nil && d.End != nil {
		err = t.session.DumpEnd(t.run, d.ID, d.End.Seq, d.End.States, protocols(d.End.Complete))
	}
	return err
}

func liveStates(in []wire.State) ([]apps.LiveState, error) {
	out := make([]apps.LiveState, len(in))
	for i, s := range in {
		out[i] = apps.LiveState{Client: s.Client, Local: s.Local}
		switch s.Protocol {
		case wire.TCP:
			out[i].Proto = apps.ProtoTCP
		case wire.UDP:
			out[i].Proto = apps.ProtoUDP
		}
		if out[i].Proto == 0 || !s.Client.IsValid() || !s.Local.IsValid() {
			return nil, &apps.AgentError{Reason: wire.BadJSON, Detail: fmt.Sprintf("protocol %.10q, client %s, local %s is no connection", s.Protocol, s.Client, s.Local)}
		}
	}
	return out, nil
}

func protocols(names []string) (out apps.Protocols) {
	for _, n := range names {
		out.TCP = out.TCP || n == wire.TCP
		out.UDP = out.UDP || n == wire.UDP
	}
	return out
}

// tell says to the agent what the engine orders and, at last, why it ends.
func (t *agentTalk) tell() {
	_ = t.control.SetWriteDeadline(time.Time{})
	out := wire.NewWriter(t.w, t.control.Flush)
	if err := t.control.Flush(); err != nil {
		t.end(err)
	}
	for {
		select {
		case o := <-t.session.Orders():
			t.write(out, order(o))
			continue
		case <-t.session.Over():
			t.end(t.session.Err())
		case <-t.s.stopping.Done():
			t.end(errStopping)
		case <-t.run.Done():
		}
		break
	}
	why := context.Cause(t.run)
	var fault *apps.AgentError
	switch {
	case errors.As(why, &fault):
		t.write(out, wire.FromController{Error: &wire.Error{Reason: fault.Reason, Detail: fault.Detail}})
	case errors.Is(why, errStopping):
		t.write(out, wire.FromController{Error: &wire.Error{Reason: "stopping", Detail: why.Error()}})
	}
	_ = out.Close() // it has gone, or it has read why
}

// write writes a line. It ends the conversation if that takes too long, rather than leave it to the deadline of writing: over HTTP/2 that
// ends reads as well, and which of them was late would not be known.
func (t *agentTalk) write(out *wire.Writer, line wire.FromController) {
	late := time.AfterFunc(t.s.agents.write, func() {
		t.end(&apps.AgentError{Reason: refusedSlow, Detail: fmt.Sprintf("a line was not read within %s", t.s.agents.write)})
		t.mu.Lock()
		defer t.mu.Unlock()
		if !t.left {
			_ = t.control.SetWriteDeadline(time.Unix(1, 0))
		}
	})
	defer late.Stop()
	if err := out.Write(line); err != nil {
		t.end(err)
	}
}

func order(o apps.AgentOrder) wire.FromController {
	switch {
	case o.Dump != 0:
		return wire.FromController{Dump: &wire.Request{ID: o.Dump, Now: o.Now, Ports: map[string][]string{
			wire.TCP: texts(o.Ports[apps.ProtoTCP]), wire.UDP: texts(o.Ports[apps.ProtoUDP])}}}
	case o.Resume:
		return wire.FromController{Resume: &wire.Ack{Seq: o.Seq, Now: o.Now}}
	}
	return wire.FromController{Ack: &wire.Ack{Seq: o.Seq, Now: o.Now}}
}

func texts(ports []vip.Ports) []string {
	out := make([]string, len(ports))
	for i, p := range ports {
		out[i] = p.String()
	}
	return out
}
