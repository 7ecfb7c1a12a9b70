package cli

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/api"
	"github.com/poise-sched/poise/host/api/apitest"
)

// guarded is a daemon that asks who calls, on a socket, which the environment
// names, and on an address.
func guarded(t *testing.T) (d *far, address string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("POISE_DATA_DIR", dir)
	for _, name := range []string{"POISE_SERVER", "POISE_CONTEXT", "POISE_TOKEN"} {
		t.Setenv(name, "")
	}
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	socket, err := net.Listen("unix", filepath.Join(dir, "poise.sock"))
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := apitest.New()
	server := api.Server(api.New(b, api.Options{
		Access: api.NewAccess(b, tcp.Addr()), Log: slog.New(slog.DiscardHandler),
		Limits: func() api.Limits { return api.Limits{MaxBody: 1 << 20, Rate: 1e6, Burst: 1e6} },
	}), api.Timeouts{Request: 20 * time.Second, Idle: time.Minute})
	ctx, cancel := context.WithCancel(context.Background())
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	done := make(chan struct{}, 2)
	for _, l := range []net.Listener{socket, tcp} {
		go func() { _ = server.Serve(l); done <- struct{}{} }()
	}
	t.Cleanup(func() { cancel(); server.Close(); <-done; <-done })
	return &far{b, t}, tcp.Addr().String()
}

// typed gives a text to the next command on standard input.
func typed(t *testing.T, text string) {
	t.Helper()
	path := put(t, "stdin", text)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stdin
	os.Stdin = f
	t.Cleanup(func() { os.Stdin = before; f.Close() })
}

// Two tenants from the beginning: create, log in, submit, see one's own, hand
// out, revoke, look up who did what.
func TestTenantCommands(t *testing.T) {
	d, address := guarded(t)
	d.prints("NAME     BUILT-IN\ndefault  yes\n", 0, "tenant", "list")
	d.run(0, "job", "list", "--server", address) // nobody else is there
	admin, errs := d.run(0, "tenant", "create", "acme")
	if !strings.HasPrefix(admin, "poise_") || strings.Count(admin, "\n") != 1 || errs != "tenant acme created; the token of its administrator is shown this once\n" {
		t.Fatalf("create: %q %q", admin, errs)
	}
	d.run(0, "tenant", "create", "bolt")
	d.prints("poise: create tenant \"bolt\": there is one of that name\n", 1, "tenant", "create", "bolt")
	_, errs = d.run(4, "job", "list", "--server", address)
	if !strings.Contains(errs, "Authorization: missing, expected Bearer and a token") || !strings.Contains(errs, "poise login") {
		t.Errorf("no token: %s", errs)
	}

	typed(t, admin)
	out, _ := d.run(0, "login", "--server", address, "--token-stdin")
	if !strings.HasPrefix(out, "logged in to "+address+" as token ") || !strings.HasSuffix(out, " (first), tenant-admin of tenant acme; context 127.0.0.1 is current\n") {
		t.Errorf("login: %s", out)
	}
	t.Setenv("POISE_DATA_DIR", "")
	d.prints("NAME  BUILT-IN\nacme  -\n", 0, "tenant", "list")
	d.run(0, "job", "submit", "--name", "mine", "--", "true")
	viewer, errs := d.run(0, "tenant", "token", "create", "--role", "viewer", "--name", "wall", "--expires", "1h")
	id := strings.Split(viewer, "_")[1]
	if errs != "token "+id+" of role viewer created; it is shown this once\n" {
		t.Errorf("token create: %s", errs)
	}
	_, errs = d.run(4, "tenant", "token", "create", "--role", "operator")
	if !strings.Contains(errs, "expected one of the roles tenant-admin, submitter and viewer in tenant \"acme\"") {
		t.Errorf("operator: %s", errs)
	}
	d.run(4, "tenant", "create", "other")
	d.run(4, "job", "list", "--tenant", "bolt")
	d.run(1, "tenant", "token", "create", "--expires", "soon")
	list, _ := d.run(0, "tenant", "token", "list")
	if strings.Count(list, "\n") != 3 || !strings.Contains(list, "wall   acme    viewer        valid") || strings.Contains(list, viewer[20:60]) {
		t.Errorf("token list:\n%s", list)
	}

	typed(t, viewer)
	d.run(0, "login", "--server", address, "--token-stdin", "--context", "wall")
	_, errs = d.run(4, "job", "cancel", "mine")
	if errs != "poise: role: \"viewer\", expected one that may change jobs\n" {
		t.Errorf("a viewer cancels: %s", errs)
	}
	d.prints("NAME       CURRENT  SERVER           TENANT\n127.0.0.1  -        "+address+"  -\nwall       yes      "+address+"  -\n", 0, "context", "list")
	d.prints("context 127.0.0.1 is current: "+address+"\n", 0, "context", "use", "127.0.0.1")
	d.prints("token "+id+" is revoked\n", 0, "tenant", "token", "revoke", id)
	d.prints("poise: token: it was revoked, expected another\n", 4, "job", "list", "--context", "wall")
	d.prints("context wall is removed\n", 0, "context", "remove", "wall")
	d.prints("poise: context \"wall\": no such context, expected one of poise context list, or a new one by poise login\n", 3, "job", "list", "--context", "wall")
	audit, _ := d.run(0, "audit")
	for _, want := range []string{"revoke-token", "token " + id + " of role viewer", "cancel-job", "expected one that may change jobs", "create-token", "submit-jobs"} {
		if !strings.Contains(audit, want) {
			t.Errorf("%q is not in the audit log\n%s", want, audit)
		}
	}
	if strings.Contains(audit, "bolt") {
		t.Errorf("acme sees bolt's:\n%s", audit)
	}

	socket := filepath.Join(filepath.Dir(os.Getenv("XDG_CONFIG_HOME")), "poise.sock")
	d.run(0, "job", "submit", "--name", "theirs", "--server", socket, "--tenant", "bolt", "--", "true")
	d.prints("poise: job \"theirs\": no such job\n", 3, "job", "get", "theirs")
	jobs, _ := d.run(0, "job", "list", "--server", socket)
	if !strings.HasPrefix(jobs, "TENANT  NAME") || strings.Count(jobs, "\n") != 3 {
		t.Errorf("the administrator's list:\n%s", jobs)
	}
	all, _ := d.run(0, "audit", "--server", socket)
	if strings.Count(all, "create-tenant") != 4 || !strings.Contains(all, "bolt") { // two of them refused
		t.Errorf("the administrator's audit log:\n%s", all)
	}
	d.run(1, "tenant", "remove", "bolt", "--server", socket)
	d.run(0, "job", "cancel", "theirs", "--server", socket)
	d.prints("tenant bolt is removed\n", 0, "tenant", "remove", "bolt", "--server", socket)
	d.prints("poise: tenant \"bolt\": no such tenant\n", 3, "tenant", "remove", "bolt", "--server", socket)
}

