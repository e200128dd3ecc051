package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

// maxWait bounds ?wait=.
const maxWait = 10 * time.Minute

// WriteParams are the parameters that all writes share.
type WriteParams struct {
	Wait    string `query:"wait" example:"30s" doc:"Answer when every connected switch has confirmed the change; 504 when the time is over first"`
	Force   bool   `query:"force" doc:"Write also to a VIP that the configuration file declares"`
	DryRun  bool   `query:"dry_run" doc:"Check and answer, change nothing"`
	IfMatch string `header:"If-Match" doc:"ETag of the VIP as it was read; 412 when it has changed since"`

	wait time.Duration
}

// Resolve reads what huma cannot, and gives a request that waits the time for it.
func (p *WriteParams) Resolve(ctx huma.Context) (errs []error) {
	u := ctx.URL()
	for _, name := range []string{"wait", "force", "dry_run"} {
		// A bare ?dry_run would count as left out, and write.
		if v, there := u.Query()[name]; there && (len(v) != 1 || v[0] == "") {
			errs = append(errs, &huma.ErrorDetail{Location: "query." + name, Message: "want one value, as in ?dry_run=true or ?wait=30s"})
		}
	}
	if p.Wait == "" {
		return errs
	}
	d, err := time.ParseDuration(p.Wait)
	if err != nil || d < 0 || d > maxWait {
		return append(errs, &huma.ErrorDetail{Location: "query.wait", Message: `want a duration such as "30s", at most ` + maxWait.String(), Value: p.Wait})
	}
	p.wait = d
	// The deadline for the body would otherwise end the request's context while it waits. Neither can fail on a socket.
	w := http.NewResponseController(humagin.Unwrap(ctx).Writer)
	_ = w.SetReadDeadline(time.Time{})
	_ = w.SetWriteDeadline(time.Now().Add(d + writeTimeout))
	return errs
}

func etag(version uint64) string { return `"` + strconv.FormatUint(version, 10) + `"` }

// options are the circumstances of a write to a VIP. It compares If-Match with the VIP as it is; the engine compares again
// when it writes.
func (s *Server) options(p *WriteParams, name string) (apps.WriteOptions, error) {
	opt := apps.WriteOptions{Origin: vip.OriginAPI, Force: p.Force, DryRun: p.DryRun}
	if p.IfMatch == "" {
		return opt, nil
	}
	r, err := s.eng.VIP(name)
	if err != nil {
		return opt, err
	}
	for tag := range strings.SplitSeq(p.IfMatch, ",") {
		switch strings.TrimSpace(tag) {
		case "*":
			return opt, nil
		case etag(r.Version):
			opt.IfVersion = r.Version
			return opt, nil
		}
	}
	return opt, fmt.Errorf("vip %q: %w to %d, which If-Match %s does not name", name, apps.ErrVersion, r.Version, p.IfMatch)
}

// confirm waits as the request asks for the switches to confirm what was written.
func (s *Server) confirm(ctx context.Context, p *WriteParams, r vip.Read) (vip.Read, error) {
	if p.wait == 0 || p.DryRun {
		return r, nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.wait)
	defer cancel()
	defer context.AfterFunc(s.stopping, cancel)()
	now, err := s.eng.WaitVIP(ctx, r.Name, r.Version)
	if err == nil {
		return now, nil
	}
	var out *huma.ErrorModel
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		out = unconfirmed(http.StatusGatewayTimeout, "not confirmed within "+p.wait.String()+" by", r, now.Status.Applied)
	case errors.Is(err, apps.ErrRefused):
		out = unconfirmed(http.StatusBadGateway, "refused by", r, now.Status.Applied)
	case errors.Is(err, context.Canceled):
		out = problem(http.StatusServiceUnavailable, fmt.Sprintf("vip %q: version %d is written, but the wait was cut short", r.Name, r.Version))
	case errors.Is(err, apps.ErrNotFound):
		out = problem(http.StatusNotFound, fmt.Sprintf("vip %q: version %d was written, then the VIP was deleted", r.Name, r.Version))
	default:
		return r, s.fail(err, nil)
	}
	return r, huma.ErrorWithHeaders(out, http.Header{"Etag": {etag(r.Version)}})
}

// unconfirmed is the answer when a switch refuses what was written, or ?wait is over: the write stands, and the switches
// that have not confirmed it are named.
func unconfirmed(status int, what string, r vip.Read, applied []vip.Applied) *huma.ErrorModel {
	var names []string
	var errs []*huma.ErrorDetail
	for _, a := range applied {
		if a.Version >= r.Version && a.Error == "" {
			continue
		}
		text := fmt.Sprintf("has confirmed version %d, not %d", a.Version, r.Version)
		if a.Error != "" {
			text += ": " + a.Error
		}
		names = append(names, a.DPID.String())
		errs = append(errs, &huma.ErrorDetail{Location: "status.applied", Message: text, Value: a.DPID.String()})
	}
	who := "switch " + list(names)
	if len(names) == 0 {
		who = "every switch"
	}
	return problem(status, fmt.Sprintf("vip %q: version %d is written and stays, but %s %s", r.Name, r.Version, what, who), errs...)
}
