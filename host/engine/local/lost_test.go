//go:build linux

package local

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
)

// withoutCgroup makes an engine do with signals alone.
func withoutCgroup(opt Options) Options {
	opt.Cgroup = filepath.Join(opt.Dir, "no", "cgroup")
	return opt
}

func TestNothingStaysWithoutCgroup(t *testing.T) { nothingStays(t, withoutCgroup) }

const spread = `(setsid sh -c 'echo $$ >a; exec sleep 1000' &)
(sh -c 'echo $$ >b; exec sleep 1000' &)
(exec env -i sh -c 'echo $$ >c; exec sleep 1000' &)
echo $$ >d
sleep 1000`

// killShim kills the shim of a task that runs, and gives what its files say.
func killShim(t *testing.T, w *world, placement string) claim {
	t.Helper()
	var c claim
	if found, err := read(w.taskFolder(placement), claimFile, &c); !found || err != nil {
		t.Fatal(found, err)
	}
	if there, err := send(c.Shim, syscall.SIGKILL); !there || err != nil {
		t.Fatal(there, err)
	}
	return c
}

func spreadOut(t *testing.T, w *world, placement string) (pids []string) {
	t.Helper()
	b := sh(placement, spread)
	b.Dir = t.TempDir()
	w.bind(b)
	w.running(placement)
	for _, name := range []string{"a", "b", "c", "d"} {
		pids = append(pids, file(t, filepath.Join(b.Dir, name)))
	}
	return pids
}

func TestShimKilled(t *testing.T) {
	f := func(name string, change func(Options) Options) {
		t.Run(name, func(t *testing.T) {
			opt := change(options(t, t.TempDir()))
			w := open(t, opt)
			pids := spreadOut(t, w, "p")
			c := killShim(t, w, "p")
			s := w.end("p")
			if s.State != engine.Lost || s.Detail != "the shim ended without a report" || s.Started != c.Started || s.Ended == 0 {
				t.Errorf("%+v", s)
			}
			for i, pid := range pids {
				if alive(t, pid) {
					t.Errorf("process %c is still there", 'a'+i)
				}
			}
			// It is so for good, and nothing runs again.
			w.bind(sh("p", "exit 0"))
			w.stop()
			w = open(t, opt)
			if again := w.end("p"); again != s {
				t.Errorf("%+v, then %+v", s, again)
			}
		})
	}
	f("as the machine permits", func(o Options) Options { return o })
	f("without cgroup", withoutCgroup)
}

// A shim that was killed while no daemon was there.
func TestShimKilledBetween(t *testing.T) {
	opt := withoutCgroup(options(t, t.TempDir()))
	w := open(t, opt)
	pids := spreadOut(t, w, "p")
	w.stop()
	c := killShim(t, w, "p")
	eventually(t, "the shim's death", func() bool {
		p, err := look(c.Shim.PID, c.Shim.Boot)
		return err != nil || p.dead()
	})
	w = open(t, opt)
	if s := w.end("p"); s.State != engine.Lost {
		t.Errorf("%+v", s)
	}
	for i, pid := range pids {
		if alive(t, pid) {
			t.Errorf("process %c is still there", 'a'+i)
		}
	}
}

func TestShimThatIsNone(t *testing.T) {
	opt := options(t, t.TempDir())
	opt.Shim = []string{"/no/such/shim"}
	w := open(t, opt)
	for range 2 {
		if err := w.Bind(context.Background(), sh("p", ":")); poise.KindOf(err) != poise.Unavailable {
			t.Errorf("bind without a shim: %v", err)
		}
	}
	if _, known := w.board.Get("p"); known {
		t.Error("a task that could not be bound is known")
	}
	w.opt.Shim = []string{"/bin/sh", "-c", "echo no shim today >&2; exit 1"}
	if s := w.run(sh("p", ":")); s.State != engine.Lost || s.Detail != "the shim ended before it took the task: no shim today" {
		t.Errorf("%+v", s)
	}
}

