package cli

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/poise-sched/poise/host/api"
	"github.com/poise-sched/poise/host/api/apitest"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/cert"
	"github.com/poise-sched/poise/host/oidc"
	"github.com/poise-sched/poise/host/oidc/oidctest"
)

// stronghold is a daemon that speaks TLS with a certificate of its own making, and
// knows people by a provider. Over its socket, "socket", it has an administrator.
type stronghold struct {
	*far
	url, socket, ca, fingerprint string
	provider                     *oidctest.Provider
}

func fortified(t *testing.T) *stronghold {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"POISE_DATA_DIR", "POISE_SERVER", "POISE_CONTEXT", "POISE_TOKEN", "POISE_CA_FILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	s := &stronghold{far: &far{apitest.New(), t}, socket: filepath.Join(dir, "poise.sock"), ca: filepath.Join(dir, "tls", "ca.pem"), provider: oidctest.New(t)}
	s.provider.Person("jane@example.org", "staff")
	keeper, err := cert.Open(cert.Options{Dir: filepath.Join(dir, "tls"), Names: []string{"127.0.0.1"}, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	s.fingerprint = client.Fingerprint(keeper.Leaf())
	people := oidc.New(oidc.Options{
		Issuer: s.provider.URL, ClientID: oidctest.ClientID, UserClaim: "sub", GroupsClaim: "groups", TenantHeader: client.TenantHeader,
		Grants: func() map[string]string { return map[string]string{"staff": "acme:submitter", "bolts": "bolt:viewer"} },
		Log:    slog.New(slog.DiscardHandler), Now: time.Now,
	})
	socket, err := net.Listen("unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "https://" + tcp.Addr().String()
	server := api.Server(api.New(s.Backend, api.Options{
		Access: api.NewAccess(s.Backend, tcp.Addr(), people.Principal), Log: slog.New(slog.DiscardHandler),
		Limits: func() api.Limits { return api.Limits{MaxBody: 1 << 20, Rate: 1e6, Burst: 1e6} },
		OIDC:   &client.OIDC{Issuer: s.provider.URL, ClientID: oidctest.ClientID},
	}), api.Timeouts{Request: 20 * time.Second, Idle: time.Minute})
	ctx, cancel := context.WithCancel(context.Background())
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	server.TLSConfig, server.ErrorLog = keeper.Config(), slog.NewLogLogger(slog.DiscardHandler, 0)
	var done sync.WaitGroup
	done.Go(func() { _ = server.Serve(socket) })
	done.Go(func() { _ = server.ServeTLS(tcp, "", "") })
	t.Cleanup(func() { cancel(); server.Close(); done.Wait() })
	s.run(0, "tenant", "create", "acme", "--server", s.socket)
	s.run(0, "tenant", "create", "bolt", "--server", s.socket)
	return s
}

// kept gives a context as it is in the file.
func kept(t *testing.T, name string) account {
	t.Helper()
	path := filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "poise", "client.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, expected mode 0600", info, err)
	}
	var a accounts
	if err := yaml.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	return a.Contexts[name]
}

// A daemon's certificate is believed by an authority, or by its fingerprint.
func TestLoginBelieves(t *testing.T) {
	s := fortified(t)
	token, _ := s.run(0, "tenant", "token", "create", "--role", "operator", "--server", s.socket)
	f := func(code int, says string, args ...string) {
		t.Helper()
		typed(t, token)
		out, errs := s.run(code, append([]string{"login", "--server", s.url, "--token-stdin"}, args...)...)
		if !strings.Contains(out+errs, says) {
			t.Errorf("%q: no %q in\n%s%s", args, says, out, errs)
		}
	}
	f(4, "if poise serve prints the fingerprint "+s.fingerprint+" there, log in with --fingerprint "+s.fingerprint+", or with --ca-file")
	f(4, "the daemon is not believed: it is another", "--fingerprint", "sha256:"+strings.Repeat("0", 64))
	f(2, "expected sha256: and 64 digits", "--fingerprint", "sha256:0")
	f(2, "--ca-file and --fingerprint: both", "--fingerprint", s.fingerprint, "--ca-file", s.ca)
	f(2, "has no certificate", "--ca-file", put(t, "none.pem", "x"))
	f(2, "--client-cert and --client-key: one", "--client-cert", s.ca)
	f(2, "--token-stdin and --oidc", "--oidc")
	if _, err := os.Stat(filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "poise", "client.yaml")); err == nil {
		t.Error("a login that failed is kept")
	}
	f(0, "operator of all tenants; context pin is current", "--fingerprint", s.fingerprint, "--context", "pin")
	t.Chdir(filepath.Dir(s.ca))
	f(0, "operator of all tenants; context ca is current", "--ca-file", "ca.pem", "--context", "ca")
	t.Chdir(t.TempDir())
	if a := kept(t, "pin"); a.Fingerprint != s.fingerprint || a.CAFile != "" {
		t.Errorf("%+v", a)
	}
	if a := kept(t, "ca"); a.CAFile != s.ca || a.Fingerprint != "" {
		t.Errorf("%+v", a)
	}
	for _, name := range []string{"pin", "ca"} {
		s.run(0, "job", "list", "--context", name)
	}
	t.Setenv("POISE_TOKEN", strings.TrimSpace(token))
	_, errs := s.run(4, "job", "list", "--server", s.url)
	if !strings.Contains(errs, "poise login takes --ca-file or --fingerprint") {
		t.Error(errs)
	}
	t.Setenv("POISE_CA_FILE", s.ca)
	s.run(0, "job", "list", "--server", s.url)
	s.run(0, "job", "list", "--context", "pin")
	s.run(0, "job", "list", "--server", s.socket)
	_, errs = s.run(1, "job", "list", "--server", strings.TrimPrefix(s.url, "https://"))
	if !strings.Contains(errs, "the daemon speaks TLS at this address, expected an https URL") {
		t.Error(errs)
	}
}

