package engine

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/store"
)

// An address is a router's or a VIP's, whichever was there first.
func TestRouterIsNoVIP(t *testing.T) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	st := store.Memory()
	cfg := Config{Store: st, Log: log, Routers: []apps.Router{{Address: netip.MustParsePrefix("10.0.0.254/24"), Gateway: netip.MustParseAddr("10.0.0.1")}}}
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.createVIP(spec("web", "10.0.0.254"), apps.WriteOptions{}); !errors.Is(err, apps.ErrConflict) {
		t.Errorf("a VIP with a router's address: %v", err)
	}
	if v := e.view.Load(); !v.Ours(netip.MustParseAddr("10.0.0.254")) || v.Ours(netip.MustParseAddr("10.0.0.1")) {
		t.Error("the view does not know the router")
	}
	if !e.sought[netip.MustParseAddr("10.0.0.1")] {
		t.Error("the gateway is not looked for")
	}
	other := start(t, st, nil)
	if _, err := other.CreateVIP(context.Background(), spec("web", "10.0.0.254"), apps.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := New(cfg); !errors.Is(err, apps.ErrConflict) {
		t.Errorf("a router with a VIP's address: %v", err)
	}
}
