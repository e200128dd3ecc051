package controller_test

import (
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/lab"
)

// A switch is known by its certificate, and refused with a reason if it has none of our authority's.
func TestTLS(t *testing.T) {
	ours, theirs := lab.NewAuthority(t, "ours"), lab.NewAuthority(t, "theirs")
	serverTLS := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{ours.Certificate("controller")},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ours.Pool()}
	good := func() *tls.Config {
		return &tls.Config{RootCAs: ours.Pool(), ServerName: "localhost", Certificates: []tls.Certificate{ours.Certificate("switch one")}}
	}
	for name, c := range map[string]struct {
		change func(*tls.Config)
		want   string // in the log; "": served
	}{
		"TLS 1.3":        {func(*tls.Config) {}, ""},
		"TLS 1.2":        {func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, ""},
		"TLS 1.1":        {func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS11, tls.VersionTLS11 }, "unsupported versions"},
		"no certificate": {func(c *tls.Config) { c.Certificates = nil }, "client didn't provide a certificate"},
		"another authority's": {func(c *tls.Config) {
			cert := theirs.Certificate("switch one")
			c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &cert, nil }
		}, "unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, controller.Config{})
			client := good()
			c.change(client)
			near, far := net.Pipe()
			end := h.serve(tls.Server(near, serverTLS))
			fake := controllertest.NewSwitch(1)
			fake.Use(tls.Client(far, client))
			if c.want == "" {
				h.until(t, "connected")
				if got := h.session().Info().Certificate; got != "CN=switch one" {
					t.Errorf("certificate of %q", got)
				}
				return
			}
			err := <-end
			mustBe(t, err, controller.ErrTLS)
			if !strings.Contains(h.logs.String(), c.want) {
				t.Errorf("logged %s", h.logs)
			}
			if n := h.ctl.Endings()["TLS"]; n != 1 || len(h.log()) != 0 {
				t.Errorf("%d counted, told %v", n, h.log())
			}
		})
	}
}

// A listener of kind ssl: serves by TLS alone, and is not opened without a certificate.
func TestListenTLS(t *testing.T) {
	ours := lab.NewAuthority(t, "ours")
	cfg := controller.Config{Listen: []string{"ssl:127.0.0.1:0"}, TLS: &tls.Config{Certificates: []tls.Certificate{ours.Certificate("controller")}}}
	r := run(t, cfg)
	address := r.ctl.Addrs()[0].String()
	plain := controllertest.NewSwitch(1)
	if err := plain.Dial(t.Context(), "tcp", address); err != nil {
		t.Fatal(err)
	}
	if err := plain.Await(t.Context(), func() bool { return plain.Connected() == 0 }); err != nil {
		t.Error("a connection without TLS is kept")
	}
	conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: ours.Pool()})
	if err != nil {
		t.Fatal(err)
	}
	controllertest.NewSwitch(2).Use(conn)
	r.until(t, "connected")
	if d := r.session().Info().DPID; d != 2 {
		t.Errorf("connected: %s", d)
	}
}

// Who does not shake hands is given up.
func TestTLSSilence(t *testing.T) {
	cert := lab.NewAuthority(t, "ours").Certificate("controller")
	synctest.Test(t, func(t *testing.T) {
		h := start(t, controller.Config{})
		near, far := net.Pipe()
		defer far.Close()
		begin := time.Now()
		err := <-h.serve(tls.Server(near, &tls.Config{Certificates: []tls.Certificate{cert}}))
		mustBe(t, err, controller.ErrNoAnswer)
		if d := time.Since(begin); d != 5*time.Second {
			t.Errorf("%v after %v", err, d)
		}
	})
}

// Whoever opens many connections and says nothing crowds out its own, never a switch.
func TestCrowd(t *testing.T) {
	r := run(t, controller.Config{Listen: []string{"127.0.0.1:0"}, MaxWaiting: 20})
	address := r.ctl.Addrs()[0].String()
	open := 0
	gone := make(chan struct{}, 1000)
	for range 200 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		open++
		go func() {
			for buf := make([]byte, 100); ; {
				if _, err := conn.Read(buf); err != nil {
					gone <- struct{}{}
					return
				}
			}
		}()
	}
	fake := controllertest.NewSwitch(1)
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	conn, err := d.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	fake.Use(conn)
	r.until(t, "connected")
	for range open - 20 {
		<-gone
	}
	if n := r.ctl.Endings()["crowded out"]; n < 170 {
		t.Errorf("%d crowded out", n)
	}
}

// What a peer does again and again does not fill the log.
func TestLogIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, controller.Config{})
		for range 500 {
			near, far := net.Pipe()
			_ = far.Close()
			if err := <-h.serve(near); err == nil {
				t.Error("served")
			}
		}
		time.Sleep(time.Minute)
		near, far := net.Pipe()
		_ = far.Close()
		<-h.serve(near)
		if n := strings.Count(h.logs.String(), "\n"); n > 15 || !strings.Contains(h.logs.String(), "lines=490") {
			t.Errorf("%d lines\n%s", n, h.logs)
		}
		if got := fmt.Sprint(h.ctl.Endings()["closed by the peer"]); got != "501" {
			t.Errorf("%s counted: %v", got, h.ctl.Endings())
		}
	})
}
