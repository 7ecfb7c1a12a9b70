package cert

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// selfMadeDesk serves a certificate of its own making.
func selfMadeDesk(t *testing.T) (*desk, Options) {
	d := newDesk(t)
	o := d.options()
	o.Cert, o.Key, o.Dir = "", "", filepath.Join(d.dir, "tls")
	o.Names = Names("127.0.0.1:0", "machine", []string{"poise.example.org"})
	d.serve(o, hello)
	return d, o
}

func TestSelfMade(t *testing.T) {
	d, o := selfMadeDesk(t)
	file := filepath.Join(o.Dir, "cert.pem")
	pin := client.Trust{Fingerprint: client.Fingerprint(d.keeper.Leaf())}
	ca := client.Trust{CAFile: filepath.Join(o.Dir, "ca.pem")}
	for _, trust := range []client.Trust{pin, ca} {
		if err := d.ask(trust); err != nil {
			t.Error(err)
		}
	}
	want(t, d.ask(client.Trust{}), poise.Denied, "of no authority that is known here")
	entries, err := os.ReadDir(o.Dir)
	if err != nil || len(entries) != 4 {
		t.Errorf("%v, %v, expected two pairs", entries, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v, expected mode 0600", e.Name(), info.Mode(), err)
		}
	}
	if info, err := os.Stat(o.Dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v, expected mode 0700", info, err)
	}

	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	same := func() bool {
		now, err := os.ReadFile(file)
		return err == nil && bytes.Equal(before, now)
	}
	d.keeper.look()
	if _, err := Open(o); err != nil || !same() {
		t.Errorf("a good one is made again: %v", err)
	}
	d.now = d.keeper.Leaf().NotAfter.Add(-selfRenew - time.Hour)
	if d.keeper.look(); !same() {
		t.Error("it is made again long before its end")
	}
	text, err := os.ReadFile(ca.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	old := d.put("copy.pem", text)
	d.now = d.keeper.Leaf().NotAfter.Add(-selfRenew + time.Hour)
	serial := d.keeper.Leaf().SerialNumber
	if d.keeper.look(); same() || d.keeper.Leaf().SerialNumber.Cmp(serial) == 0 {
		t.Errorf("it is not made again before its end:\n%s", d.log)
	}
	d.now = time.Now() // the clock jumps back
	d.keeper.look()
	for _, trust := range []client.Trust{pin, ca, {CAFile: old}} {
		if err := d.ask(trust); err != nil {
			t.Errorf("after a renewal: %v", err)
		}
	}

	o.Names = append(o.Names, "10.1.2.3")
	k, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Leaf().VerifyHostname("10.1.2.3"); err != nil || client.Fingerprint(k.Leaf()) != pin.Fingerprint {
		t.Errorf("other names: %v, fingerprint %s", err, client.Fingerprint(k.Leaf()))
	}
}

// What is there and cannot be used is named, and a key is not replaced.
func TestSelfMadeFaults(t *testing.T) {
	f := func(spoil func(dir string) error, names []string, kind poise.Kind, why string) {
		t.Helper()
		d := newDesk(t)
		o := d.options()
		o.Cert, o.Key, o.Dir, o.Names = "", "", filepath.Join(d.dir, "tls"), names
		if err := os.Mkdir(o.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := spoil(o.Dir); err != nil {
			t.Fatal(err)
		}
		_, err := Open(o)
		want(t, err, kind, why)
	}
	put := func(name, text string) func(string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600) }
	}
	none := func(string) error { return nil }
	f(put("key.pem", "x"), []string{"a"}, poise.Internal, "not PEM, expected a private key")
	f(put("key.pem", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"), []string{"a"}, poise.Internal, "no ECDSA key")
	f(none, []string{"bücher.example"}, poise.Invalid, "api.tls.names")
	f(put("ca-key.pem", "x"), []string{"a"}, poise.Internal, "not PEM, expected a private key")
	f(func(dir string) error { return os.Mkdir(filepath.Join(dir, "cert.pem"), 0o700) }, []string{"a"}, poise.Internal, "make a certificate in")
	d := newDesk(t)
	o := d.options()
	o.Cert, o.Key, o.Dir, o.Names = "", "", filepath.Join(d.dir, "tls"), []string{"a"}
	if _, err := Open(o); err != nil {
		t.Fatal(err)
	}
	if err := put("cert.pem", "torn")(o.Dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(o); err != nil {
		t.Errorf("a certificate that is torn is made again: %v", err)
	}
}

func TestNames(t *testing.T) {
	f := func(listen, machine, want string, others ...string) {
		t.Helper()
		if got := canonical(Names(listen, machine, others)); strings.Join(got, " ") != want {
			t.Errorf("%s on %s: %q, expected %q", listen, machine, got, want)
		}
	}
	f("127.0.0.1:7433", "m", "127.0.0.1 ::1 localhost")
	f("[::1]:7433", "m", "127.0.0.1 ::1 localhost")
	f("localhost:7433", "m", "127.0.0.1 ::1 localhost")
	f("10.0.0.7:7433", "m", "10.0.0.7 127.0.0.1 ::1 localhost")
	f("poise.example.org:7433", "m", "127.0.0.1 ::1 localhost poise.example.org")
	f("0.0.0.0:7433", "m", "127.0.0.1 ::1 localhost m")
	f("[::]:7433", "m", "127.0.0.1 ::1 localhost m")
	f(":7433", "m", "127.0.0.1 ::1 a.example localhost m", "a.example")
	f(":7433", "ma_chine", "127.0.0.1 ::1 localhost")
	f(":7433", "", "127.0.0.1 ::1 localhost")
	if got := canonical([]string{"0:0:0:0:0:0:0:1", "::1"}); !slices.Equal(got, []string{"::1"}) {
		t.Errorf("%q", got)
	}
}
