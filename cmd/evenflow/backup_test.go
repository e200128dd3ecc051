package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/store"
)

// A restored store serves the same VIPs with the same ids, and none of the ids given since is given again.
func TestBackupAndRestore(t *testing.T) {
	dir := t.TempDir()
	data, file := filepath.Join(dir, "data"), filepath.Join(dir, "evenflow.backup")
	s := startServer(t, "--data", data)
	create := func(name, address string) {
		t.Helper()
		if got := command(t, s.url, "", "vip", "create", name, "--address", address, "--port", "80", "--backend", "b1=10.0.0.1"); got.code != 0 {
			t.Fatalf("%+v", got)
		}
	}
	create("gone", "10.0.0.99")
	create("web", "10.0.0.100")
	if got := command(t, s.url, "", "vip", "delete", "gone"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	since := regexp.MustCompile(`"since": "[^"]*"`) // each start's own
	read := func() string {
		return since.ReplaceAllString(command(t, s.url, "", "get", "vips", "-o", "json").out, "")
	}
	vips := read()
	result{0, file + " holds 1 VIP, schema 1\n", ""}.check(t, command(t, s.url, "", "backup", file))
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: it holds keys", st, err)
	}
	create("later", "10.0.0.101")

	for args, want := range map[string]string{
		"backup --data " + data + " " + file:            "another evenflow uses it: leave out --data to ask it for the backup",
		"restore --force --data " + data + " " + file:   "another evenflow uses it",
		"restore " + file:                               `required flag(s) "data" not set`,
		"restore --data " + dir + "/x " + dir + "/none": "no such file",
		"backup " + dir + "/none/x":                     "no such file",
	} {
		if got := command(t, s.url, "", strings.Fields(args)...); got.code != 1 || !strings.Contains(got.err, want) {
			t.Errorf("%s: %+v", args, got)
		}
	}
	s.stop(t, os.Interrupt)
	if got := command(t, s.url, "", "restore", file, "--data", data); got.code != 1 || !strings.Contains(got.err, "there is a store already: want --force") {
		t.Errorf("over another store: %+v", got)
	}
	result{0, data + " restored: 1 VIP, schema 1\n", ""}.check(t, command(t, "", "", "restore", file, "--data", data, "--force"))

	offline := filepath.Join(dir, "offline")
	result{0, offline + " holds 1 VIP, schema 1\n", ""}.check(t, command(t, "", "", "backup", offline, "--data", data))
	other := filepath.Join(dir, "other")
	result{0, other + " restored: 1 VIP, schema 1\n", ""}.check(t, command(t, "", "", "restore", offline, "--data", other))

	for _, data := range []string{data, other} {
		s = startServer(t, "--data", data)
		if got := read(); got != vips || !strings.Contains(got, `"name": "web"`) {
			t.Errorf("restored\n%s\nwas\n%s", got, vips)
		}
		s.stop(t, os.Interrupt)
		if ids := storedIDs(t, data); ids != "web=2 last=3" {
			t.Errorf("ids %s, want web=2 and 3 as the last given", ids)
		}
	}
}