func TestConfirm(t *testing.T) {
	f := func(text string, want bool) {
		t.Helper()
		if got, err := confirm(io.Discard, strings.NewReader(text), "?"); got != want || err != nil {
			t.Errorf("%q: %v, %v, expected %v", text, got, err, want)
		}
	}
	f("y\n", true)
	f("YES\r\n", true)
	f(" yes", true)
	f("", false)
	f("\n", false)
	f("no\n", false)
	f("yesterday\n", false)
	f(strings.Repeat("y", 100), false)
}

// browser is a person who opens each page that a command prints.
type browser struct {
	text  bytes.Buffer
	pages sync.WaitGroup
}

func (b *browser) Write(p []byte) (int, error) {
	b.text.Write(p)
	_, page, ok := strings.Cut(string(p), "\n  http")
	if ok && strings.Contains(page, "/authorize?") {
		b.pages.Go(func() {
			if r, err := http.Get("http" + strings.TrimSpace(page)); err == nil {
				r.Body.Close()
			}
			http.DefaultClient.CloseIdleConnections()
		})
	}
	return len(p), nil
}

// login runs poise login with a person at a browser.
func (s *stronghold) login(code int, args ...string) string {
	s.t.Helper()
	b := &browser{}
	got := Run(append([]string{"login", "--server", s.url, "--fingerprint", s.fingerprint}, args...), Streams{Out: &b.text, Err: b})
	b.pages.Wait()
	if got != code {
		s.t.Errorf("%q: exit code %d, expected %d\n%s", args, got, code, &b.text)
	}
	return b.text.String()
}

