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

// waitMargin is the time to answer after a wait.
const waitMargin = 30 * time.Second

// WriteParams are the parameters that all writes share.
type WriteParams struct {
	Wait    string `query:"wait" example:"30s" doc:"Answer when every connected switch has confirmed; 504 when time is over first"`
	Force   bool   `query:"force" doc:"Write also to a VIP that the configuration file declares"`
	DryRun  bool   `query:"dry_run" doc:"Check and answer, change nothing"`
	Drop    bool   `query:"drop_oldest" doc:"Mode deferred: a change that would wait drops the oldest generation of backends; connections that began in it may break"`
	IfMatch string `header:"If-Match" doc:"ETag of the VIP as it was read; 412 when it has changed since"`

	wait time.Duration
}

// Resolve reads what huma cannot, and gives a request that waits the time for it.
func (p *WriteParams) Resolve(ctx huma.Context) (errs []error) {
	u := ctx.URL()
	for _, name := range []string{"wait", "force", "dry_run", "drop_oldest"} {
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
		return append(errs, &huma.ErrorDetail{Location: "query.wait", Value: p.Wait,
			Message: `want a duration such as "30s", at most ` + maxWait.String()})
	}
	p.wait = d
	// It cannot fail on a socket. (net/http has lifted the deadline for the body, once that was read.)
	_ = http.NewResponseController(humagin.Unwrap(ctx).Writer).SetWriteDeadline(time.Now().Add(d + waitMargin))
	return errs
}

func etag(version uint64) string { return `"` + strconv.FormatUint(version, 10) + `"` }

// options are the circumstances of a write to a VIP. It compares If-Match with the VIP as it is; the engine compares again
// when it writes.
func (s *Server) options(p *WriteParams, name string) (apps.WriteOptions, error) {
	opt := apps.WriteOptions{Origin: vip.OriginAPI, Force: p.Force, DryRun: p.DryRun, DropOldest: p.Drop}
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
	did := fmt.Sprintf("vip %q: version %d is written and stays", r.Name, r.Version)
	now, err := s.await(ctx, p, r.Name, r.Version, did)
	if err == nil {
		return now, nil
	}
	if errors.Is(err, apps.ErrNotFound) {
		err = problem(http.StatusNotFound, fmt.Sprintf("vip %q: version %d was written, then the VIP was deleted", r.Name, r.Version))
	}
	return r, huma.ErrorWithHeaders(s.fail(err, nil), http.Header{"Etag": {etag(r.Version)}})
}

// confirmGone waits as the request asks for the switches to confirm that a VIP is gone, after r was read and deleted: a wait
// for the version that it will not have ends by its not being found.
func (s *Server) confirmGone(ctx context.Context, p *WriteParams, r vip.Read) error {
	if p.wait == 0 || p.DryRun {
		return nil
	}
	_, err := s.await(ctx, p, r.Name, r.Version+1, fmt.Sprintf("vip %q is deleted and stays so", r.Name))
	if errors.Is(err, apps.ErrNotFound) {
		return nil
	}
	return s.fail(err, nil)
}

// await waits until the switches have confirmed a version, the request's time is over or the server stops. Its error says
// what was done, and which switches have not confirmed it.
func (s *Server) await(ctx context.Context, p *WriteParams, name string, version uint64, did string) (vip.Read, error) {
	ctx, cancel := context.WithTimeout(ctx, p.wait)
	defer cancel()
	defer context.AfterFunc(s.stopping, cancel)()
	now, err := s.eng.WaitVIP(ctx, name, version)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		what := fmt.Sprintf("%s, but is not confirmed within %s by", did, p.wait)
		return now, unconfirmed(http.StatusGatewayTimeout, what, version, now.Status.Applied)
	case errors.Is(err, apps.ErrRefused):
		return now, unconfirmed(http.StatusBadGateway, did+", but is refused by", version, now.Status.Applied)
	case errors.Is(err, context.Canceled), errors.Is(err, apps.ErrClosed):
		return now, problem(http.StatusServiceUnavailable, did+", but the wait for switches was cut short")
	}
	return now, err
}

// unconfirmed is the answer that names the switches which have not confirmed a write.
func unconfirmed(status int, what string, version uint64, applied []vip.Applied) *huma.ErrorModel {
	var names []string
	var errs []*huma.ErrorDetail
	for _, a := range applied {
		if a.Version >= version && a.Error == "" {
			continue
		}
		text := fmt.Sprintf("has confirmed version %d, not %d", a.Version, version)
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
	return problem(status, what+" "+who, errs...)
}
