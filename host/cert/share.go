package cert

import (
	"os"
	"path/filepath"
)

// shared are the files of a self-made certificate that callers note something of: its
// key, and the authority that signs it. The certificate itself has the names of its
// machine.
var shared = []string{"ca.pem", "ca-key.pem", "key.pem"}

// Keys gives the files by which callers know a self-made certificate, by name, for
// another daemon that answers in place of this one.
func Keys(dir string) (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, name := range shared {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		all[name] = text
	}
	return all, nil
}

// TakeKeys has a directory hold what Keys gave. The certificate is made anew by it when
// a Keeper looks.
func TakeKeys(dir string, keys map[string][]byte) error {
	for _, name := range shared {
		if err := replace(filepath.Join(dir, name), keys[name]); err != nil {
			return err
		}
	}
	return nil
}
