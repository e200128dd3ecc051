// Package web serves the REST API, the metrics and the health endpoints over HTTP.
//
// The API's paths and JSON are a contract (docs/api.md); its OpenAPI document is made from the same Go types that are
// answered, so the two cannot drift apart. Only this package knows gin and huma. What it needs of the engine it declares
// itself, as [Engine].
//
// A request passes, in this order: the log and the request metrics, the security headers, the checks of Host, Origin,
// token and content type (guard.go), then its handler. Every error is a problem document (RFC 9457).
package web