// An answer that is cut off, or is no backup, leaves the file as it was.
func TestBackupKeepsOldFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "evenflow.backup")
	if err := os.WriteFile(file, []byte("yesterday's"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := newFakeAPI(t, map[string]answer{"GET /api/v1/backup": {body: "no gzip at all"}})
	result{1, "", "evenflow: backup: damaged: it is no backup\n"}.check(t, command(t, f.URL, "", "backup", file))
	f.answers["GET /api/v1/backup"] = answer{401, `{"detail":"want a token"}`}
	result{1, "", "evenflow: want a token\n"}.check(t, command(t, f.URL, "", "backup", file))
	cut := newCutServer(t)
	if got := command(t, cut, "", "backup", file); got.code != 1 || !strings.Contains(got.err, "unexpected EOF") {
		t.Errorf("cut off: %+v", got)
	}
	entries, err := os.ReadDir(dir)
	if b, err2 := os.ReadFile(file); string(b) != "yesterday's" || len(entries) != 1 || errors.Join(err, err2) != nil {
		t.Errorf("left %q in %v: %v, %v", b, entries, err, err2)
	}
}

// What the API has answered outlives a kill amid many writes: VIPs created, changed and deleted by four clients at once.
func TestKillAmidWrites(t *testing.T) {
	const writes, rounds = 1000, 4
	data := filepath.Join(t.TempDir(), "data")
	names := make([][]name, 4) // a client's own
	answered := 0
	for round := range rounds {
		s := startServer(t, "--data", data)
		var clients sync.WaitGroup
		done := make(chan bool, writes)
		for i := range names {
			clients.Go(func() { names[i] = writeUntilKilled(s.url, i, names[i], done) })
		}
		for n := 0; n < writes/rounds; n++ {
			<-done
			answered++
		}
		s.stop(t, os.Kill)
		clients.Wait()
		for len(done) > 0 {
			<-done
			answered++
		}

		s = startServer(t, "--data", data)
		lost := 0
		for _, own := range names {
			for i := range own {
				x := &own[i]
				version, err := readVersion(s.url, x.name)
				if err != nil {
					t.Fatal(err)
				}
				// What was under way when the server was killed may be there or not.
				if version != x.version && !(x.unsure && version == x.next) {
					lost++
					t.Errorf("round %d: %s: version %d was answered, %d is there", round, x.name, x.version, version)
				}
				x.version, x.unsure = version, false
			}
		}
		if lost > 0 {
			t.Fatalf("%d of %d writes lost", lost, answered)
		}
		s.stop(t, os.Interrupt)
	}
	if answered < writes {
		t.Errorf("only %d writes were answered", answered)
	}
}

// name is a VIP as a client knows it: the version last answered, 0 for none.
type name struct {
	name    string
	version uint64
	unsure  bool   // a write was not answered
	next    uint64 // what it would have led to
}

// writeUntilKilled creates, changes and deletes VIPs, and sends a value for each answer, until the server answers no more.
func writeUntilKilled(url string, client int, own []name, done chan<- bool) []name {
	random := rand.New(rand.NewPCG(uint64(client), uint64(len(own))))
	for {
		var x *name
		if len(own) < 20 || random.IntN(4) == 0 {
			own = append(own, name{name: fmt.Sprintf("c%d-%d", client, len(own))})
			x = &own[len(own)-1]
		} else {
			x = &own[random.IntN(len(own))]
		}
		method, path, body, want := http.MethodPatch, "/"+x.name, fmt.Sprintf(`{"idle_timeout": "%dm"}`, 1+x.version%50), 200
		x.next = x.version + 1
		switch {
		case x.version == 0:
			var i int
			fmt.Sscanf(x.name[strings.IndexByte(x.name, '-')+1:], "%d", &i) //nolint:errcheck // it is made so
			method, path, want = http.MethodPost, "", 201
			body = fmt.Sprintf(`{"name": %q, "address": "10.%d.%d.%d", "protocol": "tcp", "port": 80, "mode": "nat"}`, x.name, 1+client, i/250, 1+i%250)
		case random.IntN(5) == 0:
			method, body, want, x.next = http.MethodDelete, "", 204, 0
		}
		status, err := request(method, url+"/api/v1/vips"+path, body)
		if err != nil {
			x.unsure = true
			return own
		}
		if status != want {
			panic(fmt.Sprintf("%s %s: %d, want %d", method, path, status, want))
		}
		x.version = x.next
		done <- true
	}
}

// request is the status of an answer; the error is that there was none.
func request(method, url, body string) (int, error) {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

// readVersion is a VIP's version, 0 if there is none.
func readVersion(url, name string) (uint64, error) {
	res, err := http.Get(url + "/api/v1/vips/" + name)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusNotFound {
		_, err = io.Copy(io.Discard, res.Body)
		return 0, err
	}
	var v vip.Read
	err = json.NewDecoder(res.Body).Decode(&v)
	return v.Version, err
}

// storedIDs are the ids of the VIPs in a store, and the last that was given.
func storedIDs(t *testing.T, data string) string {
	t.Helper()
	s, err := store.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var out []string
	looked := errors.New("looked")
	err = s.Update(func(tx store.Tx) error {
		err := tx.List(store.BucketVIPs, func(_ string, b []byte) error {
			x, err := vip.Decode(b)
			if err == nil {
				out = append(out, fmt.Sprintf("%s=%d", x.Spec.Name, x.ID))
			}
			return err
		})
		next, err2 := store.NextID(tx, "vips", 1<<16)
		out = append(out, fmt.Sprintf("last=%d", next-1))
		return errors.Join(err, err2, looked)
	})
	if !errors.Is(err, looked) {
		t.Fatal(err)
	}
	return strings.Join(out, " ")
}

// newCutServer promises more than it sends.
func newCutServer(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		io.WriteString(w, "\x1f\x8b") //nolint:errcheck // the test will see
	}))
	t.Cleanup(s.Close)
	return s.URL
}
