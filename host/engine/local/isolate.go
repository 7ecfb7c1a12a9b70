//go:build linux

package local

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/poise-sched/poise/host/poise"
)

// usersFile says which users the tenants' tasks run as.
const usersFile = "users.json"

// users are the uids of tenants, from the first one on in the order in which
// they came. None is given to another tenant later: its files may be left.
type users struct {
	Format int
	First  uint32
	UIDs   map[poise.TenantID]uint32
}

func (u *users) check() error {
	if u.Format != format || u.First == 0 {
		return fmt.Errorf("format %d, first uid %d, expected format %d and a uid above 0", u.Format, u.First, format)
	}
	return nil
}

// isolated gives the uid that a tenant's task has to run as, 0 for the daemon's
// own. Where that would be the daemon's and may not, it is refused.
func (e *Engine) isolated(tenant poise.TenantID) (uint32, error) {
	if e.opt.Isolate == nil || !e.opt.Isolate() {
		return 0, nil
	}
	if !e.root {
		return 0, &poise.Error{
			Kind: poise.Denied, Op: "isolate tasks",
			Detail: "no-isolation: a task would run as the daemon's own user and could read other tenants' files; run the daemon as root, so that each tenant has a user of its own, or permit it with --allow-shared-uid",
		}
	}
	if err := e.passable(); err != nil {
		return 0, err
	}
	return e.userOf(tenant)
}

// userOf gives the uid of a tenant, the same one for good.
func (e *Engine) userOf(tenant poise.TenantID) (uint32, error) {
	e.usersMu.Lock()
	defer e.usersMu.Unlock()
	u := users{Format: format, First: e.opt.FirstUID}
	if _, err := read(e.opt.Dir, usersFile, &u); err != nil {
		return 0, err
	}
	if uid, ok := u.UIDs[tenant]; ok {
		return uid, nil
	}
	if u.UIDs == nil {
		u.UIDs = map[poise.TenantID]uint32{}
	}
	uid := u.First
	for _, taken := range u.UIDs {
		uid = max(uid, taken+1)
	}
	if uid > maxUID {
		return 0, &poise.Error{Kind: poise.Limit, Op: "isolate tasks", Detail: fmt.Sprintf("uid: %d, expected at most %d", uid, uint32(maxUID))}
	}
	u.UIDs[tenant] = uid
	return uid, write(e.opt.Dir, usersFile, &u, false, true)
}

// maxUID keeps clear of the numbers that mean nobody.
const maxUID = 1<<31 - 2

// passable lets other users through to the task folders, which are their own:
// through, not in, for the folders cannot be listed and hold files of the
// daemon's only.
func (e *Engine) passable() error {
	for _, dir := range []string{e.opt.Dir, filepath.Join(e.opt.Dir, tasksDir)} {
		if err := os.Chmod(dir, throughOnly); err != nil {
			return err
		}
	}
	for dir := filepath.Dir(e.opt.Dir); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&1 == 0 {
			return &poise.Error{
				Kind: poise.Denied, Op: "isolate tasks",
				Detail: fmt.Sprintf("no-isolation: %s has mode %04o, so no tenant's user can get to its task's folder under it; expected x for others, or another data directory", dir, info.Mode().Perm()),
			}
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// throughOnly is the mode of a folder that others may pass and not read.
const throughOnly = 0o711

// own gives the folders of a staged task to its user.
func own(dir string, uid uint32) error {
	if err := os.Chmod(dir, throughOnly); err != nil {
		return err
	}
	for _, name := range []string{workDir, tmpDir} {
		if err := os.Lchown(filepath.Join(dir, name), int(uid), int(uid)); err != nil {
			return err
		}
	}
	return nil
}
