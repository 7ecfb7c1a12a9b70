package daemon

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
)

// Once there are tenants, a task runs as a user of its tenant's: it can read
// nothing of the daemon's, list none of its folders, and not use its socket.
func TestTasksCannotReadTheDaemon(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root: no task can run as another user")
	}
	dir := folder(t)
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	w := serve(t, dir, settings{"engine.kind": "local"})
	if _, err := w.CreateTenant(t.Context(), "red"); err != nil {
		t.Fatal(err)
	}
	red := w.As("", "red")
	data := filepath.Join(dir, "data")
	script := `
id -u
find ` + data + ` ! -path "$POISE_TASK_DIR/*" -readable 2>/dev/null | while read -r f; do echo "reads $f"; done
find ` + data + ` ! -path "$POISE_TASK_DIR/*" -writable 2>/dev/null | while read -r f; do echo "writes $f"; done
echo done`
	jobs, err := red.Submit(t.Context(), []client.JobSpec{job("look", "10m", "sh", "-c", script)}, "")
	if err != nil {
		t.Fatal(err)
	}
	w.until(jobs[0].ID, client.Succeeded)
	logs, err := red.Logs(t.Context(), jobs[0].ID, client.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	text, err := io.ReadAll(logs)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(text), "1900000000\ndone\n"; got != want {
		t.Errorf("the task prints\n%s\nexpected\n%s", got, want)
	}
	// What there is to read, its own user aside, is there.
	for _, name := range []string{"store", "poise.sock", "tasks/users.json"} {
		if _, err := os.Stat(filepath.Join(data, name)); err != nil {
			t.Error(err)
		}
	}
}

// Where tenants cannot be kept apart a task is refused, and the job says why.
func TestNoIsolation(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root: the folder of the test is the user's")
	}
	dir := folder(t) // nobody else can get into it
	w := serve(t, dir, settings{"engine.kind": "local"})
	if _, err := w.CreateTenant(t.Context(), "red"); err != nil {
		t.Fatal(err)
	}
	red := w.As("", "red")
	run := func() client.Job {
		jobs, err := red.Submit(t.Context(), []client.JobSpec{job("look", "10m", "true")}, "")
		if err != nil {
			t.Fatal(err)
		}
		var j client.Job
		eventually(t, "an end", func() bool {
			j = w.job(jobs[0].ID)
			return j.State.Ended()
		})
		return j
	}
	if j := run(); j.State != client.Failed || !strings.Contains(j.Detail, "no-isolation") {
		t.Errorf("%s: %s, expected it to fail for no isolation", j.State, j.Detail)
	}
	w = w.again(settings{"engine.kind": "local", "allow_shared_uid": "true"})
	red = w.As("", "red")
	if j := run(); j.State != client.Succeeded {
		t.Errorf("%s: %s, expected it to succeed where it is permitted", j.State, j.Detail)
	}
}