// Whoever has the pid now is not sent anything.
func TestSendProvesTheProcess(t *testing.T) {
	sleep := exec.Command("/bin/sleep", "1000")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	boot, err := bootID()
	if err != nil {
		t.Fatal(err)
	}
	p, err := look(sleep.Process.Pid, boot)
	if err != nil {
		t.Fatal(err)
	}
	f := func(id ident, want bool) {
		t.Helper()
		if there, err := send(id, syscall.SIGKILL); there != want || err != nil {
			t.Errorf("%+v: %t, %v", id, there, err)
		}
	}
	f(ident{p.PID, p.Start + 1, boot}, false)
	f(ident{p.PID, p.Start - 1, boot}, false)
	f(ident{p.PID, p.Start, "another boot"}, false)
	f(ident{1 << 22, p.Start, boot}, false)
	if !alive(t, fmt.Sprint(p.PID)) {
		t.Fatal("the process was sent what was meant for another")
	}
	f(ident{p.PID, p.Start, boot}, true)
	_ = sleep.Wait()
	f(ident{p.PID, p.Start, boot}, false)
}

func TestLeftovers(t *testing.T) {
	const boot = "b"
	proc := func(pid, session int, start uint64) process {
		return process{ident: ident{pid, start, boot}, session: session}
	}
	c := claim{Shim: ident{10, 100, boot}, Task: ident{11, 110, boot}}
	f := func(fresh bool, c claim, want string, all ...process) {
		t.Helper()
		var got []string
		for _, p := range leftovers(all, c, fresh, func(pid int) bool { return pid >= 1000 }) {
			got = append(got, fmt.Sprint(p.PID))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q, expected %q", got, want)
		}
	}
	stranger, leader, member, marked, apart := proc(5, 5, 1), proc(11, 10, 110), proc(12, 10, 120), proc(1000, 10, 130), proc(1001, 9, 140)
	f(false, c, "11 12", stranger, leader, member)
	f(false, c, "12 1000", stranger, member, marked)
	f(false, c, "1001", stranger, member, apart) // nothing proves that the session is the task's
	f(true, c, "12", stranger, member)
	f(true, c, "", stranger, proc(12, 10, 99))           // older than the shim
	f(false, c, "", stranger, proc(11, 10, 111), member) // the pid is another's now
	f(false, claim{}, "1000 1001", stranger, leader, member, marked, apart, proc(2, 0, 0))
	f(true, claim{}, "", stranger, proc(2, 0, 0))
	f(true, claim{Shim: ident{10, 100, "a"}, Task: ident{11, 110, "a"}}, "", leader, member)
}

func TestDescendants(t *testing.T) {
	proc := func(pid, parent int) process { return process{ident: ident{PID: pid}, parent: parent} }
	all := []process{proc(2, 1), proc(3, 2), proc(4, 3), proc(5, 3), proc(6, 1), proc(7, 5)}
	var got []int
	for _, p := range descendants(all, 2) {
		got = append(got, p.PID)
	}
	if fmt.Sprint(got) != "[3 4 5 7]" {
		t.Errorf("%v", got)
	}
}

