package snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/journal"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// Names of the parts. A plugin's is its digest.
const (
	metaPart  = "meta"
	statePart = "state"
)

// Modules has the bytes of plugins. A digest that it does not know is a NotFound.
type Modules interface {
	Module(ctx context.Context, digest string) ([]byte, error)
}

// meta is what a file says of itself.
type meta struct {
	Index    uint64
	At       poise.Time
	ABI      uint32
	ABIMinor uint32
}

// File is a snapshot file that was read.
type File struct {
	State *state.State
	Parts []Part // as the file has them

	modules map[string][]byte // by digest
}

// Part is one piece of a file.
type Part struct {
	Name  string // meta, state, or the digest of a plugin
	Bytes int    // not compressed
}

var _ Modules = (*File)(nil)

// Module gives the bytes of a plugin.
func (f *File) Module(_ context.Context, digest string) ([]byte, error) {
	bin, ok := f.modules[digest]
	if !ok {
		return nil, &poise.Error{Kind: poise.NotFound, Op: "module " + digest, Detail: "not in the snapshot file"}
	}
	return bin, nil
}

// Digests gives the digests of the plugins that may run under these policies:
// those in force, and those that a rollback leads to. They are sorted.
func Digests(p *state.Policies) []string {
	var all []string
	for _, tenant := range p.Activated() {
		for _, a := range p.History(tenant) {
			all = append(all, a.Digest)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Encode gives the bytes of the file of a state.
func Encode(ctx context.Context, s *state.State, m Modules) ([]byte, error) {
	about, err := json.Marshal(meta{Index: s.Index(), At: s.View().At(), ABI: abi.Major, ABIMinor: abi.Minor})
	if err != nil {
		return nil, err
	}
	image, err := journal.EncodeState(s)
	if err != nil {
		return nil, err
	}
	parts := []part{{metaPart, about}, {statePart, image}}
	for _, digest := range Digests(s.Policies()) {
		bin, err := m.Module(ctx, digest)
		if poise.KindOf(err) == poise.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{digest, bin})
	}
	return seal(parts)
}

// Decode reads a file.
func Decode(file []byte) (*File, error) {
	parts, err := open(file)
	if err != nil {
		return nil, err
	}
	if len(parts) < 2 || parts[0].name != metaPart || parts[1].name != statePart {
		return nil, refuse("parts: expected meta, then state, then plugins")
	}
	var about meta
	d := json.NewDecoder(bytes.NewReader(parts[0].body))
	d.DisallowUnknownFields()
	if err := d.Decode(&about); err != nil || d.Decode(&struct{}{}) != io.EOF {
		return nil, refuse("meta: expected index, time and ABI as one JSON object")
	}
	if about.ABI != abi.Major || about.ABIMinor > abi.Minor {
		return nil, refuse("ABI: %d.%d, expected %d.%d at most: a later version of poise wrote the file", about.ABI, about.ABIMinor, abi.Major, abi.Minor)
	}
	f := &File{modules: map[string][]byte{}}
	if f.State, err = journal.DecodeState(parts[1].body, state.Settings{}); err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	if f.State.Index() != about.Index || f.State.View().At() != about.At {
		return nil, refuse("meta: index %d at %d, expected %d at %d as the state has it", about.Index, about.At, f.State.Index(), f.State.View().At())
	}
	needed := Digests(f.State.Policies())
	for i, p := range parts {
		f.Parts = append(f.Parts, Part{Name: p.name, Bytes: len(p.body)})
		if i < 2 {
			continue
		}
		if got := Digest(p.body); got != p.name {
			return nil, refuse("plugin %.80s: digest %s, expected its name", p.name, got)
		}
		if _, ok := slices.BinarySearch(needed, p.name); !ok || i > 2 && p.name <= parts[i-1].name {
			return nil, refuse("plugin %s: expected those that policies name, each once, by digest", p.name)
		}
		f.modules[p.name] = p.body
	}
	return f, nil
}

// Digest is the digest of a plugin's bytes, as activations have it.
func Digest(bin []byte) string {
	sum := sha256.Sum256(bin)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Read reads the file of a name.
func Read(name string) (*File, error) {
	bin, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil, &poise.Error{Kind: poise.NotFound, Op: fmt.Sprintf("read snapshot %q", name), Detail: "no such file"}
	}
	if err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	f, err := Decode(bin)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}
