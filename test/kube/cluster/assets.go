package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// Version is that of the Kubernetes binaries, the one in go.mod.
const Version = "v1.37.2"

// ErrNoAssets says that the binaries of the control plane are not on this
// machine.
var ErrNoAssets = errors.New("no binaries of Kubernetes: make kube-assets builds them, Debian's etcd-server has etcd")

// Assets is the folder of the binaries: KUBE_ASSETS, or that of this version in
// the user's cache. It need not exist.
func Assets() (string, error) {
	if dir := os.Getenv("KUBE_ASSETS"); dir != "" {
		return dir, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache of Kubernetes binaries: %w", err)
	}
	return filepath.Join(cache, "poise", "kube", Version), nil
}

// asset finds a binary among the assets, or else on the path, where Debian puts
// etcd; the error wraps ErrNoAssets where it is in neither.
func asset(name string) (string, error) {
	dir, err := Assets()
	if err != nil {
		return "", err
	}
	full := filepath.Join(dir, name)
	switch _, err := os.Stat(full); {
	case err == nil:
		return full, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("find %s: %w", name, err)
	}
	if full, err := exec.LookPath(name); err == nil {
		return full, nil
	}
	return "", fmt.Errorf("find %s in %s or on the path: %w", name, dir, ErrNoAssets)
}
