package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"
)

// pagePolicy lets the dashboard load what this server serves, and nothing else from anywhere.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// notBuilt is shown in place of a dashboard that was left out of the binary.
const notBuilt = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Evenflow</title>
<h1>The dashboard is not in this binary</h1>
<p>It was built by <code>go build</code> alone. <code>make build</code> builds the dashboard too; it needs Node.js 20 and npm.
<p>The API is at <a href="/api/v1/openapi.json">/api/v1</a>.
`

// asset is a file of the dashboard.
type asset struct {
	data  []byte
	kind  string
	etag  string
	whole sync.Once
	small []byte // gzipped; nil: not smaller
}

// registerPage serves the dashboard at the root. Who loads it needs no token: it holds nothing of this controller's, and asks
// for the token itself.
func (s *Server) registerPage(g *gin.Engine, files fs.FS) error {
	assets, err := readAssets(files)
	if err != nil {
		return fmt.Errorf("dashboard: %w", err)
	}
	file := func(name string) func(*gin.Context) {
		return func(c *gin.Context) { assets[name].serve(c, "no-cache") }
	}
	root := file("index.html")
	if assets["index.html"] == nil {
		root = func(c *gin.Context) {
			c.Header("Content-Security-Policy", pagePolicy)
			c.Data(http.StatusServiceUnavailable, "text/html; charset=utf-8", []byte(notBuilt))
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		g.Handle(method, "/", root)
		g.Handle(method, "/favicon.svg", file("favicon.svg"))
		g.Handle(method, "/assets/*file", func(c *gin.Context) { // their names change with what they hold
			assets["assets"+path.Clean("/"+c.Param("file"))].serve(c, "public, max-age=31536000, immutable")
		})
	}
	return nil
}

// public reports whether a path is of the dashboard.
func public(p string) bool {
	return p == "/" || p == "/favicon.svg" || strings.HasPrefix(p, "/assets/")
}

// kinds are the types of the dashboard's files, by extension: the same on every machine.
var kinds = map[string]string{
	".html":  "text/html; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".css":   "text/css; charset=utf-8",
	".svg":   "image/svg+xml",
	".woff2": "font/woff2",
}

func readAssets(files fs.FS) (map[string]*asset, error) {
	assets := map[string]*asset{}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // nothing was built
		}
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		kind, known := kinds[path.Ext(name)]
		if !known {
			kind = "application/octet-stream"
		}
		sum := sha256.Sum256(data)
		assets[name] = &asset{data: data, kind: kind, etag: fmt.Sprintf(`"%x"`, sum[:12])}
		return err
	})
	return assets, err
}

func (a *asset) serve(c *gin.Context, cache string) {
	if a == nil {
		refuse(c, http.StatusNotFound, "there is no "+c.Request.URL.Path)
		return
	}
	h := c.Writer.Header()
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Cache-Control", cache)
	h.Set("Etag", a.etag)
	h.Set("Vary", "Accept-Encoding")
	if c.GetHeader("If-None-Match") == a.etag {
		c.Status(http.StatusNotModified)
		return
	}
	data := a.data
	if strings.Contains(c.GetHeader("Accept-Encoding"), "gzip") {
		a.whole.Do(a.compress)
		if a.small != nil {
			data = a.small
			h.Set("Content-Encoding", "gzip")
		}
	}
	c.Data(http.StatusOK, a.kind, data)
}

func (a *asset) compress() {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = z.Write(a.data)
	}
	if err == nil && z.Close() == nil && b.Len() < len(a.data) {
		a.small = b.Bytes()
	}
}
