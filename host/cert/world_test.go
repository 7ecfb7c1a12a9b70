package cert

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/poise-sched/poise/host/api/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// authority signs certificates.
type authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

var serial = big.NewInt(1)

func newAuthority(t testing.TB, name string) *authority {
	t.Helper()
	a := &authority{t: t}
	a.key = newKey(t)
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		BasicConstraintsValid: true, IsCA: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// issue signs a certificate for 127.0.0.1 and for callers, with changes.
func (a *authority) issue(name string, changes ...func(*x509.Certificate)) (cert, key []byte) {
	a.t.Helper()
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(30 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	for _, change := range changes {
		change(template)
	}
	k := newKey(a.t)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, k.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		a.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
}

func ending(at time.Time) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.NotAfter = at }
}

func known(uri string) func(*x509.Certificate) {
	return func(c *x509.Certificate) {
		u, err := url.Parse(uri)
		if err != nil {
			panic(err)
		}
		c.URIs = append(c.URIs, u)
	}
}

// desk is a server with a keeper's certificate, and its files.
type desk struct {
	t      testing.TB
	dir    string
	log    *bytes.Buffer
	keeper *Keeper
	now    time.Time // of the keeper
	url    string
}

func (d *desk) put(name string, text []byte) string {
	d.t.Helper()
	path := filepath.Join(d.dir, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		d.t.Fatal(err)
	}
	return path
}

func (d *desk) pair(cert, key []byte) {
	d.t.Helper()
	d.put("cert.pem", cert)
	d.put("key.pem", key)
}

func newDesk(t testing.TB) *desk {
	return &desk{t: t, dir: t.TempDir(), log: &bytes.Buffer{}, now: time.Now()}
}

// options are those of a keeper of the pair in the desk's directory.
func (d *desk) options() Options {
	return Options{
		Cert: filepath.Join(d.dir, "cert.pem"), Key: filepath.Join(d.dir, "key.pem"),
		Log: slog.New(slog.NewTextHandler(d.log, nil)), Now: func() time.Time { return d.now },
	}
}

// serve opens the keeper and answers with the names of the caller's certificate.
func (d *desk) serve(o Options, handler http.Handler) {
	d.t.Helper()
	var err error
	if d.keeper, err = Open(o); err != nil {
		d.t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		d.t.Fatal(err)
	}
	s := &http.Server{Handler: handler, TLSConfig: d.keeper.Config(), Protocols: new(http.Protocols), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	s.Protocols.SetHTTP1(true)
	var done sync.WaitGroup
	done.Go(func() { _ = s.ServeTLS(l, "", "") })
	d.t.Cleanup(func() { _ = s.Close(); done.Wait() })
	d.url = "https://" + l.Addr().String()
}

var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"ready":true}`)
})

// ask calls the server once over a connection of its own.
func (d *desk) ask(trust client.Trust) error {
	d.t.Helper()
	c, err := client.NewTrusting(d.url, trust)
	if err != nil {
		d.t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Self(d.t.Context())
	return err
}
