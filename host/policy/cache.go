package policy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/poise-sched/poise/host/policy/wasm"
)

// store is the directory of compiled code: the engine's files, and beside them,
// for each module that is known to compile, what Instrument made of it and a
// record. A file or a record that is not exactly what was written counts as not
// there, because what it holds would be run. A nil *store keeps nothing.
type store struct {
	dir string
	key string // of everything but the module that the code depends on
}

// record says that a module compiled, and to what.
type record struct {
	Metered string // sha256 of the instrumented module, by which the engine finds its file of code
	Outcome outcome
	Files   []storedFile
}

type storedFile struct{ Path, SHA256 string }

const (
	// recordVersion changes when set-up of the same module under the same limits
	// would end differently, as when the WASI shim does.
	recordVersion = 2

	recordSuffix  = ".ok"
	meteredSuffix = ".wasm"
	workPrefix    = "tmp-"
	workAge       = time.Hour // no compile lasts so long
)

// openStore makes the directory if need be and refuses one that others can
// write to.
func openStore(ctx context.Context, dir string, s settings) (*store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, invalid("policy cache", dir, err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, invalid("policy cache", dir, err)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 || !ownedByUs(info) {
		return nil, invalid("policy cache", fmt.Sprintf("%s: mode %#o, expected a directory of this user that nobody else can write to: it holds native code", dir, mode), nil)
	}
	st := &store{dir: dir}
	st.sweep()
	st.key, err = st.fingerprint(ctx, s)
	if err != nil {
		return nil, invalid("policy cache", dir, err)
	}
	return st, nil
}

// sweep removes what processes that were killed left behind.
func (st *store) sweep() {
	left, _ := filepath.Glob(filepath.Join(st.dir, workPrefix+"*"))
	for _, path := range left {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > workAge {
			_ = os.RemoveAll(path)
		}
	}
}

// probe is the smallest module with a function.
var probe = []byte("\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x0a\x04\x01\x02\x00\x0b")

// fingerprint hashes the limits together with the names that the engine gives
// to the code of a fixed module: they depend on its version and on the processor.
func (st *store) fingerprint(ctx context.Context, s settings) (string, error) {
	dir, err := st.workspace()
	if err != nil {
		return "", err
	}
	defer st.discard(dir)
	m, err := newMachine(ctx, s, dir, nil)
	if err != nil {
		return "", err
	}
	_, f := m.translate(ctx, probe)
	if err := m.close(ctx); err != nil || f != nil {
		return "", fmt.Errorf("compile a module of one function: %v, %w", f, err)
	}
	h := sha256.New()
	limits, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(h, "%d %d %s", recordVersion, wasm.MeterVersion, limits)
	files, err := filesIn(dir)
	for _, f := range files {
		fmt.Fprintf(h, " %s", f.Path)
	}
	return hex.EncodeToString(h.Sum(nil)), err
}

// filesIn lists the files below dir with their hashes.
func filesIn(dir string) ([]storedFile, error) {
	var files []storedFile
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		sum, err := hashFile(path)
		files = append(files, storedFile{Path: filepath.ToSlash(rel), SHA256: sum})
		return err
	})
	return files, err
}

func hashFile(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return hashOf(b), nil
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// workspace makes a directory for one compilation.
func (st *store) workspace() (string, error) {
	if st == nil {
		return "", nil
	}
	return os.MkdirTemp(st.dir, workPrefix)
}

// discard removes a workspace and what is still in it.
func (st *store) discard(dir string) {
	if st != nil {
		// What cannot be removed now is swept when the store is opened again.
		_ = os.RemoveAll(dir)
	}
}

// name is what the files of a module are called, but for the suffix.
func (st *store) name(digest string) string {
	return strings.TrimPrefix(digest, "sha256:") + "-" + st.key[:16]
}

// recordPath is where the record of a module is.
func (st *store) recordPath(digest string) string {
	return filepath.Join(st.dir, st.name(digest)+recordSuffix)
}

// find gives what is recorded of a module whose files are there, unharmed, and
// what Instrument made of it.
func (st *store) find(digest string) (out outcome, metered []byte, ok bool) {
	if st == nil {
		return outcome{}, nil, false
	}
	b, err := os.ReadFile(st.recordPath(digest))
	if err != nil {
		return outcome{}, nil, false
	}
	sum, text, _ := bytes.Cut(b, []byte{'\n'})
	var r record
	if string(sum) != hashOf(append([]byte(st.key), text...)) || json.Unmarshal(text, &r) != nil {
		return outcome{}, nil, false
	}
	for _, f := range r.Files {
		b, err := os.ReadFile(filepath.Join(st.dir, filepath.FromSlash(f.Path)))
		if err != nil || hashOf(b) != f.SHA256 {
			return outcome{}, nil, false
		}
		if f.SHA256 == r.Metered {
			metered = b
		}
	}
	return r.Outcome, metered, metered != nil
}

// drop removes what is kept of a module. What is being loaded now may be compiled
// once more for it.
func (st *store) drop(digest string) {
	if st == nil {
		return
	}
	b, err := os.ReadFile(st.recordPath(digest))
	if err != nil {
		return
	}
	_ = os.Remove(st.recordPath(digest)) // the record first: without it nothing of the rest is used
	_, text, _ := bytes.Cut(b, []byte{'\n'})
	var r record
	if json.Unmarshal(text, &r) != nil {
		return
	}
	for _, f := range r.Files {
		if filepath.IsLocal(f.Path) {
			_ = os.Remove(filepath.Join(st.dir, filepath.FromSlash(f.Path)))
		}
	}
}

// keep moves the code of a module out of its workspace and records it. The
// record comes last: without it the code is not used.
func (st *store) keep(digest string, metered []byte, out outcome, dir string) error {
	if st == nil {
		return nil
	}
	if err := os.WriteFile(filepath.Join(dir, st.name(digest)+meteredSuffix), metered, 0o600); err != nil {
		return err
	}
	files, err := filesIn(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		to := filepath.Join(st.dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(dir, filepath.FromSlash(f.Path)), to); err != nil {
			return err
		}
	}
	text, err := json.Marshal(record{Metered: hashOf(metered), Outcome: out, Files: files})
	if err != nil {
		return err
	}
	// Written apart and renamed, so that nobody reads half of it.
	temp := filepath.Join(dir, "record")
	if err := os.WriteFile(temp, append([]byte(hashOf(append([]byte(st.key), text...))+"\n"), text...), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, st.recordPath(digest))
}
