package web

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"

	"github.com/danielgtaylor/huma/v2"

	"github.com/evenflow/evenflow/agent/wire"
	"github.com/evenflow/evenflow/apps"
)

// maxReport is how large a host's report may be: some 100 bytes for each connection.
const maxReport = 32 << 20

// Agent is the part of an engine that takes reports of live connections.
type Agent interface {
	// Agents are those of backends' hosts.
	Agents() []apps.AgentStatus
	// AgentToken is the token by which the agent of a host is known.
	AgentToken(host netip.Addr) string
	// OpenAgent begins a conversation with an agent; apps.ErrNotFound: its host is no backend's. The caller must Close it.
	OpenAgent(ctx context.Context, hello apps.AgentHello) (apps.AgentSession, error)
	// RefuseAgent takes note of an agent that was turned away.
	RefuseAgent(host netip.Addr, refusal *apps.AgentError)
	// ReportStates takes all TCP connections of a host at once. It returns what the host's next report is to say in After.
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
	op := operation(http.MethodPost, "report-states", "/agents/{host}/states", "Tell of the live connections of a backend's host", writeErrors)
	op.MaxBodyBytes, op.BodyReadTimeout, op.DefaultStatus = maxReport, a.limits.body, http.StatusOK
	op.Middlewares = huma.Middlewares{s.streamStates}
	op.Description = "With Content-Type " + wire.Type + " it is a conversation that goes on, as docs/agent.md says; with " + typeJSON +
		" all TCP connections at once. It takes the token of the host's agent, too."
	huma.Register(a, op, s.reportStates)
	talk := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Description: "Lines of JSON, compressed by gzip"}}
	o := operationOf(a.OpenAPI().Paths[op.Path], op.Method)
	o.RequestBody.Content[wire.Type], o.Responses["200"].Content[wire.Type] = talk, talk
	get(a, "list-agents", "/agents", "The agents of backends' hosts", func(context.Context, *struct{}) (*listOutput[apps.AgentStatus], error) {
		return listOf(s.eng.Agents()), nil
	})
	get(a, "get-agent-token", "/agents/{host}/token", "The token that the agent of a host needs, and that is good for no other", s.agentToken)
}

type agentTokenInput struct {
	Host string `path:"host" doc:"Address of the host" example:"10.0.0.1"`
}

type agentTokenOutput struct {
	Body struct {
		Token string `json:"token"`
	}
}

func (s *Server) agentToken(_ context.Context, in *agentTokenInput) (*agentTokenOutput, error) {
	host, err := netip.ParseAddr(in.Host)
	if err != nil {
		return nil, invalid(&huma.ErrorDetail{Location: "path.host", Message: "want an IP address", Value: in.Host})
	}
	out := &agentTokenOutput{}
	out.Body.Token = s.eng.AgentToken(host)
	return out, nil
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
