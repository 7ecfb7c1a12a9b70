package client

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/poise-sched/poise/host/poise"
)

// Trust says which certificate of a daemon is believed, and which one is shown to
// it. The zero Trust believes the authorities of this machine and shows none.
type Trust struct {
	CAFile string // PEM of the authorities that are believed, or of the certificate itself
	// Fingerprint is that of the daemon's key, see Fingerprint. With it neither
	// authorities nor names count.
	Fingerprint       string
	CertFile, KeyFile string // PEM of what is shown; both or none
}

// fingerprintPrefix names the hash of a fingerprint.
const fingerprintPrefix = "sha256:"

// Fingerprint gives that of the key of a certificate, "sha256:" and 64 hexadecimal
// digits: it stays when the certificate is renewed for the same key.
func Fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return fingerprintPrefix + hex.EncodeToString(sum[:])
}

// NewTrusting gives a client as New does, of a daemon that is believed as t says.
func NewTrusting(address string, t Trust) (*Client, error) {
	c, err := New(address)
	if err != nil {
		return nil, err
	}
	if t == (Trust{}) {
		return c, nil
	}
	if !strings.HasPrefix(c.base, "https://") {
		return nil, &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("address: %q beside trust in a certificate, expected an https URL", address)}
	}
	config, err := t.config()
	if err != nil {
		return nil, err
	}
	c.http.Transport.(*http.Transport).TLSClientConfig = config
	return c, nil
}

func (t Trust) config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS13}
	if t.CAFile != "" {
		text, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, &poise.Error{Kind: poise.Invalid, Op: "read the authorities", Err: err}
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("authorities: %q has no certificate, expected some in PEM", t.CAFile)}
		}
	}
	if t.Fingerprint != "" {
		want := strings.ToLower(t.Fingerprint)
		if digits, ok := strings.CutPrefix(want, fingerprintPrefix); !ok || len(digits) != 2*sha256.Size {
			return nil, &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("fingerprint: %.100q, expected sha256: and 64 digits, as poise serve prints it", t.Fingerprint)}
		}
		c.InsecureSkipVerify = true // in its place:
		c.VerifyConnection = func(s tls.ConnectionState) error { return pinned(s.PeerCertificates[0], want) }
	}
	if t.CertFile != "" || t.KeyFile != "" {
		load := func() (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
			if err != nil {
				return nil, &poise.Error{Kind: poise.Invalid, Op: fmt.Sprintf("read certificate %q and key %q", t.CertFile, t.KeyFile), Err: err}
			}
			return &pair, nil
		}
		if _, err := load(); err != nil {
			return nil, err
		}
		// Anew for each connection, and whoever signed it: that it is not taken is
		// for the daemon to say.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	}
	return c, nil
}

// pinError is a certificate that is not of the key that is known.
type pinError struct{ got, want string }

func (e pinError) Error() string {
	return fmt.Sprintf("its key has fingerprint %s, expected %s", e.got, e.want)
}

// pinned refuses a certificate of another key than the one that is known, and
// one that has ended.
func pinned(c *x509.Certificate, want string) error {
	if got := Fingerprint(c); subtle.ConstantTimeCompare([]byte(got), []byte(want)) != 1 {
		return pinError{got, want}
	}
	if now := time.Now(); now.After(c.NotAfter) || now.Before(c.NotBefore) {
		return x509.CertificateInvalidError{Cert: c, Reason: x509.Expired, Detail: fmt.Sprintf("it is valid from %s to %s", c.NotBefore.Format(time.RFC3339), c.NotAfter.Format(time.RFC3339))}
	}
	return nil
}

// distrusted says which side does not believe the other, why, and what to do
// about it; "" where a call failed for another cause.
func distrusted(err error) string {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var pin pinError
	var remote *net.OpError
	switch {
	case errors.As(err, &remote) && remote.Op == "remote error": // so crypto/tls calls what the other side says
		return "the daemon ends the connection: it does not believe the certificate that is shown to it, or expects other TLS"
	case errors.As(err, &pin):
		return "the daemon is not believed: it is another, or has a new key: log in again once you know which"
	case errors.As(err, &authority):
		return "the daemon is not believed: its certificate is of no authority that is known here, poise login takes --ca-file or --fingerprint"
	case errors.As(err, &name):
		return "the daemon is not believed: its certificate is for other names, api.tls.names adds some to a self-made one"
	case errors.As(err, &invalid):
		return "the daemon is not believed: its certificate is not valid"
	case errors.Is(err, http.ErrSchemeMismatch):
		return "the daemon speaks no TLS, which an https URL asks for"
	}
	return ""
}

// Unknown says whether a call failed because the daemon's certificate is of no
// authority that is known here.
func Unknown(err error) bool {
	var authority x509.UnknownAuthorityError
	return errors.As(err, &authority)
}

// Shown gives the fingerprint of the key that answers at an https URL, whoever
// that is, for a person to compare.
func Shown(ctx context.Context, address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" {
		return "", addressError(address)
	}
	host := u.Host
	if u.Port() == "" {
		host = net.JoinHostPort(u.Hostname(), "443")
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	d := tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true}} // nothing is said to it
	c, err := d.DialContext(ctx, "tcp", host)
	if err != nil {
		return "", &poise.Error{Kind: poise.Unavailable, Op: fmt.Sprintf("look at the certificate of %s", address), Err: err}
	}
	defer c.Close()
	return Fingerprint(c.(*tls.Conn).ConnectionState().PeerCertificates[0]), nil
}
