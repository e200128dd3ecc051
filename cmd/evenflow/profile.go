package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"

	"github.com/evenflow/evenflow/config"
)

// serveProfiles serves Go's profiles of this process until stop is called.
func serveProfiles(address string) (stop func(), err error) {
	if !config.Loopback(address) {
		return nil, fmt.Errorf("--pprof %s: other machines can connect there: want a loopback address", address)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--pprof: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	go http.Serve(l, mux)
	return func() { l.Close() }, nil
}
