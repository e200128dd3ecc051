package controller

import (
	"crypto/tls"
	"io"
	"slices"
	"time"

	"github.com/evenflow/evenflow/openflow"
	"github.com/sirupsen/logrus"
)

// Config of a [Controller]. What is zero gets the default named.
type Config struct {
	// Listen names sockets: "HOST:PORT", "tcp:HOST:PORT", "ssl:HOST:PORT" or "unix:PATH".
	Listen []string
	// TLS is how sessions at ssl: sockets are secured, which need it. To know a switch it must ask for client certificates.
	TLS *tls.Config
	// Versions to offer; default 1.5 and 1.3.
	Versions []openflow.Version

	// Kind tells by its cookie how a rule found in a switch is treated; default: all are Foreign.
	Kind func(cookie uint64) RuleKind
	// OwnGroup and OwnMeter tell which ids are ours, as groups and meters have no cookie: such ones that nobody wants are
	// deleted; default: none.
	OwnGroup, OwnMeter func(id uint32) bool

	HelloTimeout    time.Duration // for the peer's hello, and for TLS before it; default 5 s
	EchoInterval    time.Duration // between echo requests; default 5 s
	EchoTimeout     time.Duration // for their replies; default 10 s
	TakeoverTimeout time.Duration // for the older of two sessions to show life; default 2 s
	RequestTimeout  time.Duration // for any other reply, from the last piece of it; default 30 s

	// AuditInterval is the time between two comparisons of what the switch holds with what it should; default 60 s, negative:
	// none. AuditCookie and AuditMask narrow the rules that are read for it to those whose cookie agrees in the mask's bits;
	// all rules of kind Desired must.
	AuditInterval          time.Duration
	AuditCookie, AuditMask uint64

	BundleMax   int // messages in one bundle; default 5,000
	BundleBytes int // bytes in one bundle, unless one message is larger; default 4 MiB
	WriteMax    int // bytes that may wait for the peer to read; default 32 MiB
	ReadMax     int // bytes of all replies in pieces that one switch is sending; default 256 MiB
	AskMax      int // rules asked for at a time (Switch.AskRule); default 16,384
	MaxSessions int // switches at a time; default 1,024
	MaxWaiting  int // connections at a time that have not said which switch they are; default 1,024

	Log logrus.FieldLogger // default: nothing is logged
}

func (c Config) withDefaults() Config {
	if len(c.Versions) == 0 {
		c.Versions = []openflow.Version{openflow.V15, openflow.V13}
	}
	c.Versions = slices.Clone(c.Versions)
	if c.Kind == nil {
		c.Kind = func(uint64) RuleKind { return Foreign }
	}
	none := func(uint32) bool { return false }
	if c.OwnGroup == nil {
		c.OwnGroup = none
	}
	if c.OwnMeter == nil {
		c.OwnMeter = none
	}
	for _, d := range []struct {
		v   *time.Duration
		def time.Duration
	}{
		{&c.HelloTimeout, 5 * time.Second}, {&c.EchoInterval, 5 * time.Second}, {&c.EchoTimeout, 10 * time.Second},
		{&c.TakeoverTimeout, 2 * time.Second}, {&c.RequestTimeout, 30 * time.Second}, {&c.AuditInterval, time.Minute},
	} {
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	for _, d := range []struct {
		v   *int
		def int
	}{
		{&c.BundleMax, 5000}, {&c.BundleBytes, 4 << 20}, {&c.WriteMax, 32 << 20}, {&c.ReadMax, 256 << 20},
		{&c.AskMax, 16384}, {&c.MaxSessions, 1024}, {&c.MaxWaiting, 1024},
	} {
		if *d.v <= 0 {
			*d.v = d.def
		}
	}
	if c.Log == nil {
		l := logrus.New()
		l.SetOutput(io.Discard)
		c.Log = l
	}
	return c
}
