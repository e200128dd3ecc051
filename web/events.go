package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"github.com/evenflow/evenflow/apps"
)

const (
	maxEvents     = 1000 // in one answer, or in one write to a stream
	maxStreams    = 64
	streamPing    = 15 * time.Second // a comment, so that a dead peer is noticed
	streamTimeout = 10 * time.Second // for one write
)

type eventsInput struct {
	Since       uint64 `query:"since" doc:"Answer only events with higher ids"`
	Last        uint64 `query:"last" maximum:"10000" doc:"Answer only so many of the newest events; of a stream, begin with them"`
	LastEventID string `header:"Last-Event-ID" doc:"What an EventSource sends when it connects again; like since, and before it"`
	Accept      string `header:"Accept" hidden:"true"`
}

type eventsOutput struct{ Body func(huma.Context) }

func (s *Server) registerEvents(a api) {
	op := operation(http.MethodGet, "list-events", "/events",
		"What happened, oldest first, at most 1,000; with Accept: text/event-stream a stream that goes on", readErrors)
	op.Description = "The last 10,000 events are kept, over restarts too. Ids rise by one: where the first item's is not the one after " +
		"since, those between are kept no more; a stream says so by an event named lost, with their number."
	schema := a.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[items[apps.Event]](), true, "")
	op.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
		typeJSON: {Schema: schema},
		"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString,
			Description: "Each event's id, and as data its JSON as in items; lost: {\"lost\": 3}"}},
	}}}
	huma.Register(a, op, s.listEvents)
}

func (s *Server) listEvents(_ context.Context, in *eventsInput) (*eventsOutput, error) {
	since := in.Since
	if n, err := strconv.ParseUint(in.LastEventID, 10, 64); err == nil {
		since = n
	} else if in.Last > 0 {
		since = max(since, s.beforeLast(in.Last))
	}
	if !strings.Contains(in.Accept, "text/event-stream") {
		return &eventsOutput{func(ctx huma.Context) {
			ctx.SetHeader("Content-Type", typeJSON)
			ctx.SetStatus(http.StatusOK)
			json.NewEncoder(ctx.BodyWriter()).Encode(items[apps.Event]{s.eventsSince(since)}) //nolint:errcheck // the client has gone
		}}, nil
	}
	done, err := s.openStream()
	if err != nil {
		return nil, err
	}
	return &eventsOutput{func(ctx huma.Context) {
		defer done()
		s.stream(ctx, since)
	}}, nil
}

// beforeLast is the id before the newest n events.
func (s *Server) beforeLast(n uint64) uint64 {
	if last := s.eng.LastEvent(); last > n {
		return last - n
	}
	return 0
}

// eventsSince are the events after an id. One that has not been reached yet is of another store, and then all are new.
func (s *Server) eventsSince(id uint64) []apps.Event {
	if id > s.eng.LastEvent() {
		id = 0
	}
	return notNil(s.eng.Events(id, maxEvents))
}

// appendEvents adds the events after an id to a stream, and returns the id of the last.
func (s *Server) appendEvents(text []byte, since uint64, name string) ([]byte, uint64) {
	for _, e := range s.eventsSince(since) {
		data, err := json.Marshal(e)
		if err != nil {
			s.log.WithError(err).WithField("event", e.ID).Error("event not sent")
			continue
		}
		if since > 0 && e.ID > since+1 {
			text = fmt.Appendf(text, "event: lost\ndata: {\"lost\": %d}\n\n", e.ID-since-1)
		}
		if name != "" {
			text = fmt.Appendf(text, "event: %s\n", name)
		}
		text = fmt.Appendf(text, "id: %d\ndata: %s\n\n", e.ID, data)
		since = e.ID
	}
	return text, since
}

// stream writes server-sent events (HTML standard, section 9.2) until the client goes or the server stops.
func (s *Server) stream(ctx huma.Context, since uint64) {
	out := newEventStream(ctx)
	ping := time.NewTicker(streamPing)
	defer ping.Stop()
	for text := []byte(": events\n\n"); ; text = text[:0] {
		changed := s.eng.EventsChanged() // before reading: nothing falls between
		text, since = s.appendEvents(text, since, "")
		for more := len(text) == 0; more; {
			select {
			case <-changed:
				more = false
			case <-ping.C:
				text, more = []byte(": ping\n\n"), false
			case <-s.stopping.Done():
				return
			case <-ctx.Context().Done():
				return
			}
		}
		if !out.send(text) {
			return
		}
	}
}

// eventStream is an answer of server-sent events.
type eventStream struct {
	w        gin.ResponseWriter
	deadline *http.ResponseController
}

func newEventStream(ctx huma.Context) eventStream {
	w := humagin.Unwrap(ctx).Writer
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return eventStream{w, http.NewResponseController(w)}
}

// send writes text at once; false: the client has gone.
func (o eventStream) send(text []byte) bool {
	if len(text) == 0 {
		return true
	}
	_ = o.deadline.SetWriteDeadline(time.Now().Add(streamTimeout)) // fails on no socket; the write tells
	if _, err := o.w.Write(text); err != nil {
		return false
	}
	o.w.Flush()
	_ = o.deadline.SetWriteDeadline(time.Time{}) // of HTTP/2 it would end the stream, whether anybody writes or not
	return true
}

// openStream counts a stream, if there may be one more; done ends it.
func (s *Server) openStream() (done func(), err error) {
	if s.streams.Add(1) > maxStreams {
		s.streams.Add(-1)
		return nil, problem(http.StatusServiceUnavailable, fmt.Sprintf("%d event streams are open, as many as may be", maxStreams))
	}
	return func() { s.streams.Add(-1) }, nil
}
