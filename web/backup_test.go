package web

import (
	"errors"
	"strconv"
	"testing"
)

func TestBackup(t *testing.T) {
	c := newClient(t, Config{})
	r := c.raw("GET", "/api/v1/backup", "")
	if want := string(backupBytes); r.Code != 200 || r.Body.String() != want || r.Header().Get("Content-Type") != "application/gzip" ||
		r.Header().Get("Content-Length") != strconv.Itoa(len(want)) {
		t.Errorf("%d %v %q", r.Code, r.Header(), r.Body)
	}
	c.eng.backupErr = errors.New("disk on fire")
	if r := c.do(500, "GET", "/api/v1/backup", ""); r.at("detail") != "disk on fire" {
		t.Errorf("%s", r.Body)
	}
}

// A backup holds keys.
func TestBackupWantsToken(t *testing.T) {
	c := newClient(t, Config{Token: "secret"})
	if r := c.raw("GET", "/api/v1/backup", ""); r.Code != 200 {
		t.Errorf("with the token: %d", r.Code)
	}
	delete(c.header, "Authorization")
	if r := c.raw("GET", "/api/v1/backup", ""); r.Code != 401 || r.Body.String() == string(backupBytes) {
		t.Errorf("without the token: %d %s", r.Code, r.Body)
	}
}
