package cert

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/poise-sched/poise/host/poise"
)

const (
	// A self-made certificate is valid for a year, and made anew when a month of
	// that is left. Callers may believe the authority that signs it, which stays.
	selfLife      = 365 * 24 * time.Hour
	authorityLife = 10 * selfLife
	selfRenew     = 30 * 24 * time.Hour
	// selfSkew is how far behind the clock of a caller may be.
	selfSkew = time.Hour
)

// selfMade is a directory of self-made certificates.
type selfMade string

func (d selfMade) files() files   { return files{d.file("cert.pem"), d.file("key.pem")} }
func (d selfMade) signers() files { return files{d.file("ca.pem"), d.file("ca-key.pem")} }

func (d selfMade) file(name string) string { return filepath.Join(string(d), name) }

// renew makes the certificate where there is none, or one that ends soon or has
// other names. Its key stays, so that a fingerprint of it does.
func (d selfMade) renew(names []string, now time.Time) error {
	err := d.try(canonical(names), now)
	if err != nil && poise.KindOf(err) == poise.Internal {
		return &poise.Error{Kind: poise.Internal, Op: fmt.Sprintf("make a certificate in %q", string(d)), Err: err}
	}
	return err
}

func (d selfMade) try(names []string, now time.Time) error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	signerKey, err := readKey(d.signers().key)
	if err != nil {
		return err
	}
	signer, ok := readCertificate(d.signers().cert, signerKey, now)
	if !ok {
		signer = template("poise on its own authority", now, authorityLife)
		signer.IsCA, signer.KeyUsage = true, x509.KeyUsageCertSign
		if signer, err = sign(d.signers().cert, signer, signer, signerKey, signerKey); err != nil {
			return err
		}
	}
	key, err := readKey(d.files().key)
	if err != nil {
		return err
	}
	if c, ok := readCertificate(d.files().cert, key, now); ok && slices.Equal(namesIn(c), names) && c.CheckSignatureFrom(signer) == nil {
		return nil
	}
	c := template("poise", now, selfLife)
	c.KeyUsage, c.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
			continue
		}
		if !valid(name) {
			return &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("api.tls.names: %q, expected a name of a-z, 0-9, - and ., or an address", name)}
		}
		c.DNSNames = append(c.DNSNames, name)
	}
	_, err = sign(d.files().cert, c, signer, key, signerKey)
	return err
}

// readKey reads a key, or makes one where there is none. It does not replace one
// that cannot be read: callers may have noted its fingerprint.
func readKey(name string) (*ecdsa.PrivateKey, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return makeKey(name)
	}
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s: not PEM, expected a private key; without the file a new one is made, which callers do not know", name)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s: no ECDSA key (%v), expected one; without the file a new one is made, which callers do not know", name, err)
	}
	return key, nil
}

func makeKey(name string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, write(name, "PRIVATE KEY", der)
}

// readCertificate reads one, if it is there, of the key, and good for some time.
func readCertificate(name string, key *ecdsa.PrivateKey, now time.Time) (*x509.Certificate, bool) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, false
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, false
	}
	c, err := x509.ParseCertificate(block.Bytes)
	return c, err == nil && key.PublicKey.Equal(c.PublicKey) && !now.Before(c.NotBefore) && c.NotAfter.Sub(now) > selfRenew
}

// namesIn gives the names of a certificate, in order.
func namesIn(c *x509.Certificate) []string {
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	slices.Sort(names)
	return names
}

func template(name string, now time.Time, life time.Duration) *x509.Certificate {
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-selfSkew), NotAfter: now.Add(life), BasicConstraintsValid: true,
	}
}

// sign makes a certificate, with a serial number of its own, and keeps it.
func sign(name string, c, signer *x509.Certificate, key, signerKey *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, c, signer, key.Public(), signerKey)
	if err != nil {
		return nil, err
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return made, write(name, "CERTIFICATE", der)
}

// canonical writes addresses in the one way in which a certificate gives them.
func canonical(names []string) []string {
	all := slices.Clone(names)
	for i, name := range all {
		if ip := net.ParseIP(name); ip != nil {
			all[i] = ip.String()
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// write puts a file there as a whole, or leaves what is there. Its mode is 0600.
func write(name, kind string, der []byte) error {
	return replace(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func replace(name string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Names are those of a self-made certificate for an address to listen on,
// host:port, beside others.
func Names(listen, machine string, others []string) []string {
	host, _, err := net.SplitHostPort(listen)
	names := slices.Clone(others)
	ip := net.ParseIP(host)
	if err == nil && host != "" && (ip == nil || !ip.IsUnspecified()) {
		names = append(names, host)
	} else if valid(machine) {
		names = append(names, machine)
	}
	return append(names, "localhost", "127.0.0.1", "::1")
}

// valid says whether a name of the machine can be in a certificate.
func valid(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.'
	})
}
