package main

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/config"
	"github.com/evenflow/evenflow/topo"
)

func TestServeSettings(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	token := file("token", "secret\n")
	yaml := file("evenflow.yaml", "openflow: [127.0.0.1:7000]\nhttp: 127.0.0.1:7001\ndata: /var/lib/x\nlog: {level: warn}\n")
	tests := []struct {
		args string
		want func(s *settings)
		err  string
	}{
		{args: "--data d", want: func(s *settings) { s.Data = "d" }},
		{args: "--config " + yaml, want: func(s *settings) {
			s.fromFile, s.OpenFlow, s.HTTP, s.Data, s.Log.Level = true, []string{"127.0.0.1:7000"}, "127.0.0.1:7001", "/var/lib/x", "warn"
		}},
		{args: "--config " + yaml + " --http [::1]:1 --data e --openflow unix:/a --openflow 127.0.0.1:2 --log-level debug", want: func(s *settings) {
			s.fromFile, s.OpenFlow, s.HTTP, s.Data, s.Log.Level = true, []string{"unix:/a", "127.0.0.1:2"}, "[::1]:1", "e", "debug"
		}},
		{args: "--data d --http :80 --insecure-http --openflow :6653 --insecure-openflow --allowed-host lb --token-file " + token, want: func(s *settings) {
			s.Data, s.HTTP, s.OpenFlow, s.Hosts, s.TokenFile, s.token = "d", ":80", []string{":6653"}, []string{"lb"}, token, "secret"
		}},
		{args: "--data d --openflow ssl:10.0.0.1:6653 --openflow-tls-cert c --openflow-tls-key k --openflow-tls-ca a --openflow-versions 1.5",
			want: func(s *settings) {
				s.Data, s.OpenFlow, s.OpenFlowVersions = "d", []string{"ssl:10.0.0.1:6653"}, []string{"1.5"}
				s.OpenFlowTLS = config.SwitchTLS{Cert: "c", Key: "k", CA: "a"}
			}},
		{args: "--data d --http :443 --http-tls-cert c --http-tls-key k --token-file " + token, want: func(s *settings) {
			s.Data, s.HTTP, s.HTTPTLS, s.TokenFile, s.token = "d", ":443", config.Certificate{Cert: "c", Key: "k"}, token, "secret"
		}},
		{args: "--data d --stats-interval 5s", want: func(s *settings) { s.Data, s.statsInterval = "d", 5*time.Second }},
		{args: "--data d --stats-interval 1ms", err: "--stats-interval 1ms: want 100ms to 1m"},
		{args: "", err: "no directory for the store"},
		{args: "--data d --openflow ssl:127.0.0.1:6653", err: "openflow-tls: ssl:127.0.0.1:6653: want a certificate, its key, and the authority"},
		{args: "--data d --openflow-tls-cert c", err: "openflow-tls: want all of"},
		{args: "--data d --openflow-versions 1.0", err: "--openflow-versions 1.0: want some of 1.3, 1.5"},
		{args: "--data d --http-tls-key k", err: "http-tls: want both"},
		{args: "--data d --http :443 --http-tls-cert c --http-tls-key k", err: "http :443: other machines can connect there: want --token-file"},
		{args: "--data d --http :80 --token-file " + token, err: "http :80: other machines can connect there, without TLS: want a loopback address, --http-tls-cert, or --insecure-http"},
		{args: "--data d --http :80 --insecure-http", err: "http :80: other machines can connect there: want --token-file"},
		{args: "--data d --openflow 10.0.0.1:6653", err: "openflow 10.0.0.1:6653: other machines can connect there, without TLS"},
		{args: "--data d --openflow nowhere", err: `--openflow "nowhere": want HOST:PORT`},
		{args: "--data d --http nowhere", err: `--http "nowhere": want HOST:PORT`},
		{args: "--data d --log-level loud", err: `--log-level "loud": want one of error, warn, info, debug`},
		{args: "--data d --token-file " + dir + "/none", err: "token: open"},
		{args: "--config " + dir + "/none", err: "no such file"},
		{args: "--config " + file("bad.yaml", "\nhtp: x\n"), err: "bad.yaml:2: htp: unknown key"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			cmd, f := serveCommand(&terminal{})
			if err := cmd.Flags().Parse(strings.Fields(tt.args)); err != nil {
				t.Fatal(err)
			}
			got, err := f.settings(cmd)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %s", err, tt.err)
				}
				return
			}
			want := settings{Config: config.Default()}
			tt.want(&want)
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(settings{})); err != nil || diff != "" {
				t.Errorf("%v, -want +got\n%s", err, diff)
			}
		})
	}
}

