package cli

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
)

// sheet is a file being written.
type sheet = bufio.Writer

// writeFile writes a file as a whole: a failure leaves an error, never half a
// page under the final name.
func writeFile(path string, write func(*sheet) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".poise-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(f.Name()) // after the rename there is nothing left to remove
	w := bufio.NewWriter(f)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Chmod(f.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
