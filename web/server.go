package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	stdlog "log"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"

	"github.com/evenflow/evenflow/web/dashboard"
)

// limits are the times that a request may take. One that waits (?wait=) and an event stream set their own.
type limits struct {
	body  time.Duration // to read a request, or its body where one is wanted
	write time.Duration // from the end of the header to the end of the answer
}

const (
	headerTimeout   = 10 * time.Second
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 5 * time.Second
	maxHeader       = 16 << 10
)

// Config is what a server needs. Listen or Listener is required; zero values of the rest will do.
type Config struct {
	Listen       string               // TCP address, such as 127.0.0.1:8080
	Listener     net.Listener         // instead of Listen: a socket, or one with TLS around it; Run closes it
	Token        string               // asked for everywhere but at the health endpoints; required unless only this machine can connect
	AllowedHosts []string             // names under which clients may reach the server, beside localhost and its address
	Version      string               // of Evenflow, for the API's document and the metrics
	Log          logrus.FieldLogger   // nil: nothing is logged
	Registry     *prometheus.Registry // nil: one of its own
	Dashboard    fs.FS                // nil: the one in the binary
}

// Server serves the API. It runs once.
type Server struct {
	cfg     Config
	eng     Engine
	log     logrus.FieldLogger
	limits  limits
	bodies  bodies
	handler http.Handler
	doc     []byte        // OpenAPI
	streams atomic.Int32  // event streams under way
	tick    time.Duration // of live streams
	agents  agentLimits

	stopping  context.Context // ends streams and waits
	stop      context.CancelFunc
	listening chan struct{} // closed when addr is set
	addr      net.Addr
}

// New makes a server that answers from eng. Nothing listens before Run.
func New(cfg Config, eng Engine) (*Server, error) {
	return newServer(cfg, eng, limits{body: 10 * time.Second, write: 30 * time.Second})
}

func newServer(cfg Config, eng Engine, lim limits) (*Server, error) {
	if cfg.Listen == "" && cfg.Listener == nil {
		return nil, errors.New("web: neither an address nor a listener")
	}
	if cfg.Log == nil {
		l := logrus.New()
		l.SetOutput(io.Discard)
		cfg.Log = l
	}
	if cfg.Version == "" {
		cfg.Version = "unknown"
	}
	if cfg.Registry == nil {
		cfg.Registry = prometheus.NewRegistry()
	}
	s := &Server{cfg: cfg, eng: eng, log: cfg.Log, limits: lim, listening: make(chan struct{}), tick: liveInterval, agents: defaultAgentLimits}
	s.stopping, s.stop = context.WithCancel(context.Background())
	if err := s.routes(); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	return s, nil
}

// Document is the OpenAPI document that a server of this version serves.
func Document(version string) ([]byte, error) {
	s, err := New(Config{Listen: "127.0.0.1:0", Version: version}, nil)
	if err != nil {
		return nil, err
	}
	return s.doc, nil
}

// routes builds the handler.
func (s *Server) routes() error {
	gin.SetMode(gin.ReleaseMode) // or gin prints its routes
	g := gin.New()
	g.HandleMethodNotAllowed = true
	g.RedirectTrailingSlash = false
	q, err := newRequests(s.log, s.cfg.Registry)
	if err != nil {
		return err
	}
	guard := newGuard(s.cfg.Token, s.cfg.AllowedHosts)
	guard.agents = s.eng
	g.Use(q.observe, secure, s.converses, guard.check)
	g.NoRoute(func(c *gin.Context) { refuse(c, http.StatusNotFound, "there is no "+c.Request.URL.Path) })
	g.NoMethod(func(c *gin.Context) {
		refuse(c, http.StatusMethodNotAllowed, c.Request.Method+" is not for "+c.Request.URL.Path)
	})
	s.registerHealth(g)
	if err := s.registerMetrics(g, s.cfg.Registry, s.cfg.Version); err != nil {
		return err
	}
	files := s.cfg.Dashboard
	if files == nil {
		files = dashboard.Files()
	}
	if err := s.registerPage(g, files); err != nil {
		return err
	}
	group := g.Group(base)
	a := api{humagin.NewWithGroup(g, group, s.document()), s.limits}
	s.bodies = bodies{a.OpenAPI().Components.Schemas}
	s.registerVIPs(a)
	s.registerBackends(a)
	s.registerAgents(a)
	s.registerSwitches(a)
	s.registerExplain(a)
	s.registerHistory(a)
	s.registerImbalance(a)
	s.registerTopology(a)
	s.registerEvents(a)
	s.registerLive(a)
	s.registerBackup(a)
	for _, schema := range a.OpenAPI().Components.Schemas.Map() {
		neverNull(schema)
	}
	doc, err := json.Marshal(a.OpenAPI())
	if err != nil {
		return fmt.Errorf("OpenAPI document: %w", err)
	}
	s.doc = doc
	group.GET("/openapi.json", func(c *gin.Context) { c.Data(http.StatusOK, "application/openapi+json", doc) })
	s.handler = g
	return nil
}

