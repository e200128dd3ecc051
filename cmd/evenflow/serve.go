package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/evenflow/evenflow/config"
)

// serveFlags are the flags of serve. What is given on the command line goes before the file.
type serveFlags struct {
	file                            string
	openflow, hosts, versions       []string
	openflowTLS                     config.SwitchTLS
	httpTLS                         config.Certificate
	http, data, tokenFile, logLevel string
	insecureHTTP, insecureOpenFlow  bool
	statsInterval                   time.Duration
	pprof                           string
}

func serveCommand(t *terminal) (*cobra.Command, *serveFlags) {
	f := &serveFlags{}
	cmd := &cobra.Command{Use: "serve", Short: "Run the controller", Args: cobra.NoArgs,
		Long: "serve runs the controller until SIGINT or SIGTERM; a second one ends it at once. Switches go on forwarding without it.",
		Example: "  evenflow serve --data /var/lib/evenflow\n" +
			"  evenflow serve --config /etc/evenflow.yaml"}
	def := config.Default()
	flags := cmd.Flags()
	flags.StringVar(&f.file, "config", "", "YAML file; flags go before what it says")
	flags.StringArrayVar(&f.openflow, "openflow", nil,
		"where switches connect, HOST:PORT, ssl:HOST:PORT or unix:PATH; may repeat (default "+def.OpenFlow[0]+")")
	flags.StringVar(&f.openflowTLS.Cert, "openflow-tls-cert", "", "certificate that switches see at ssl: addresses, in PEM")
	flags.StringVar(&f.openflowTLS.Key, "openflow-tls-key", "", "its private key")
	flags.StringVar(&f.openflowTLS.CA, "openflow-tls-ca", "", "authorities of which a switch at an ssl: address must have a certificate")
	flags.StringSliceVar(&f.versions, "openflow-versions", nil,
		"versions of OpenFlow that a switch may speak: one or more of "+strings.Join(config.Versions(), ",")+" (default all)")
	flags.StringVar(&f.http, "http", "", "where the API listens, HOST:PORT (default "+def.HTTP+")")
	flags.StringVar(&f.httpTLS.Cert, "http-tls-cert", "", "certificate of the API, in PEM: it is then HTTPS")
	flags.StringVar(&f.httpTLS.Key, "http-tls-key", "", "its private key")
	flags.StringVar(&f.data, "data", "", "directory of the store, created if absent")
	flags.StringVar(&f.tokenFile, "token-file", "", "file that holds the bearer token which the API then asks for")
	flags.StringArrayVar(&f.hosts, "allowed-host", nil, "name under which clients may reach the API, beside its addresses; may repeat")
	flags.StringVar(&f.logLevel, "log-level", "", strings.Join(config.Levels(), ", ")+" (default "+def.Log.Level+")")
	flags.BoolVar(&f.insecureHTTP, "insecure-http", false,
		"let the API listen without TLS where other machines can connect; it needs a token then")
	flags.BoolVar(&f.insecureOpenFlow, "insecure-openflow", false, "let anyone who can connect be a switch")
	flags.DurationVar(&f.statsInterval, "stats-interval", time.Second, "time between two readings of a switch's port counters, from 100ms to 1m")
	cmd.Flags().StringVar(&f.pprof, "pprof", "", "serve Go's profiles at this loopback address, HOST:PORT, for go tool pprof")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := f.settings(cmd)
		if err != nil {
			return err
		}
		if f.pprof != "" {
			stop, err := serveProfiles(f.pprof)
			if err != nil {
				return err
			}
			defer stop()
		} else {
			runtime.MemProfileRate = 0 // nobody can ask for what that keeps
		}
		log := logrus.New()
		log.SetOutput(t.err)
		level, err := logrus.ParseLevel(s.Log.Level)
		if err != nil {
			return err
		}
		log.SetLevel(level)
		if s.Log.Format == "json" {
			log.SetFormatter(&logrus.JSONFormatter{})
		}
		return serve(cmd.Context(), s, log)
	}
	return cmd, f
}

// settings are what serve runs with.
type settings struct {
	config.Config
	token    string
	fromFile bool // there is a configuration file

	statsInterval time.Duration // 0: the default
}

