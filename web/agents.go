package web

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"

	"github.com/danielgtaylor/huma/v2"

	"github.com/evenflow/evenflow/apps"
)

// maxReport is how large a host's report may be: some 100 bytes for each connection.
const maxReport = 128 << 20

// Agent is the part of an engine that takes reports of live connections.
type Agent interface {
	// ReportStates takes all connections of a host. It returns what the host's next report is to say in After.
	ReportStates(ctx context.Context, r apps.LiveReport) (after int64, err error)
}

type agentReport struct {
	Host string `path:"host" doc:"Address of the host, a backend's" example:"10.0.0.1"`
	Body struct {
		After  int64       `json:"after,omitempty" doc:"What the answer to the host's last report said; 0 or absent: this is its first"`
		States []LiveState `json:"states" doc:"All connections of the host, also those that begin or end"`
	}
}

// LiveState is a connection as its backend's host has it.
type LiveState struct {
	Protocol string `json:"protocol" enum:"tcp,udp"`
	Client   string `json:"client" doc:"Address and port" example:"10.0.0.9:40000"`
	Local    string `json:"local" doc:"Address and port" example:"10.0.0.1:8080"`
}

type agentAnswer struct {
	Body struct {
		After int64 `json:"after" doc:"For the next report: so it is known when that was begun, whatever the host's clock says"`
	}
}

func (s *Server) registerAgents(a api) {
	op := operation(http.MethodPost, "report-states", "/agents/{host}/states", "Tell of all live connections of a backend's host", writeErrors)
	op.MaxBodyBytes, op.BodyReadTimeout, op.DefaultStatus = maxReport, a.limits.body, http.StatusOK
	huma.Register(a, op, s.reportStates)
}

func (s *Server) reportStates(ctx context.Context, in *agentReport) (*agentAnswer, error) {
	r := apps.LiveReport{After: in.Body.After, States: make([]apps.LiveState, len(in.Body.States))}
	var err error
	if r.Host, err = netip.ParseAddr(in.Host); err != nil {
		return nil, invalid(&huma.ErrorDetail{Location: "path.host", Message: "want an IP address", Value: in.Host})
	}
	for i, l := range in.Body.States {
		t := apps.LiveState{Proto: apps.ProtoTCP}
		if l.Protocol == "udp" {
			t.Proto = apps.ProtoUDP
		}
		for _, f := range []struct {
			name, text string
			to         *netip.AddrPort
		}{{"client", l.Client, &t.Client}, {"local", l.Local, &t.Local}} {
			if *f.to, err = netip.ParseAddrPort(f.text); err != nil {
				at := fmt.Sprintf("body.states[%d].%s", i, f.name)
				return nil, invalid(&huma.ErrorDetail{Location: at, Message: "want an address and port such as 10.0.0.9:40000", Value: f.text})
			}
		}
		r.States[i] = t
	}
	after, err := s.eng.ReportStates(ctx, r)
	if err != nil {
		return nil, s.fail(err, inBody)
	}
	out := &agentAnswer{}
	out.Body.After = after
	return out, nil
}
