package store

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

// ownDisk runs the rest of the test in a process with a small file system of its
// own, which goes with it. It gives the root of that, or "" in the parent, where
// there is nothing left to do.
func ownDisk(t *testing.T) string {
	t.Helper()
	const inside = "POISE_STORE_TEST_DISK"
	dir := os.Getenv(inside)
	if dir != "" {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
			t.Skipf("no file system of its own: %v", err)
		}
		return dir
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"="+t.TempDir())
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
	return ""
}

// ballast fills the disk but for about the given bytes.
func ballast(t *testing.T, dir string, but int64) string {
	t.Helper()
	name := filepath.Join(dir, "ballast")
	if err := os.WriteFile(name, make([]byte, freeSpace(dir)-but), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// The disk is full, then not: nothing is lost, doubled or half done, with no
// restart.
func TestDiskFull(t *testing.T) {
	root := ownDisk(t)
	if root == "" {
		return
	}
	dir := filepath.Join(root, "store")
	s := open(t, dir)
	put(t, s, batchAt(1))
	filler := ballast(t, root, 64<<10)
	var pending []*Pending
	acknowledged := s.Last()
	for next := s.Last() + 1; s.Stalled() == nil; {
		b := batchAt(next)
		b.Decisions[0].Body = make([]byte, 8<<10)
		next += uint64(len(b.Records))
		pending = append(pending, s.Append(b))
		if err := pending[len(pending)-1].Wait(t.Context()); err != nil {
			refused(t, err, poise.Unavailable, "full")
			continue
		}
		acknowledged = next - 1
	}
	t.Logf("full after %d records: %v", acknowledged, s.Stalled())
	if got := seqs(t, s, 0); uint64(len(got)) != acknowledged || s.Last() != acknowledged {
		t.Errorf("%d records, last %d, expected %d, which were acknowledged", len(got), s.Last(), acknowledged)
	}
	for range 3 {
		s.Kick()
	}
	refused(t, s.Backup(t.Context(), filepath.Join(root, "backup")), poise.Unavailable, "back up")
	if left, err := filepath.Glob(filepath.Join(root, "backup*")); err != nil || left != nil {
		t.Errorf("%v, %v, expected nothing of the backup that failed", left, err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	s.Kick()
	for _, p := range pending {
		if err := p.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if s.Last() <= acknowledged || s.Stalled() != nil {
		t.Errorf("last %d, stalled %v, expected more than %d and no stall", s.Last(), s.Stalled(), acknowledged)
	}
	want := s.Last()

	// Full while it closes and opens.
	filler = ballast(t, root, 0)
	if err := s.Close(); err != nil {
		t.Log("close:", err)
	}
	if s, err := Open(t.Context(), Options{Dir: dir}); err != nil {
		refused(t, err, poise.Unavailable, "open store")
	} else if s.Last() != want {
		t.Errorf("last %d, expected %d", s.Last(), want)
	} else {
		s.Close()
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if got := checkWhole(t, dir, 1); got != want {
		t.Errorf("last %d, expected %d", got, want)
	}
}

func TestReadOnly(t *testing.T) {
	root := ownDisk(t)
	if root == "" {
		return
	}
	dir := filepath.Join(root, "store")
	s := open(t, dir)
	put(t, s, Batch{Records: records(1, 1)})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", root, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("no read-only file system: %v", err)
	}
	refusedOpen(t, dir, poise.Unavailable, "read")
	refusedOpen(t, filepath.Join(root, "new"), poise.Unavailable, "read-only")
	if err := syscall.Mount("tmpfs", root, "tmpfs", syscall.MS_REMOUNT, ""); err != nil {
		t.Fatal(err)
	}
	if again := open(t, dir); again.Last() != 1 {
		t.Errorf("last %d, expected 1", again.Last())
	}
}
