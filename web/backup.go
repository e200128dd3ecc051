package web

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
)

const (
	typeGzip      = "application/gzip"
	backupTimeout = 10 * time.Minute // to send one
)

type backupOutput struct{ Body func(huma.Context) }

func (s *Server) registerBackup(a api) {
	op := operation(http.MethodGet, "get-backup", "/backup", "A backup of the store as it is now, for evenflow restore; it holds keys", readErrors)
	op.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
		typeGzip: {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}}}}
	huma.Register(a, op, s.backup)
}

// backup answers from memory: a slow reader must not hold a transaction of the store, and an answer that is cut off falls
// short of its length.
func (s *Server) backup(context.Context, *struct{}) (*backupOutput, error) {
	var b bytes.Buffer
	if err := s.eng.Backup(&b); err != nil {
		return nil, s.fail(err, nil)
	}
	return &backupOutput{func(ctx huma.Context) {
		_ = http.NewResponseController(humagin.Unwrap(ctx).Writer).SetWriteDeadline(time.Now().Add(backupTimeout)) // fails on no socket
		ctx.SetHeader("Content-Type", typeGzip)
		ctx.SetHeader("Content-Length", strconv.Itoa(b.Len()))
		ctx.SetStatus(http.StatusOK)
		b.WriteTo(ctx.BodyWriter()) //nolint:errcheck // the client has gone
	}}, nil
}
