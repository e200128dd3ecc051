package web

import (
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
)

// requests logs and counts requests.
type requests struct {
	log     logrus.FieldLogger
	total   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

func newRequests(log logrus.FieldLogger, reg prometheus.Registerer) (*requests, error) {
	q := &requests{
		log: log,
		total: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "evenflow_http_requests_total",
			Help: "HTTP requests by method, route and status."}, []string{"method", "route", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "evenflow_http_request_duration_seconds",
			Help: "Time to answer an HTTP request, the wait for switches included and event streams not.", Buckets: prometheus.DefBuckets},
			[]string{"method", "route"}),
	}
	return q, register(reg, q.total, q.seconds)
}

// observe is the outermost handler. A panic of a later one is logged with its stack and answered as 500.
func (q *requests) observe(c *gin.Context) {
	start := time.Now()
	defer func() {
		p := recover()
		if p == http.ErrAbortHandler {
			panic(p)
		}
		if p != nil {
			q.log.WithFields(logrus.Fields{"method": c.Request.Method, "path": c.Request.URL.Path, "panic": p,
				"stack": string(debug.Stack())}).Error("request failed")
			if !c.Writer.Written() {
				refuse(c, http.StatusInternalServerError, "the server failed; its log says why")
			}
		}
		q.done(c, time.Since(start))
	}()
	c.Next()
}

func (q *requests) done(c *gin.Context, took time.Duration) {
	method, route := methodLabel(c.Request.Method), c.FullPath()
	if route == "" {
		route = "none" // the path is the client's choice, and no label
	}
	q.total.WithLabelValues(method, route, strconv.Itoa(c.Writer.Status())).Inc()
	if c.Writer.Header().Get("Content-Type") != "text/event-stream" {
		q.seconds.WithLabelValues(method, route).Observe(took.Seconds())
	}
	q.log.WithFields(logrus.Fields{"method": c.Request.Method, "path": c.Request.URL.Path, "status": c.Writer.Status(),
		"bytes": c.Writer.Size(), "duration": took, "client": c.Request.RemoteAddr}).Debug("request")
}

func methodLabel(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return m
	}
	return "other"
}
