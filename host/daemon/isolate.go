package daemon

import (
	"fmt"
	"os"
)

// isolates says whether a task must not run as the daemon's own user: there are
// tenants beside the built-in one, and the operator has not permitted it.
func (d *Daemon) isolates() bool {
	return !d.options.Config.Current().Config.AllowSharedUID && len(d.Tenants()) > 0
}

// makeDataDir makes the data directory. Where tasks may run as other users they
// have to get through it to their own folders; it lets them through and shows
// them nothing.
func makeDataDir(dir string) error {
	mode := os.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return fmt.Errorf("data_dir: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("data_dir: %w", err)
	}
	if mode&1 != 0 && info.Mode()&1 == 0 {
		if err := os.Chmod(dir, info.Mode().Perm()|0o011); err != nil {
			return fmt.Errorf("data_dir: %w", err)
		}
	}
	return nil
}
