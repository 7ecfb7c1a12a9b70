//go:build linux

package local

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

// isolatedOptions are options of an engine in a data directory that others may
// pass through, as the daemon makes it.
func isolatedOptions(t *testing.T) (opt Options, data string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("not root: no task can run as another user")
	}
	root, err := os.MkdirTemp("/var/tmp", "poise-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	data = filepath.Join(root, "data")
	for _, dir := range []string{root, data} {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	opt = options(t, filepath.Join(data, "tasks"))
	opt.Isolate = func() bool { return true }
	return opt, data
}

// printed runs a shell script as a task of a tenant and gives what it printed.
func printed(t *testing.T, w *world, placement string, tenant poise.TenantID, script string) string {
	t.Helper()
	b := sh(placement, script)
	b.Tenant = tenant
	w.run(b)
	return output(t, w, placement, LogOptions{})
}

// A task runs as its tenant's own user: it can write where it is put, and read
// neither the daemon's data nor another tenant's, nor reach the daemon's socket.
func TestIsolation(t *testing.T) {
	opt, data := isolatedOptions(t)
	for _, dir := range []string{"store", "plugins"} {
		if err := os.Mkdir(filepath.Join(data, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(data, dir, "secret"), []byte("secret"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	socket := filepath.Join(data, "poise.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Chmod(socket, 0o600); err != nil {
		t.Fatal(err)
	}
	w := open(t, opt)
	const look = `
id -u; id -G
echo mine >own && cat own
echo temporary >"$TMPDIR/file" && cat "$TMPDIR/file"
for f in "$DATA"/store/secret "$DATA"/plugins/secret "$POISE_TASK_DIR"/spec.json "$DATA"/tasks/users.json; do cat "$f" 2>/dev/null && echo "reads $f"; done
for d in "$DATA" "$DATA"/store "$DATA"/tasks "$DATA"/tasks/tasks "$POISE_TASK_DIR"; do ls "$d" 2>/dev/null && echo "lists $d"; done
test -w "$DATA"/poise.sock && echo "writes to the socket"
cat "$OTHER" 2>/dev/null && echo "reads another's"
touch "$POISE_TASK_DIR"/x 2>/dev/null && echo "writes to the task's folder"
exit 0`
	run := func(placement string, tenant poise.TenantID, other string) string {
		return printed(t, w, placement, tenant, "DATA='"+data+"' OTHER='"+other+"'\n"+look)
	}
	f := func(got, uid string) {
		t.Helper()
		want := strings.Join([]string{uid, uid, "mine", "temporary", ""}, "\n")
		if got != want {
			t.Errorf("a task prints\n%s\nexpected\n%s", got, want)
		}
	}
	f(run("p1", "a", ""), "1900000000")
	others := filepath.Join(w.taskFolder("p1"), workDir, "own")
	if _, err := os.Stat(others); err != nil {
		t.Fatal(err)
	}
	f(run("p2", "b", others), "1900000001")
	w.stop()
	w = open(t, opt)
	f(run("p3", "a", ""), "1900000000") // after a restart too
}

// A daemon that is not root refuses, and so does one whose folder nobody else can
// get to; nothing is started, and what is in the way is named.
func TestNoIsolation(t *testing.T) {
	f := func(w *world, want string) {
		t.Helper()
		b := sh("p1", "echo ran >/dev/null")
		err := w.Bind(t.Context(), b)
		if poise.KindOf(err) != poise.Denied || !strings.Contains(err.Error(), "no-isolation") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected to be denied for no isolation with %q", err, want)
		}
		if _, known := w.board.Get("p1"); known {
			t.Error("the task is known")
		}
	}
	opt := options(t, t.TempDir())
	shared := false
	opt.Isolate = func() bool { return !shared }
	w := open(t, opt)
	w.root = false
	f(w, "--allow-shared-uid")
	shared = true
	w.run(sh("p1", "true"))

	opt, data := isolatedOptions(t)
	if err := os.Chmod(data, 0o700); err != nil {
		t.Fatal(err)
	}
	f(open(t, opt), "has mode 0700")
}
