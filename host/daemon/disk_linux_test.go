package daemon

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// ownDisk runs the rest of the test in a process with a small file system of its
// own, which goes with it. It gives the root of that, or "" in the parent, where
// there is nothing left to do.
func ownDisk(t *testing.T) string {
	t.Helper()
	const inside = "POISE_TEST_DISK"
	if dir := os.Getenv(inside); dir != "" {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
			t.Skipf("no file system of its own: %v", err)
		}
		return dir
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"="+folder(t))
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if _, ran := err.(*exec.ExitError); err != nil && !ran {
		t.Skipf("no namespace of its own: %v", err)
	}
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), "--- SKIP") {
		t.Skip("no file system of its own")
	}
	return ""
}

// fill takes all room of a disk and gives what to remove to have it back.
func fill(t *testing.T, dir string) string {
	t.Helper()
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "ballast")
	// The daemon may take some of it meanwhile.
	err := os.WriteFile(name, make([]byte, int64(fs.Bavail)*fs.Bsize), 0o600)
	if err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return name
}

// While the disk is full, reads go on, submissions are refused at once, and what
// tasks do is not forgotten. Once there is room the daemon goes on by itself,
// and nothing is there half or twice.
func TestDiskFull(t *testing.T) {
	root := ownDisk(t)
	if root == "" {
		return
	}
	w := serve(t, root, nil)
	ctx := t.Context()
	const tasks = 2 * maxFlights
	joinExternal(w, "e", "1000")
	for i := range tasks {
		w.submit(job(fmt.Sprint("t", i), "1m"))
	}
	var all []client.Assignment
	eventually(t, "assignments", func() bool {
		list, err := w.Assignments(ctx, "e")
		all = list.Assignments
		return err == nil && len(all) == tasks
	})
	big := job("big", "2000")
	big.Env = map[string]string{"BALLAST": strings.Repeat("x", 64<<10)}
	ballast := fill(t, root)

	keys := 0
	for stalled := false; !stalled; keys++ {
		_, err := w.Submit(ctx, []client.JobSpec{big}, fmt.Sprint("k", keys))
		if err != nil {
			refused(t, err, poise.Unavailable, "not yet durable")
			stalled = true
		}
	}
	t.Logf("full after %d jobs", keys)
	// Each report is a turn of the loop, and a batch that cannot be written.
	for _, a := range all {
		for _, r := range []client.TaskReport{{State: client.Running}, {State: client.Succeeded}} {
			if err := w.Report(ctx, a.Placement, r); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 3 {
		_, err := w.Submit(ctx, []client.JobSpec{big}, fmt.Sprint("k", keys))
		refused(t, err, poise.Unavailable, "full")
		_, err = w.Cancel(ctx, "big")
		refused(t, err, poise.Unavailable, "full")
		_, err = w.JoinCluster(ctx, "c", nodes("n", 1, "1"), "")
		refused(t, err, poise.Unavailable, "full")
		if h, err := w.Health(ctx); err != nil || !h.StoreStalled {
			t.Errorf("%+v, %v, expected a stall", h, err)
		}
		if why, err := w.Plan(ctx, job("p", "1")); err != nil || why.Decision == nil {
			t.Errorf("%+v, %v, expected that a plan goes on", why, err)
		}
		if j := w.job("t0"); j.State.Ended() {
			t.Errorf("%+v, expected that it has not ended for good", j)
		}
		if page, err := w.Nodes(ctx, client.NodeFilter{}); err != nil || len(page.Nodes) != 1 {
			t.Errorf("%+v, %v", page, err)
		}
	}

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the stall to end", func() bool {
		h, err := w.Health(ctx)
		return err == nil && !h.StoreStalled
	})
	for i := range tasks {
		w.until(fmt.Sprint("t", i), client.Succeeded)
	}
	// Whoever asks again under the old keys gets the jobs of before.
	for i := range keys {
		jobs, err := w.Submit(ctx, []client.JobSpec{big}, fmt.Sprint("k", i))
		if err != nil || len(jobs) != 1 {
			t.Fatalf("%+v, %v", jobs, err)
		}
	}
	page, err := w.Jobs(ctx, client.JobFilter{Name: "big", Limit: client.MaxPage})
	if err != nil || len(page.Jobs) != keys {
		t.Errorf("%d jobs, %v, expected %d", len(page.Jobs), err, keys)
	}
	w.checkSums()
	w = w.again(nil)
	w.checkSums()
	if page, err = w.Jobs(ctx, client.JobFilter{Name: "big", Limit: client.MaxPage}); err != nil || len(page.Jobs) != keys {
		t.Errorf("%d jobs after a restart, %v, expected %d", len(page.Jobs), err, keys)
	}
}

func TestReadOnly(t *testing.T) {
	root := ownDisk(t)
	if root == "" {
		return
	}
	o := options(t, root, nil)
	d, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", root, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("no read-only file system: %v", err)
	}
	_, err = Open(t.Context(), o)
	refused(t, err, poise.Unavailable, "open store")
	refused(t, err, poise.Unavailable, "read")
}

// A daemon that stops while the disk is full stops, and the next one goes on.
func TestStopWhileFull(t *testing.T) {
	root := ownDisk(t)
	if root == "" {
		return
	}
	w := serve(t, root, nil)
	ballast := fill(t, root)
	big := job("big", "1")
	big.Env = map[string]string{"BALLAST": strings.Repeat("x", 64<<10)}
	acknowledged := 0
	for {
		if _, err := w.Submit(t.Context(), []client.JobSpec{big}, ""); err != nil {
			refused(t, err, poise.Unavailable, "") // the log or the audit log: both are full
			break
		}
		acknowledged++
	}
	w.stop()
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	w = serve(t, root, nil)
	page, err := w.Jobs(t.Context(), client.JobFilter{Limit: client.MaxPage})
	if err != nil || len(page.Jobs) < acknowledged || len(page.Jobs) > acknowledged+1 {
		t.Errorf("%d jobs, %v, expected the %d that were acknowledged, and one more at most", len(page.Jobs), err, acknowledged)
	}
}
