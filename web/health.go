package web

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// health answers without a token: a prober has none, and learns nothing but yes or no and why.
func (s *Server) registerHealth(g *gin.Engine) {
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		g.Handle(method, "/healthz", func(c *gin.Context) { c.JSON(http.StatusOK, gin.H{"status": "ok"}) })
		g.Handle(method, "/readyz", func(c *gin.Context) {
			if err := s.eng.Ready(); err != nil {
				writeProblem(c.Writer, problem(http.StatusServiceUnavailable, "not ready: "+err.Error()))
				return
			}
			c.JSON(http.StatusOK, gin.H{"status": "ready"})
		})
	}
}