func TestFixedPortsAndRates(t *testing.T) {
	far := topo.PortID{DPID: 2, No: 9}
	got := fixedPorts([]config.Port{{DPID: 1, PortNo: 1, Kind: "edge"}, {DPID: 1, PortNo: 2, Kind: "link"}, {DPID: 1, PortNo: 3, Kind: "link", Link: &far}})
	want := map[topo.PortID]topo.Fixed{{DPID: 1, No: 1}: {Kind: topo.Edge}, {DPID: 1, No: 2}: {Kind: topo.Link}, {DPID: 1, No: 3}: {Kind: topo.Link, Peer: far}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	rates := meterRates(config.PacketIn{LLDP: 1, Neighbour: 2, VIP: 3, Other: 4, Reject: 5})
	if diff := cmp.Diff(map[uint32]uint32{apps.MeterLLDP: 1, apps.MeterNeighbour: 2, apps.MeterVIP: 3, apps.MeterOther: 4, apps.MeterReject: 5}, rates); diff != "" {
		t.Error(diff)
	}
}

var listens = regexp.MustCompile(`HTTP server listens" address="([^"]+)"`)

// server is a controller in a process of its own.
type server struct {
	*exec.Cmd
	url string
	log bytes.Buffer
	end chan struct{} // closed when the log has ended
}

func startServer(t *testing.T, args ...string) *server {
	t.Helper()
	s := &server{Cmd: exec.Command(os.Args[0], append([]string{"serve", "--http", "127.0.0.1:0", "--openflow", "127.0.0.1:0"}, args...)...), end: make(chan struct{})}
	s.Env = append(os.Environ(), asMain+"=1")
	pipe, err := s.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Process.Kill() }) //nolint:errcheck // most often it has ended
	url := make(chan string, 1)
	go func() {
		defer close(s.end)
		defer close(url)
		for in := bufio.NewScanner(pipe); in.Scan(); {
			s.log.WriteString(in.Text() + "\n")
			if m := listens.FindStringSubmatch(in.Text()); m != nil {
				url <- "http://" + m[1]
			}
		}
	}()
	if s.url = <-url; s.url == "" {
		t.Fatalf("the server ended: %s", s.log.String())
	}
	return s
}

// stop sends a signal and returns the exit code.
func (s *server) stop(t *testing.T, sig os.Signal) int {
	t.Helper()
	if err := s.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	<-s.end
	s.Wait() //nolint:errcheck // the exit code says it
	return s.ProcessState.ExitCode()
}

// A server that is told to stop, or killed, comes back with its VIPs: Floodlight's balancer loses all of them.
func TestServeKeepsVIPs(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	for round, sig := range []os.Signal{syscall.SIGTERM, os.Interrupt, os.Kill} {
		s := startServer(t, "--data", data)
		if round == 0 {
			result{0, "vip web created: 10.0.0.100:80/tcp, version 1\n", ""}.check(t,
				command(t, s.url, "", "vip", "create", "web", "--address", "10.0.0.100", "--port", "80", "--backend", "b1=10.0.0.1"))
			if got := command(t, s.url, "", "vip", "create", "dns", "--address", "10.0.0.100", "--port", "80-90", "--backend", "b1=10.0.0.1"); got.code != 1 ||
				!strings.Contains(got.err, "conflict") {
				t.Errorf("an overlap: %+v", got)
			}
			if got := command(t, s.url, "", "serve", "--data", data); got.code != 1 || !strings.Contains(got.err, data+": another evenflow uses it") {
				t.Errorf("a second server: %+v", got)
			}
		}
		got := command(t, s.url, "", "get", "vips")
		if !strings.Contains(got.out, "\nweb   10.0.0.100:80/tcp  group  down   0/1  -            1        api     no backend") {
			t.Errorf("round %d: %+v", round, got)
		}
		if got := command(t, s.url, "", "status"); got.code != 1 || !strings.Contains(got.out, "! no switch has connected") {
			t.Errorf("status without a switch: %+v", got)
		}
		if code := s.stop(t, sig); sig != os.Kill && code != 0 {
			t.Errorf("%s: exit code %d\n%s", sig, code, s.log.String())
		}
	}
	s := startServer(t, "--data", data)
	if got := command(t, s.url, "", "vip", "delete", "web"); got.code != 0 {
		t.Errorf("after a kill: %+v", got)
	}
}

func TestServeConfigFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "evenflow.yaml")
	if err := os.WriteFile(file, []byte("data: "+dir+"/data\ntoken_file: "+dir+"/token\nvips:\n- {name: web, address: 10.0.0.100, protocol: tcp, port: 80}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServer(t, "--config", file)
	if got := command(t, s.url, "", "get", "vips"); got.code != 1 || !strings.Contains(got.err, "want Authorization: Bearer and the token") {
		t.Errorf("without the token: %+v", got)
	}
	if got := command(t, s.url, "", "get", "vips", "--token-file", token); got.code != 0 || !strings.Contains(got.out, "\nweb   10.0.0.100:80/tcp  group  down   0/0  -            1        file    no backends") {
		t.Errorf("a VIP of the file: %+v", got)
	}
	if got := command(t, s.url, "", "vip", "delete", "web", "--token-file", token); got.code != 1 || !strings.Contains(got.err, "declared in the configuration file") {
		t.Errorf("a write to a VIP of the file: %+v", got)
	}
}

func TestServeFailsWhenItCannotListen(t *testing.T) {
	s := startServer(t, "--data", t.TempDir())
	address := strings.TrimPrefix(s.url, "http://")
	got := command(t, "", "", "serve", "--data", t.TempDir(), "--openflow", "127.0.0.1:0", "--http", address)
	if got.code != 1 || !strings.Contains(got.err, "address already in use") {
		t.Errorf("got %+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	if code := run(ctx, []string{"serve", "--data", t.TempDir(), "--openflow", "127.0.0.1:0", "--http", "127.0.0.1:0"},
		&terminal{nil, &out, &out, os.Getenv, nil}); code != 0 {
		t.Errorf("stopped at once: code %d\n%s", code, out.String())
	}
}
