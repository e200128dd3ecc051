package web

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// base is the path of the API.
const base = "/api/v1"

// maxBody bounds a request's body, in bytes.
const maxBody = 1 << 20

const (
	typeJSON  = "application/json"
	typePatch = "application/merge-patch+json"
)

// api is what the handlers are registered with.
type api struct {
	huma.API
	limits limits
}

// items is how lists are answered.
type items[T any] struct {
	Items []T `json:"items"`
}

type listOutput[T any] struct{ Body items[T] }

func listOf[T any](v []T) *listOutput[T] { return &listOutput[T]{items[T]{notNil(v)}} }

func notNil[T any](v []T) []T {
	if v == nil {
		return []T{}
	}
	return v
}

// Errors that requests may answer, beside 500.
var (
	readErrors = []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMisdirectedRequest,
		http.StatusServiceUnavailable}
	writeErrors = append([]int{http.StatusBadRequest, http.StatusRequestTimeout, http.StatusConflict, http.StatusPreconditionFailed,
		http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusNotImplemented, http.StatusBadGateway,
		http.StatusGatewayTimeout, http.StatusInsufficientStorage}, readErrors...)
)

func operation(method, id, path, summary string, errs []int) huma.Operation {
	return huma.Operation{Method: method, OperationID: id, Path: path, Summary: summary,
		Errors:                       append([]int{http.StatusUnprocessableEntity, http.StatusInternalServerError}, errs...),
		RejectUnknownQueryParameters: true} // a mistyped ?dry_run would write
}

func get[I, O any](a api, id, path, summary string, h func(context.Context, *I) (*O, error)) {
	huma.Register(a, operation(http.MethodGet, id, path, summary, readErrors), h)
}

// live is a get that asks a switch.
func live[I, O any](a api, id, path, summary string, h func(context.Context, *I) (*O, error)) {
	errs := append([]int{http.StatusBadGateway, http.StatusGatewayTimeout}, readErrors...)
	huma.Register(a, operation(http.MethodGet, id, path, summary, errs), h)
}

// write registers a POST, PUT or PATCH whose body is of a component. huma hands the body over as it is: bodies reads it.
func write[I, O any](a api, method, id, path, component, summary string, h func(context.Context, *I) (*O, error)) {
	op := operation(method, id, path, summary, writeErrors)
	op.MaxBodyBytes, op.BodyReadTimeout, op.SkipValidateBody = maxBody, a.limits.body, true
	if method == http.MethodPost {
		op.DefaultStatus = http.StatusCreated
	}
	huma.Register(a, op, h)
	o := operationOf(a.OpenAPI().Paths[path], method)
	o.RequestBody.Content = map[string]*huma.MediaType{typeJSON: {Schema: ref(component)}}
	if method == http.MethodPatch {
		o.RequestBody.Content[typePatch] = &huma.MediaType{Schema: ref(component)}
	}
	switch method {
	case http.MethodPost:
		also(o, http.StatusOK, http.StatusCreated, "What a dry run would create")
	case http.MethodPut:
		also(o, http.StatusCreated, http.StatusOK, "Created: there was none of the name")
	}
}

// also documents that status answers the same as like.
func also(o *huma.Operation, status, like int, doc string) {
	r := *o.Responses[strconv.Itoa(like)]
	r.Description = doc
	o.Responses[strconv.Itoa(status)] = &r
}

func remove[I any](a api, id, path, summary string, h func(context.Context, *I) (*struct{}, error)) {
	huma.Register(a, operation(http.MethodDelete, id, path, summary, writeErrors), h)
}

func operationOf(p *huma.PathItem, method string) *huma.Operation {
	switch method {
	case http.MethodPost:
		return p.Post
	case http.MethodPut:
		return p.Put
	}
	return p.Patch
}
