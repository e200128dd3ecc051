package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evenflow/evenflow/lab"
)

// The API by HTTPS: clients that know its authority are served, others are not.
func TestServeHTTPS(t *testing.T) {
	a := lab.NewAuthority(t, "ours")
	cert, key := a.Issue("api")
	s := startServer(t, "--data", t.TempDir(), "--http-tls-cert", cert, "--http-tls-key", key)
	url := strings.Replace(s.url, "http:", "https:", 1)
	if got := command(t, url, "", "get", "vips", "--ca-file", a.CA); got.code != 0 {
		t.Errorf("%+v", got)
	}
	if got := command(t, url, "", "get", "vips"); got.code != 1 || !strings.Contains(got.err, "unknown authority") {
		t.Errorf("without the authority: %+v", got)
	}
	if got := command(t, s.url, "", "get", "vips"); got.code != 1 {
		t.Errorf("in the clear: %+v", got)
	}
}

// Files that are no certificates end the program before it does anything.
func TestServeBadCertificates(t *testing.T) {
	a := lab.NewAuthority(t, "ours")
	cert, key := a.Issue("x")
	_, other := a.Issue("y")
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"--http-tls-cert " + cert + " --http-tls-key " + other, "private key does not match"},
		{"--http-tls-cert " + cert + " --http-tls-key /none", "no such file"},
		{"--openflow-tls-cert " + cert + " --openflow-tls-key " + key + " --openflow-tls-ca " + empty, "no certificate in PEM"},
	} {
		data := filepath.Join(t.TempDir(), "data")
		got := command(t, "", "", append([]string{"serve", "--data", data}, strings.Fields(c.args)...)...)
		if got.code != 1 || !strings.Contains(got.err, c.want) {
			t.Errorf("%s: %+v", c.args, got)
		}
		if _, err := os.Stat(data); err == nil {
			t.Errorf("%s: the store was made", c.args)
		}
	}
}
