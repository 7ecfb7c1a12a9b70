package cert

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

func want(t testing.TB, err error, kind poise.Kind, text string) {
	t.Helper()
	if err == nil || poise.KindOf(err) != kind || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, expected %s with %q", err, kind, text)
	}
}

// Whom a client believes, over real connections.
func TestTrust(t *testing.T) {
	a, other := newAuthority(t, "ours"), newAuthority(t, "theirs")
	f := func(trust func(*desk) client.Trust, why string, changes ...func(*x509.Certificate)) {
		t.Helper()
		d := newDesk(t)
		d.pair(a.issue("daemon", changes...))
		d.serve(d.options(), hello)
		err := d.ask(trust(d))
		if why == "" && err != nil {
			t.Error(err)
		}
		if why != "" {
			want(t, err, poise.Denied, why)
		}
	}
	ours := func(d *desk) client.Trust { return client.Trust{CAFile: d.put("ca.pem", a.pem)} }
	pin := func(d *desk) client.Trust { return client.Trust{Fingerprint: client.Fingerprint(d.keeper.Leaf())} }
	elsewhere := func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 2)} }
	past := ending(time.Now().Add(-time.Minute))
	f(ours, "")
	f(pin, "")
	f(pin, "", elsewhere)
	f(func(d *desk) client.Trust { return client.Trust{Fingerprint: strings.ToUpper(pin(d).Fingerprint)} }, "")
	f(func(d *desk) client.Trust { return client.Trust{CAFile: d.put("ca.pem", other.pem)} }, "of no authority that is known here")
	f(func(*desk) client.Trust { return client.Trust{} }, "of no authority that is known here")
	f(func(*desk) client.Trust { return client.Trust{Fingerprint: client.Fingerprint(other.cert)} }, "it is another, or has a new key")
	f(ours, "its certificate is not valid", past)
	f(pin, "its certificate is not valid", past)
	f(ours, "for other names", elsewhere)
}

// Below TLS 1.3 there is no connection, and on plain HTTP a message that says so.
func TestOtherProtocols(t *testing.T) {
	a := newAuthority(t, "ours")
	d := newDesk(t)
	d.pair(a.issue("daemon"))
	d.serve(d.options(), hello)
	if _, err := tls.Dial("tcp", strings.TrimPrefix(d.url, "https://"), &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}); err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("TLS 1.2: %v", err)
	}
	plain, err := client.New("http://" + strings.TrimPrefix(d.url, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	_, err = plain.Self(t.Context())
	want(t, err, poise.Invalid, "speaks TLS at this address, expected an https URL")

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: hello}
	var done sync.WaitGroup
	done.Go(func() { _ = s.Serve(l) })
	defer done.Wait()
	defer s.Close()
	d.url = "https://" + l.Addr().String()
	want(t, d.ask(client.Trust{}), poise.Denied, "the daemon speaks no TLS")
}

// While the pair is replaced again and again, no request fails, on connections
// that stay or on new ones.
func TestRotate(t *testing.T) {
	a := newAuthority(t, "ours")
	d := newDesk(t)
	d.pair(a.issue("daemon"))
	ca := d.put("ca.pem", a.pem)
	d.serve(d.options(), hello)
	kept, err := client.NewTrusting(d.url, client.Trust{CAFile: ca})
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	var stop atomic.Bool
	var asked atomic.Int64
	var load sync.WaitGroup
	for i := range 4 {
		load.Go(func() {
			for !stop.Load() {
				var err error
				if i == 0 {
					_, err = kept.Self(t.Context())
				} else {
					err = d.ask(client.Trust{CAFile: ca})
				}
				if err != nil {
					t.Error(err)
					return
				}
				asked.Add(1)
			}
		})
	}
	served := map[string]bool{}
	for i := range 20 {
		cert, key := a.issue("daemon")
		d.put("cert.pem", cert) // and now the two files do not match
		d.keeper.look()
		d.put("key.pem", key)
		d.keeper.look()
		served[client.Fingerprint(d.keeper.Leaf())] = true
		for before := asked.Load(); asked.Load() < before+4 && !t.Failed(); {
			time.Sleep(time.Millisecond)
		}
		if len(served) != i+1 {
			t.Fatalf("pair %d is not served", i)
		}
	}
	stop.Store(true)
	load.Wait()
	if strings.Contains(d.log.String(), "not taken up") {
		t.Errorf("a pair between two writes is told as a fault:\n%s", d.log)
	}
}