// document is huma's configuration. Its own pages are off: the viewer at /docs is loaded from another site, and the document
// would be made anew, unlocked, at the first request.
func (s *Server) document() huma.Config {
	c := huma.DefaultConfig("Evenflow", s.cfg.Version)
	c.Info.Description = "Layer-4 load balancing by OpenFlow switches. Errors are problem documents (RFC 9457)."
	c.Servers = []*huma.Server{{URL: base}}
	c.Components.Schemas = newSchemas()
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = "", "", ""
	c.CreateHooks = nil // it would add $schema to the answers
	if s.cfg.Token != "" {
		c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer"}}
		c.Security = []map[string][]string{{"token": {}}}
	}
	return c
}

// Handler answers requests; Run serves it.
func (s *Server) Handler() http.Handler { return s.handler }

// Listening is closed when the server accepts connections; from then on Addr says where.
func (s *Server) Listening() <-chan struct{} { return s.listening }

// Addr is the address listened on, nil before Listening is closed.
func (s *Server) Addr() net.Addr {
	select {
	case <-s.listening:
		return s.addr
	default:
		return nil
	}
}

// Run serves until ctx ends, then lets requests under way end, and returns nil. Event streams and waits for switches end at
// once.
func (s *Server) Run(ctx context.Context) error {
	defer s.stop()
	l, err := s.listen(ctx)
	if err != nil {
		return fmt.Errorf("web: %w", err)
	}
	h := &http.Server{
		Handler: s.handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: s.limits.body, WriteTimeout: s.limits.write, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader, Protocols: spoken(), ErrorLog: stdlog.New(logWriter{s.log}, "", 0),
	}
	s.addr = l.Addr()
	close(s.listening)
	s.log.WithField("address", s.addr.String()).Info("HTTP server listens")
	served := make(chan error, 1)
	go func() { served <- h.Serve(l) }()
	select {
	case err := <-served:
		return fmt.Errorf("web: serve on %s: %w", s.addr, err)
	case <-ctx.Done():
	}
	s.stop()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := h.Shutdown(last); err != nil {
		s.log.WithError(err).Warn("HTTP requests cut off")
		h.Close() //nolint:errcheck // what is left is thrown away
	}
	<-served
	return nil
}

// spoken are the versions of HTTP. Over a connection without TLS agents speak HTTP/2 as well, by prior knowledge (RFC 9113, section 3.3).
func spoken() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	return p
}

// listen opens the socket, and refuses one that others can reach when there is no token.
func (s *Server) listen(ctx context.Context) (net.Listener, error) {
	l := s.cfg.Listener
	if l == nil {
		var err error
		if l, err = new(net.ListenConfig).Listen(ctx, "tcp", s.cfg.Listen); err != nil {
			return nil, err
		}
	}
	if t, ok := l.Addr().(*net.TCPAddr); ok && !t.IP.IsLoopback() && s.cfg.Token == "" {
		l.Close() //nolint:errcheck // nothing was accepted
		return nil, fmt.Errorf("listen on %s: a token is required where other machines can connect", t)
	}
	return l, nil
}

// logWriter takes what net/http tells of bad connections: debug messages, since clients cause them.
type logWriter struct{ log logrus.FieldLogger }

func (w logWriter) Write(b []byte) (int, error) {
	w.log.WithField("http", string(b)).Debug("HTTP connection failed")
	return len(b), nil
}
