package main

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"
)

// problem is an answer that is no success: a problem document (RFC 9457).
type problem struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Errors []struct {
		Location string `json:"location"` // "body.backends[1].port"
		Message  string `json:"message"`
		Value    any    `json:"value"`
	} `json:"errors"`
}

// Error is what is wrong, and a line for each field.
func (p *problem) Error() string {
	var b strings.Builder
	b.WriteString(p.Detail)
	if p.Detail == "" {
		fmt.Fprintf(&b, "the server answers %d %s", p.Status, p.Title)
	}
	for _, e := range p.Errors {
		b.WriteString("\n  ")
		if field := strings.TrimPrefix(e.Location, "body."); field != "" {
			b.WriteString(field + ": ")
		}
		switch e.Value.(type) {
		case string, float64, bool:
			fmt.Fprintf(&b, "%v: ", e.Value)
		}
		b.WriteString(e.Message)
	}
	return printable(b.String(), true)
}

func readProblem(res *http.Response, body []byte) error {
	p := &problem{}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if kind != "application/problem+json" || json.Unmarshal(body, p) != nil {
		return &problem{Status: res.StatusCode, Title: http.StatusText(res.StatusCode)}
	}
	p.Status = res.StatusCode
	if p.Title == "" {
		p.Title = http.StatusText(res.StatusCode)
	}
	return p
}