// A bad pair leaves the good one where it is, and is told once.
func TestBadPair(t *testing.T) {
	a := newAuthority(t, "ours")
	f := func(spoil func(*desk), words ...string) {
		t.Helper()
		d := newDesk(t)
		d.pair(a.issue("daemon"))
		ca := d.put("ca.pem", a.pem)
		o := d.options()
		o.ClientCA = d.put("callers.pem", a.pem)
		d.serve(o, hello)
		good := d.keeper.Leaf()
		spoil(d)
		for range 5 {
			d.keeper.look()
		}
		if d.keeper.Leaf() != good {
			t.Error("it is taken up")
		}
		if err := d.ask(client.Trust{CAFile: ca}); err != nil {
			t.Error(err)
		}
		text := d.log.String()
		if strings.Count(text, "certificate not taken up, the one before stays") != 1 {
			t.Errorf("not told once:\n%s", text)
		}
		for _, word := range words {
			if !strings.Contains(text, word) {
				t.Errorf("no %q in\n%s", word, text)
			}
		}
		d.log.Reset()
		d.pair(a.issue("daemon"))
		d.put("callers.pem", a.pem)
		d.keeper.look()
		if d.keeper.Leaf() == good || !strings.Contains(d.log.String(), "certificate taken up") {
			t.Errorf("a good one after it is not taken up:\n%s", d.log)
		}
	}
	f(func(d *desk) { d.put("cert.pem", []byte("nonsense")) }, "api.tls.cert and api.tls.key", "expected a certificate and its key in PEM")
	f(func(d *desk) { cert, _ := a.issue("daemon"); d.put("cert.pem", cert) }, "private key does not match")
	f(func(d *desk) { _ = os.Remove(filepath.Join(d.dir, "key.pem")) }, "api.tls.key", "expected a file that can be read")
	f(func(d *desk) { d.pair(a.issue("daemon", ending(time.Now().Add(-time.Minute)))) }, "ended at", "expected one that has not")
	f(func(d *desk) { d.put("callers.pem", nil) }, "api.tls.client_ca", "has no certificate")
	f(func(d *desk) { d.put("cert.pem", make([]byte, maxFile+1)) }, "at most 1048576")
}

// What there is at the start: a fault names the setting; one that has ended is
// served, and told.
func TestOpen(t *testing.T) {
	a := newAuthority(t, "ours")
	d := newDesk(t)
	_, err := Open(d.options())
	want(t, err, poise.Invalid, "api.tls.cert: ")
	d.pair(a.issue("daemon", ending(time.Now().Add(-time.Minute))))
	if _, err := Open(d.options()); err != nil || !strings.Contains(d.log.String(), "the certificate has ended") {
		t.Errorf("%v\n%s", err, d.log)
	}
	d.log.Reset()
	d.pair(a.issue("daemon", ending(time.Now().Add(time.Hour))))
	k, err := Open(d.options())
	if err != nil {
		t.Fatal(err)
	}
	k.look()
	k.look()
	if strings.Count(d.log.String(), "ends soon") != 1 {
		t.Errorf("not told once:\n%s", d.log)
	}
}

// A link that moves is noticed, as a mounted secret changes.
func TestLink(t *testing.T) {
	a := newAuthority(t, "ours")
	d := newDesk(t)
	for _, name := range []string{"one", "two"} {
		if err := os.Mkdir(filepath.Join(d.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		cert, key := a.issue(name)
		d.put(name+"/tls.crt", cert)
		d.put(name+"/tls.key", key)
	}
	point := func(to string) {
		t.Helper()
		next := filepath.Join(d.dir, "next")
		if err := os.Symlink(to, next); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, filepath.Join(d.dir, "now")); err != nil {
			t.Fatal(err)
		}
	}
	point("one")
	o := d.options()
	o.Cert, o.Key = filepath.Join(d.dir, "now/tls.crt"), filepath.Join(d.dir, "now/tls.key")
	k, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	point("two")
	k.look()
	if k.Leaf().Subject.CommonName != "two" {
		t.Errorf("%s, expected two\n%s", k.Leaf().Subject.CommonName, d.log)
	}
}

// A connection that says nothing, or nonsense, holds nobody else up.
func TestNoise(t *testing.T) {
	a := newAuthority(t, "ours")
	d := newDesk(t)
	d.pair(a.issue("daemon"))
	ca := d.put("ca.pem", a.pem)
	d.serve(d.options(), hello)
	for _, text := range []string{"", "\x16\x03\x01", "\x00\x00\x00\x00\x00\x00\x00\x00", strings.Repeat("\xff", 1<<16)} {
		c, err := net.Dial("tcp", strings.TrimPrefix(d.url, "https://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, text) // it may close before all of it is there
	}
	if err := d.ask(client.Trust{CAFile: ca}); err != nil {
		t.Error(err)
	}
}