// Folders as a crash, a full disk or a person may leave them.
func TestHalfWritten(t *testing.T) {
	opt := options(t, t.TempDir())
	w := open(t, opt)
	runs := filepath.Join(t.TempDir(), "runs")
	claimed := `{"Format":1,"Shim":{"PID":999999,"Start":1,"Boot":"another"}}`
	f := func(placement string, files map[string]string) {
		t.Helper()
		staged, err := w.stage(sh(placement, "echo "+placement+" >>"+runs), 0)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range files {
			path := filepath.Join(staged, name)
			if text == "none" {
				err = os.Remove(path)
			} else {
				err = os.WriteFile(path, []byte(text), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Rename(staged, w.taskFolder(placement)); err != nil {
			t.Fatal(err)
		}
	}
	f("never-started", nil)
	f("parts", map[string]string{"claim.json.1.part": "{", "status.json.1.part": "", "evict.json.1.part": "x"})
	f("bad-spec", map[string]string{specFile: ""})
	f("no-spec", map[string]string{specFile: "none"})
	f("later-format", map[string]string{specFile: `{"Format":2}`})
	f("claimed", map[string]string{claimFile: claimed})
	f("bad-claim", map[string]string{claimFile: claimed[:20]})
	f("bad-status", map[string]string{claimFile: claimed, statusFile: "{}"})
	f("bad-status-alone", map[string]string{statusFile: ""})
	f("ended", map[string]string{claimFile: "", statusFile: `{"Format":1,"State":"failed","ExitCode":3}`})
	f("no-fifo", map[string]string{aliveFifo: "none"})
	f("evicted", map[string]string{evictFile: `{"Format":1,"Number":1}`})
	f("bad-evict", map[string]string{evictFile: "{"})
	for _, name := range []string{"not%a%placement", ".hidden"} {
		if err := os.Mkdir(filepath.Join(opt.Dir, tasksDir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.stop()
	w = open(t, opt)
	want := func(placement string, state engine.State, code int32, detail string) {
		t.Helper()
		s := w.end(placement)
		if s.State != state || s.ExitCode != code || !strings.Contains(s.Detail, detail) {
			t.Errorf("%+v, expected %s %d %s", s, state, code, detail)
		}
	}
	want("never-started", engine.Succeeded, 0, "")
	want("parts", engine.Succeeded, 0, "")
	want("bad-spec", engine.Lost, 0, "before it took the task: task-shim: read spec")
	want("no-spec", engine.Lost, 0, "before it took the task: task-shim: read spec")
	want("later-format", engine.Lost, 0, "format: 2, expected 1")
	want("claimed", engine.Lost, 0, "without a report")
	want("bad-claim", engine.Lost, 0, "without a report")
	want("bad-status", engine.Lost, 0, "report cannot be read: status.json: format 0")
	want("bad-status-alone", engine.Lost, 0, "report cannot be read: status.json: ")
	want("ended", engine.Failed, 3, "")
	want("no-fifo", engine.Lost, 0, "start the shim: open ")
	want("evicted", engine.Failed, 143, "evicted before it started")
	want("bad-evict", engine.Failed, 143, "evicted before it started")
	if text, _ := os.ReadFile(runs); len(strings.Fields(string(text))) != 2 {
		t.Errorf("ran: %q", text)
	}
}

func TestReadOnlyFolder(t *testing.T) {
	dir := t.TempDir()
	w := open(t, withoutCgroup(options(t, dir)))
	if os.Getuid() == 0 {
		// Permissions do not hold root, a mount does.
		if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
			t.Skipf("root, and may not mount: %v", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
		if err := syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
	} else {
		for _, name := range []string{newDir, tasksDir, ""} {
			path := filepath.Join(dir, name)
			if err := os.Chmod(path, 0o500); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(path, 0o700) })
		}
	}
	err := w.Bind(context.Background(), sh("p", ":"))
	if poise.KindOf(err) != poise.Unavailable || !strings.HasPrefix(err.Error(), `bind "p": `) {
		t.Errorf("%v", err)
	}
	if _, known := w.board.Get("p"); known {
		t.Error("a task that was not bound is known")
	}
	if _, err := New(options(t, filepath.Join(dir, "below"))); poise.KindOf(err) != poise.Unavailable {
		t.Errorf("%v", err)
	}
}

func TestOptions(t *testing.T) {
	f := func(want string, change func(*Options)) {
		t.Helper()
		o := options(t, t.TempDir())
		change(&o)
		if _, err := New(o); poise.KindOf(err) != poise.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %s", err, want)
		}
	}
	f("dir: empty", func(o *Options) { o.Dir = "" })
	f("shim: []", func(o *Options) { o.Shim = nil })
	f(`shim: ["poise"]`, func(o *Options) { o.Shim = []string{"poise"} })
	f("now: nil", func(o *Options) { o.Now = nil })
	f("log_limit: 1000 bytes, expected 131072 or more", func(o *Options) { o.LogLimit = 1000 })
	f("keep_logs: -1 bytes", func(o *Options) { o.KeepLogs = -1 })
}
