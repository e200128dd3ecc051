package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// asMain makes the test binary behave as evenflow.
const asMain = "EVENFLOW_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// now is the time that commands see.
var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// result is what a command did.
type result struct {
	code     int
	out, err string
}

// command runs a command line against a server.
func command(t *testing.T, server, stdin string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	env := map[string]string{"EVENFLOW_SERVER": server}
	code := run(t.Context(), args, &terminal{strings.NewReader(stdin), &out, &errs, func(k string) string { return env[k] }, func() time.Time { return now }})
	return result{code, out.String(), errs.String()}
}

// answer is one of a fake server's.
type answer struct {
	status int // 0: 200
	body   string
}

// fakeAPI answers "METHOD PATH" with what is given, and notes all requests as "METHOD PATH?QUERY CONTENT-TYPE BODY".
type fakeAPI struct {
	*httptest.Server
	mu       sync.Mutex
	answers  map[string]answer
	requests []string
	header   http.Header // of the last request
}

func newFakeAPI(t *testing.T, answers map[string]answer) *fakeAPI {
	f := &fakeAPI{answers: answers}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	f.header = r.Header
	f.requests = append(f.requests, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"), body)))
	a, ok := f.answers[r.Method+" "+r.URL.EscapedPath()]
	if !ok {
		a = answer{404, `{"title":"Not Found","status":404,"detail":"there is no ` + r.URL.Path + `"}`}
	}
	w.Header().Set("Content-Type", "application/json")
	if a.status >= 400 {
		w.Header().Set("Content-Type", "application/problem+json")
	}
	if a.status != 0 {
		w.WriteHeader(a.status)
	}
	io.WriteString(w, a.body) //nolint:errcheck // the test will see
}

// writes are the requests that were no GET.
func (f *fakeAPI) writes() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, r := range f.requests {
		if !strings.HasPrefix(r, "GET ") {
			out = append(out, r)
		}
	}
	return strings.Join(out, "\n")
}

func (want result) check(t *testing.T, got result) {
	t.Helper()
	if got != want {
		t.Errorf("got code %d\n%s%s\nwant code %d\n%s%s", got.code, got.out, got.err, want.code, want.out, want.err)
	}
}

func compact(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestVersion(t *testing.T) {
	if got := command(t, "", "", "version"); got.code != 0 || !strings.HasPrefix(got.out, "evenflow unknown, go1.") {
		t.Errorf("got %+v", got)
	}
}

func TestUsageErrors(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"fly", `unknown command "fly": see evenflow --help`},
		{"get vip", "want 1 argument(s), got 0: evenflow get vip NAME"},
		{"backend drain web", "want 2 argument(s), got 1: evenflow backend drain VIP NAME"},
		{"get vipz", `unknown command "vipz": see evenflow get --help`},
		{"backend grow web b1", `unknown command "grow": see evenflow backend --help`},
		{"get vips -o xml", `--output "xml": want one of table, json, yaml`},
		{"get vips --watch --interval 0s", "--interval 0s: want more than 0"},
		{"get vips --server ftp://x", `server "ftp://x": want a URL such as http://127.0.0.1:8080`},
		{"get vips --server http://127.0.0.1:1", "no answer from http://127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused"},
		{"get vips --token-file /nonexistent", "token: open /nonexistent: no such file or directory"},
		{"vip set web", "nothing to change: want at least one setting"},
		{"vip create web --port 80", `required flag(s) "address" not set`},
		{"vip create web --address 10.0.0.1 --port 80 --backend b1", `backend "b1": want NAME=ADDRESS[:PORT][,weight=N]`},
		{"vip create web --address 10.0.0.1 --port 80 --backend b1=x:1", `backend "b1=x:1": want`},
		{"vip create web --address 10.0.0.1 --port 80 --backend b1=10.0.0.2,size=1", `want NAME=ADDRESS`},
		{"backend set web b1", "nothing to change: want at least one of --weight, --capacity, --admin, --address, --port"},
		{"apply", `required flag(s) "file" not set`},
		{"apply -f /nonexistent", "open /nonexistent: no such file or directory"},
	} {
		if got := command(t, "", "", strings.Fields(tt.args)...); got.code != 1 || got.out != "" || !strings.Contains(got.err, tt.want) {
			t.Errorf("%s: %+v, want %s", tt.args, got, tt.want)
		}
	}
}

func TestToken(t *testing.T) {
	f := newFakeAPI(t, map[string]answer{"GET /api/v1/links": {body: `{"items":[]}`}})
	file := t.TempDir() + "/token"
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := command(t, f.URL, "", "get", "links", "--token-file", file); got.code != 0 || f.header.Get("Authorization") != "Bearer secret" {
		t.Errorf("%+v, Authorization %q", got, f.header.Get("Authorization"))
	}
	if command(t, f.URL, "", "get", "links"); f.header.Get("Authorization") != "" {
		t.Errorf("without a token: Authorization %q", f.header.Get("Authorization"))
	}
	for text, want := range map[string]string{"": "want one line with the token", "a\nb\n": "want one line with the token"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readToken(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestTokenFromEnvironment(t *testing.T) {
	f := newFakeAPI(t, map[string]answer{"GET /api/v1/links": {body: `{"items":[]}`}})
	var out bytes.Buffer
	env := map[string]string{"EVENFLOW_SERVER": strings.TrimPrefix(f.URL, "http://"), "EVENFLOW_TOKEN": "secret"}
	if code := run(context.Background(), []string{"get", "links"}, &terminal{nil, &out, &out, func(k string) string { return env[k] }, time.Now}); code != 0 {
		t.Error(out.String())
	}
	if f.header.Get("Authorization") != "Bearer secret" {
		t.Errorf("Authorization %q", f.header.Get("Authorization"))
	}
}

// The token must not follow a redirect.
func TestRedirectIsNotFollowed(t *testing.T) {
	other := newFakeAPI(t, nil)
	s := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusFound))
	defer s.Close()
	result{1, "", "evenflow: the server answers 302 Found\n"}.check(t, command(t, s.URL, "", "get", "links"))
	if len(other.requests) != 0 {
		t.Errorf("followed: %v", other.requests)
	}
}

func TestProblems(t *testing.T) {
	for _, tt := range []struct {
		name, body, want string
	}{
		{"fields", `{"title":"Unprocessable Entity","status":422,"detail":"several fields are wrong","errors":[
			{"location":"body.backends[1].port","message":"want 1 to 65535","value":70000},
			{"location":"body.name","message":"is required"},{"location":"query.wait","message":"want a duration","value":"x"}]}`,
			"evenflow: several fields are wrong\n  backends[1].port: 70000: want 1 to 65535\n  name: is required\n  query.wait: x: want a duration\n"},
		{"no detail", `{"title":"Teapot","status":418}`, "evenflow: the server answers 422 Teapot\n"},
		{"not JSON", "<html>", "evenflow: the server answers 422 Unprocessable Entity\n"},
		{"hostile", `{"detail":"\u001b[2Jgone"}`, "evenflow: ?[2Jgone\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFakeAPI(t, map[string]answer{"DELETE /api/v1/vips/web": {422, tt.body}})
			result{1, "", tt.want}.check(t, command(t, f.URL, "", "vip", "delete", "web"))
		})
	}
}