// A token goes where its owner keeps it for, and its file is nobody else's.
func TestContexts(t *testing.T) {
	d, address := guarded(t)
	token, _ := d.run(0, "tenant", "create", "acme")
	t.Setenv("POISE_DATA_DIR", "")
	file := filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "poise", "client.yaml")
	d.prints("no contexts\n", 0, "context", "list")
	typed(t, "poise_000000000000_"+strings.Repeat("0", 64))
	d.prints("poise: token: unknown, expected one that this daemon gave out\n", 4, "login", "--server", address, "--token-stdin")
	if _, err := os.Stat(file); err == nil {
		t.Error("a login that failed is kept")
	}
	typed(t, "two words")
	d.run(2, "login", "--server", address, "--token-stdin")
	d.run(2, "login", "--server", address)
	d.run(2, "login", "--token-stdin")
	typed(t, token)
	d.run(0, "login", "--server", address, "--token-stdin", "--context", "a")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, expected mode 0600", info, err)
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(entries) != 2 {
		t.Errorf("%v, %v, expected the file and its lock", entries, err)
	}
	out, _ := d.run(0, "context", "list", "-o", "json")
	if strings.Contains(out, "poise_") {
		t.Errorf("a token is shown: %s", out)
	}
	d.run(0, "job", "list")
	d.run(4, "job", "list", "--server", address) // the context's token is not for it
	d.run(2, "job", "list", "--server", address, "--context", "a")
	t.Setenv("POISE_SERVER", address)
	d.run(4, "job", "list")
	d.run(0, "job", "list", "--context", "a")
	t.Setenv("POISE_TOKEN", strings.TrimSpace(token))
	d.run(0, "job", "list")
	t.Setenv("POISE_TOKEN", "poise_000000000000_"+strings.Repeat("0", 64))
	d.run(4, "job", "list", "--context", "a")
	t.Setenv("POISE_TOKEN", "")
	t.Setenv("POISE_SERVER", "")
	t.Setenv("POISE_CONTEXT", "a")
	d.run(0, "job", "list")
	t.Setenv("POISE_CONTEXT", "b")
	d.run(3, "job", "list")
	t.Setenv("POISE_CONTEXT", "")
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	_, errs := d.run(4, "job", "list")
	if !strings.Contains(errs, file+": mode: 0644, expected 0600") {
		t.Errorf("a file that others may read: %s", errs)
	}
	if err := os.WriteFile(file, []byte("contexts: [1]\n"), 0o600); err != nil || os.Chmod(file, 0o600) != nil {
		t.Fatal(err)
	}
	_, errs = d.run(1, "context", "list")
	if !strings.Contains(errs, file) {
		t.Errorf("a file that is none: %s", errs)
	}
}