func (f *serveFlags) settings(cmd *cobra.Command) (settings, error) {
	s := settings{Config: config.Default()}
	if f.file != "" {
		data, err := os.ReadFile(f.file)
		if err != nil {
			return s, err
		}
		if s.Config, err = config.Parse(f.file, data); err != nil {
			return s, err
		}
		s.fromFile = true
	}
	given := cmd.Flags().Changed
	for name, set := range map[string]func(){
		"openflow":          func() { s.OpenFlow = f.openflow },
		"stats-interval":    func() { s.statsInterval = f.statsInterval },
		"openflow-tls-cert": func() { s.OpenFlowTLS.Cert = f.openflowTLS.Cert },
		"openflow-tls-key":  func() { s.OpenFlowTLS.Key = f.openflowTLS.Key },
		"openflow-tls-ca":   func() { s.OpenFlowTLS.CA = f.openflowTLS.CA },
		"openflow-versions": func() { s.OpenFlowVersions = f.versions },
		"http":              func() { s.HTTP = f.http },
		"http-tls-cert":     func() { s.HTTPTLS.Cert = f.httpTLS.Cert },
		"http-tls-key":      func() { s.HTTPTLS.Key = f.httpTLS.Key },
		"data":              func() { s.Data = f.data },
		"token-file":        func() { s.TokenFile = f.tokenFile },
		"allowed-host":      func() { s.Hosts = f.hosts },
		"log-level":         func() { s.Log.Level = f.logLevel },
	} {
		if given(name) {
			set()
		}
	}
	if s.TokenFile != "" {
		var err error
		if s.token, err = readToken(s.TokenFile); err != nil {
			return s, err
		}
	}
	return s, f.check(&s)
}

// check says all that is wrong with the settings.
func (f *serveFlags) check(s *settings) error {
	var errs []error
	if d := s.statsInterval; d != 0 && (d < 100*time.Millisecond || d > time.Minute) {
		errs = append(errs, fmt.Errorf("--stats-interval %s: want 100ms to 1m", d))
	}
	if s.Data == "" {
		errs = append(errs, errors.New("no directory for the store: want --data DIR, or data in the configuration file"))
	}
	if !slices.Contains(config.Levels(), s.Log.Level) {
		errs = append(errs, fmt.Errorf("--log-level %q: want one of %s", s.Log.Level, strings.Join(config.Levels(), ", ")))
	}
	const exposed = "other machines can connect there, without TLS: want a loopback address, "
	for _, a := range s.OpenFlow {
		if err := config.CheckOpenFlow(a); err != nil {
			errs = append(errs, fmt.Errorf("--openflow %w", err))
		} else if !config.Loopback(a) && !config.Secure(a) && !f.insecureOpenFlow {
			errs = append(errs, fmt.Errorf("openflow %s: "+exposed+"ssl:, or --insecure-openflow", a))
		}
	}
	if err := s.OpenFlowTLS.Check(s.OpenFlow); err != nil {
		errs = append(errs, fmt.Errorf("openflow-tls: %w", err))
	}
	for _, v := range s.OpenFlowVersions {
		if !slices.Contains(config.Versions(), v) {
			errs = append(errs, fmt.Errorf("--openflow-versions %s: want some of %s", v, strings.Join(config.Versions(), ", ")))
		}
	}
	if err := s.HTTPTLS.Check(); err != nil {
		errs = append(errs, fmt.Errorf("http-tls: %w", err))
	}
	if err := config.CheckHTTP(s.HTTP); err != nil {
		errs = append(errs, fmt.Errorf("--http %w", err))
	} else if !config.Loopback(s.HTTP) {
		if s.HTTPTLS.Cert == "" && !f.insecureHTTP {
			errs = append(errs, fmt.Errorf("http %s: "+exposed+"--http-tls-cert, or --insecure-http", s.HTTP))
		}
		if s.token == "" {
			errs = append(errs, fmt.Errorf("http %s: other machines can connect there: want --token-file", s.HTTP))
		}
	}
	return errors.Join(errs...)
}
