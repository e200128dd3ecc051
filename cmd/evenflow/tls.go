package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/evenflow/evenflow/config"
	"github.com/evenflow/evenflow/openflow"
)

// loadCertificate is how a server with a certificate is secured, nil without one.
func loadCertificate(c config.Certificate) (*tls.Config, error) {
	if c.Cert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", c.Cert, err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}, nil
}

// loadSwitchTLS asks switches for certificates of an authority, nil if there is no certificate.
func loadSwitchTLS(t config.SwitchTLS) (*tls.Config, error) {
	c, err := loadCertificate(t.Certificate())
	if c == nil || err != nil {
		return nil, err
	}
	c.ClientAuth = tls.RequireAndVerifyClientCert
	c.ClientCAs, err = readAuthorities(t.CA)
	return c, err
}

func readAuthorities(file string) (*x509.CertPool, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(b) {
		return nil, fmt.Errorf("authority: %s: no certificate in PEM", file)
	}
	return pool, nil
}

// versions are OpenFlow versions by name; nil for all.
func versions(names []string) (out []openflow.Version) {
	for _, n := range names {
		for _, v := range []openflow.Version{openflow.V13, openflow.V15} {
			if v.String() == n {
				out = append(out, v)
			}
		}
	}
	return out
}
