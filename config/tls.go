package config

import (
	"errors"
	"strings"
)

// Certificate is a server's: files in PEM.
type Certificate struct {
	Cert string `json:"cert"` // the certificate, and those between it and the authority
	Key  string `json:"key"`  // its private key
}

// SwitchTLS is how sessions at ssl: addresses are secured: our certificate, and the authority of the switches'.
type SwitchTLS struct {
	Cert string `json:"cert"`
	Key  string `json:"key"`
	CA   string `json:"ca"` // certificates of the authorities that every switch must have its own from
}

// Certificate is ours.
func (t SwitchTLS) Certificate() Certificate { return Certificate{t.Cert, t.Key} }

// Check says what is missing of a certificate that is named in part.
func (c Certificate) Check() error {
	if (c.Cert == "") != (c.Key == "") {
		return errors.New("want both the certificate and its key, or neither")
	}
	return nil
}

// Check says what is missing for one of these addresses, or named in part.
func (t SwitchTLS) Check(addresses []string) error {
	named := t.Cert != "" && t.Key != "" && t.CA != ""
	if !named && t != (SwitchTLS{}) {
		return errors.New("want all of the certificate, its key, and the authority of the switches' certificates")
	}
	for _, a := range addresses {
		if Secure(a) && !named {
			return errors.New(a + ": want a certificate, its key, and the authority of the switches' certificates")
		}
	}
	return nil
}

// Secure reports whether switches connect to an address by TLS.
func Secure(address string) bool { return strings.HasPrefix(address, "ssl:") }

// Versions are the names of the OpenFlow versions that are spoken.
func Versions() []string { return []string{"1.3", "1.5"} }
