package web

import (
	"context"
	"net/netip"

	"github.com/danielgtaylor/huma/v2"

	"github.com/evenflow/evenflow/apps"
)

type explainInput struct {
	Src   string `query:"src" required:"true" doc:"The client's address and port" example:"10.0.0.9:40000"`
	Dst   string `query:"dst" required:"true" doc:"The VIP's address and port" example:"10.0.0.100:80"`
	Proto string `query:"proto" enum:"tcp,udp" default:"tcp" doc:"Protocol"`
}

type explainOutput struct{ Body apps.Explanation }

func (s *Server) registerExplain(a api) {
	get(a, "explain", "/explain", "Where a new connection goes: the backend, and what each switch would choose; 404: no VIP has the destination", s.explain)
}

func (s *Server) explain(_ context.Context, in *explainInput) (*explainOutput, error) {
	t := apps.Tuple{Proto: apps.ProtoTCP}
	if in.Proto == "udp" {
		t.Proto = apps.ProtoUDP
	}
	var wrong []*huma.ErrorDetail
	end := func(name, text string) netip.AddrPort {
		p, err := netip.ParseAddrPort(text)
		if err != nil || p.Addr().Zone() != "" {
			wrong = append(wrong, &huma.ErrorDetail{Location: "query." + name, Value: text,
				Message: "want an address and a port, such as 10.0.0.9:40000 or [fd00::9]:40000"})
		}
		return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
	}
	t.Src, t.Dst = end("src", in.Src), end("dst", in.Dst)
	if len(wrong) == 0 && t.Src.Addr().Is4() != t.Dst.Addr().Is4() {
		wrong = append(wrong, &huma.ErrorDetail{Location: "query.src", Value: in.Src, Message: "want an address of the family of dst"})
	}
	if len(wrong) > 0 {
		return nil, invalid(wrong...)
	}
	x, err := s.eng.Explain(t)
	if err != nil {
		return nil, s.fail(err, nil)
	}
	x.Switches = notNil(x.Switches)
	return &explainOutput{x}, nil
}
