package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

// problem is an error as it is answered (RFC 9457).
func problem(status int, detail string, errs ...*huma.ErrorDetail) *huma.ErrorModel {
	return &huma.ErrorModel{Status: status, Title: http.StatusText(status), Detail: detail, Errors: errs}
}

// invalid is the answer to a request whose fields are wrong.
func invalid(errs ...*huma.ErrorDetail) *huma.ErrorModel {
	detail := "one field is wrong"
	if len(errs) > 1 {
		detail = "several fields are wrong"
	}
	return problem(http.StatusUnprocessableEntity, detail, errs...)
}

// statuses are those of the model's errors; the first that fits counts.
var statuses = []struct {
	err    error
	status int
}{
	{apps.ErrNotFound, http.StatusNotFound},
	{apps.ErrVersion, http.StatusPreconditionFailed},
	{apps.ErrExists, http.StatusConflict},
	{apps.ErrConflict, http.StatusConflict},
	{apps.ErrFileVIP, http.StatusConflict},
	{vip.ErrFixed, http.StatusConflict},
	{vip.ErrExhausted, http.StatusInsufficientStorage},
	{apps.ErrRefused, http.StatusBadGateway},
	{apps.ErrAway, http.StatusServiceUnavailable},
	{apps.ErrClosed, http.StatusServiceUnavailable},
	{context.Canceled, http.StatusServiceUnavailable},
	{context.DeadlineExceeded, http.StatusGatewayTimeout},
}

// fail turns an error of the engine into a problem. at is where a wrong field stands in the request's body, nil if the
// request has none. What nobody foresaw is the server's fault: logged, and answered as 500.
func (s *Server) fail(err error, at func(field string) string) error {
	if err == nil {
		return nil
	}
	if p := known(err, at); p != nil {
		return p
	}
	s.log.WithError(err).Error("request failed")
	return problem(http.StatusInternalServerError, err.Error())
}

// failSwitch is fail for what a switch was asked: what it answers wrongly is not our fault.
func failSwitch(err error) error {
	if err == nil {
		return nil
	}
	if p := known(err, nil); p != nil {
		return p
	}
	return problem(http.StatusBadGateway, err.Error())
}

// known is the problem of an error that has one of its own, else nil.
func known(err error, at func(field string) string) *huma.ErrorModel {
	var p *huma.ErrorModel
	if errors.As(err, &p) {
		return p
	}
	var fields vip.FieldErrors
	if errors.As(err, &fields) && at != nil {
		errs := make([]*huma.ErrorDetail, len(fields))
		for i, f := range fields {
			errs[i] = &huma.ErrorDetail{Location: at(f.Field), Message: f.Message, Value: f.Value}
		}
		return invalid(errs...)
	}
	for _, x := range statuses {
		if errors.Is(err, x.err) {
			return problem(x.status, err.Error())
		}
	}
	return nil
}

// inBody is where a field of a VIP stands in a body that holds the VIP.
func inBody(field string) string { return "body." + field }

// inBackend is where a field of a VIP stands in a body that holds the backend at "backends[i]."; what is not of that
// backend is named as it is.
func inBackend(prefix string) func(string) string {
	return func(field string) string {
		if rest, ok := strings.CutPrefix(field, prefix); ok {
			return "body." + rest
		}
		return field
	}
}

// writeProblem answers a problem without huma.
func writeProblem(w http.ResponseWriter, p *huma.ErrorModel) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	json.NewEncoder(w).Encode(p) //nolint:errcheck // the client has gone
}