// A person logs in with a browser, works, has the login renewed, and is out when
// the provider says so.
func TestLoginOIDC(t *testing.T) {
	s := fortified(t)
	s.provider.Life(renewBefore + 3*time.Second) // of which the last minute is for renewals
	out := s.login(0, "--oidc", "--context", "me")
	if !strings.Contains(out, "open this page in a browser on this machine:\n  "+s.provider.URL+"/authorize?") ||
		!strings.HasSuffix(out, "logged in to "+s.url+" as person jane@example.org, submitter of tenant acme; context me is current\n") {
		t.Error(out)
	}
	first := kept(t, "me")
	if first.OIDC == nil || first.OIDC.Issuer != s.provider.URL || first.OIDC.Refresh == "" || oidc.Ends(first.Token).IsZero() {
		t.Fatalf("%+v", first)
	}
	s.run(0, "job", "submit", "--name", "mine", "--", "true")
	list, _ := s.run(0, "context", "list", "-o", "yaml")
	if strings.Contains(list, first.OIDC.Refresh) || strings.Contains(list, first.Token) {
		t.Errorf("a secret is shown: %s", list)
	}

	// Soon it is renewed, by whichever of several commands is first.
	for lasts(kept(t, "me").Token) {
		time.Sleep(50 * time.Millisecond)
	}
	s.provider.Life(time.Hour)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if code := Run([]string{"job", "list"}, Streams{Out: io.Discard, Err: io.Discard}); code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
	}
	all.Wait()
	second := kept(t, "me")
	if second.Token == first.Token || second.OIDC.Refresh == first.OIDC.Refresh || !lasts(second.Token) {
		t.Error("it is not renewed")
	}

	// Where the refresh token is void, the person hears what to do.
	expire := func(refresh string) {
		t.Helper()
		err := changeAccounts(func(a *accounts) error {
			c := a.Contexts["me"]
			c.Token, c.OIDC.Refresh = s.provider.Token(map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}), refresh
			a.Contexts["me"] = c
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	expire("stolen")
	_, errs := s.run(4, "job", "list")
	if !strings.Contains(errs, `renew the token of context "me": log in again: poise login --oidc --server `+s.url+" --context me") {
		t.Error(errs)
	}
	expire("")
	_, errs = s.run(4, "job", "list")
	if !strings.Contains(errs, "the provider gave nothing to renew it with") {
		t.Error(errs)
	}
	s.provider.Down(true)
	expire("any")
	s.run(5, "job", "list")
	s.provider.Down(false)

	s.provider.Person("jane@example.org", "staff", "bolts")
	out = s.login(1, "--oidc", "--context", "me")
	if !strings.Contains(out, `expected one of ["acme" "bolt"], which the person's groups are for: --tenant NAME`) {
		t.Error(out)
	}
	s.login(0, "--oidc", "--context", "bolt", "--tenant", "bolt")
	s.run(3, "job", "get", "mine")
	s.provider.Person("jane@example.org")
	out = s.login(4, "--oidc", "--context", "me")
	if !strings.Contains(out, "none of the person's groups may do anything here") {
		t.Error(out)
	}
	s.provider.Refuse()
	if out = s.login(4, "--oidc", "--context", "me"); !strings.Contains(out, `it refused: "access_denied"`) || strings.Contains(out, "\x1b") {
		t.Errorf("%q", out)
	}
}

func TestLoginDevice(t *testing.T) {
	s := fortified(t)
	out := s.login(0, "--device")
	if !strings.Contains(out, "open this page in any browser and give it the code WDJB-MJHT:\n  "+s.provider.URL+"/activate\n") || !strings.Contains(out, "as person jane@example.org") {
		t.Error(out)
	}
	s.run(0, "job", "list")
}

// A login by a provider needs a way that nobody listens on, and a daemon that has
// one.
func TestLoginOIDCRefused(t *testing.T) {
	d, address := guarded(t)
	_, errs := d.run(3, "login", "--server", address, "--oidc")
	if !strings.Contains(errs, "api.oidc.issuer") {
		t.Error(errs)
	}
	var l login
	c, err := client.New("http://poise.example.org")
	if err != nil {
		t.Fatal(err)
	}
	l.to.Server = "http://poise.example.org"
	if err := l.vouch(t.Context(), Streams{Out: io.Discard, Err: io.Discard}, c); err == nil || !strings.Contains(err.Error(), "without TLS, expected an https URL") {
		t.Error(err)
	}
}
