package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/evenflow/evenflow/agent/wire"
	"github.com/evenflow/evenflow/apps"
)

// guard refuses requests before anything acts on them.
//
// A browser on a machine that can reach the API is the danger: a page of another site may send it requests (CSRF), or have
// its own name resolve to our address (DNS rebinding). So the Host must be a name or address of ours, an Origin must be
// ourselves, and what writes must have a content type that no form can send.
type guard struct {
	hosts map[string]bool // names and addresses, lower case
	token [sha256.Size]byte
	open  bool // no token is asked for

	agents Agent // of which each has a token that is good for its own states
}

func newGuard(token string, hosts []string) *guard {
	g := &guard{hosts: map[string]bool{"localhost": true}, token: sha256.Sum256([]byte(token)), open: token == ""}
	for _, h := range hosts {
		g.hosts[hostname(h)] = true
	}
	return g
}

// secure sets the headers that every answer has. The API is no page, so nothing may be loaded by it or frame it; the
// dashboard has a policy of its own.
func secure(c *gin.Context) {
	h := c.Writer.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

func (g *guard) check(c *gin.Context) {
	r := c.Request
	switch {
	case !g.hostAllowed(r):
		refuse(c, http.StatusMisdirectedRequest, "Host "+r.Host+" is none of this server's names; see allowed hosts")
	case !sameOrigin(r):
		refuse(c, http.StatusForbidden, "Origin "+r.Header.Get("Origin")+" is not this server")
	case !g.authorized(r):
		c.Header("WWW-Authenticate", `Bearer realm="evenflow"`)
		refuse(c, http.StatusUnauthorized, "want Authorization: Bearer and the token")
	case !contentAllowed(r):
		want := typeJSON
		if r.Method == http.MethodPatch {
			want += " or " + typePatch
		}
		refuse(c, http.StatusUnsupportedMediaType, "Content-Type "+r.Header.Get("Content-Type")+" is not taken; want "+want)
	}
}

func refuse(c *gin.Context, status int, detail string) {
	c.Abort()
	writeProblem(c.Writer, problem(status, detail))
}

// hostAllowed takes the allowed names, loopback addresses, and the address that the connection came in by.
func (g *guard) hostAllowed(r *http.Request) bool {
	host := hostname(r.Host)
	if g.hosts[host] {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	if ip.IsLoopback() {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && local.AddrPort().Addr().Unmap() == ip.Unmap()
}

// hostname is the host of a Host header without port, brackets and final dot.
func hostname(hostport string) string {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// sameOrigin reports whether the request comes from no page, or from one of this server.
func sameOrigin(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	u, err := url.Parse(origins[0])
	return len(origins) == 1 && err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// authorized compares digests, so that neither a token's bytes nor its length show in the time taken.
func (g *guard) authorized(r *http.Request) bool {
	if g.open || r.URL.Path == "/healthz" || r.URL.Path == "/readyz" || public(r.URL.Path) {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1 || g.agent(r, sum)
}

// agent holds for the token of an agent, where it tells of its own host.
func (g *guard) agent(r *http.Request, sum [sha256.Size]byte) bool {
	text, states := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, base+"/agents/"), "/states")
	host, err := netip.ParseAddr(text)
	if !states || r.Method != http.MethodPost || err != nil {
		return false
	}
	own := sha256.Sum256([]byte(g.agents.AgentToken(host)))
	if subtle.ConstantTimeCompare(sum[:], own[:]) == 1 {
		return true
	}
	g.agents.RefuseAgent(host, &apps.AgentError{Reason: refusedToken, Detail: "its token is not the one of the agent of " + host.String()})
	return false
}

// contentAllowed holds for reads, and for writes that say they are JSON. A missing type is refused: a page can leave it out.
func contentAllowed(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return true
	case http.MethodDelete:
		if r.ContentLength == 0 {
			return true
		}
	}
	t, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if charset := params["charset"]; err != nil || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return false
	}
	return t == typeJSON || t == wire.Type && strings.HasPrefix(r.URL.Path, base+"/agents/") || t == typePatch && r.Method == http.MethodPatch
}
