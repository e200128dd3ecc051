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
	LastEventID string `header:"Last-Event-ID" doc:"What an EventSource sends when it connects again; like since, and before it"`
	Accept      string `header:"Accept" hidden:"true"`
}

type eventsOutput struct{ Body func(huma.Context) }

func (s *Server) registerEvents(a api) {
	op := operation(http.MethodGet, "list-events", "/events",
		"What happened, oldest first, at most 1,000; with Accept: text/event-stream a stream that goes on", readErrors)
	schema := a.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[items[apps.Event]](), true, "")
	op.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
		typeJSON:            {Schema: schema},
		"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString, Description: "Each event's id, and as data its JSON as in items"}},
	}}}
	huma.Register(a, op, s.listEvents)
}

func (s *Server) listEvents(_ context.Context, in *eventsInput) (*eventsOutput, error) {
	since := in.Since
	if n, err := strconv.ParseUint(in.LastEventID, 10, 64); err == nil {
		since = n
	}
	if !strings.Contains(in.Accept, "text/event-stream") {
		return &eventsOutput{func(ctx huma.Context) {
			ctx.SetHeader("Content-Type", typeJSON)
			ctx.SetStatus(http.StatusOK)
			json.NewEncoder(ctx.BodyWriter()).Encode(items[apps.Event]{s.eventsSince(since)}) //nolint:errcheck // the client has gone
		}}, nil
	}
	if s.streams.Add(1) > maxStreams {
		s.streams.Add(-1)
		return nil, problem(http.StatusServiceUnavailable, fmt.Sprintf("%d event streams are open, as many as may be", maxStreams))
	}
	return &eventsOutput{func(ctx huma.Context) {
		defer s.streams.Add(-1)
		s.stream(ctx, since)
	}}, nil
}

// eventsSince are the events after an id. Ids begin anew when the controller starts: an id that has not been reached yet is
// one of a former run, and then all events are new.
func (s *Server) eventsSince(id uint64) []apps.Event {
	if id > 0 && len(s.eng.Events(id-1, 1)) == 0 {
		id = 0
	}
	return notNil(s.eng.Events(id, maxEvents))
}

// stream writes server-sent events (HTML standard, section 9.2) until the client goes or the server stops.
func (s *Server) stream(ctx huma.Context, since uint64) {
	w := humagin.Unwrap(ctx).Writer
	deadline := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	ping := time.NewTicker(streamPing)
	defer ping.Stop()
	for text := []byte(": events\n\n"); ; text = text[:0] {
		changed := s.eng.EventsChanged() // before reading: nothing falls between
		for _, e := range s.eventsSince(since) {
			data, err := json.Marshal(e)
			if err != nil {
				s.log.WithError(err).WithField("event", e.ID).Error("event not sent")
				continue
			}
			text = fmt.Appendf(text, "id: %d\ndata: %s\n\n", e.ID, data)
			since = e.ID
		}
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
		_ = deadline.SetWriteDeadline(time.Now().Add(streamTimeout)) // fails on no socket; the write tells
		if _, err := w.Write(text); err != nil {
			return
		}
		w.Flush()
	}
}
