package snapshot

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/journal"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
)

// shelf has plugins by digest.
type shelf map[string][]byte

func (s shelf) Module(_ context.Context, digest string) ([]byte, error) {
	if bin, ok := s[digest]; ok {
		return bin, nil
	}
	return nil, &poise.Error{Kind: poise.NotFound, Detail: digest}
}

func (s shelf) add(text string) string {
	s[Digest([]byte(text))] = []byte(text)
	return Digest([]byte(text))
}

// world is a small state, and the plugins of its policies but one.
func world(t testing.TB) (*state.State, shelf) {
	t.Helper()
	s, err := state.New(state.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	m := shelf{}
	m.add("a plugin that nobody has in force")
	job := func(id string) poise.JobSubmitted {
		return poise.JobSubmitted{Job: poise.Job{ID: poise.JobID(id), Name: id, Tenant: "t", Tasks: 1, Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: 1000}}}}}
	}
	for _, body := range []poise.Body{
		poise.SchedulerSet{Scheduler: poise.Scheduler{Policy: "idle-balance", Ties: "seeded", Seed: 7, HalfLife: 12}},
		poise.NodeJoined{Node: poise.Node{Name: "n", Cluster: "c", Capacity: resource.List{{Name: "cpu", Value: 4000}}, Devices: poise.Devices{Kind: "gpu", Model: "L4", Count: 2}}},
		poise.PolicySet{Activation: poise.Activation{Plugin: "one", Digest: m.add("first"), Params: map[string]string{"b": "2", "a": "1"}}},
		poise.PolicySet{Activation: poise.Activation{Plugin: "one", Digest: m.add("second")}},
		poise.PolicySet{Activation: poise.Activation{Tenant: "t", Plugin: "two", Digest: m.add("first")}},
		poise.PolicySet{Activation: poise.Activation{Tenant: "u", Plugin: "gone", Digest: Digest([]byte("lost"))}},
		job("runs"), job("waits"),
		poise.JobPlaced{Placement: poise.Placement{Job: "runs", Node: "n"}},
	} {
		if err := s.Apply(poise.Event{Index: s.Index() + 1, At: 1000, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	return s, m
}

func encoded(t testing.TB, s *state.State, m Modules) []byte {
	t.Helper()
	file, err := Encode(context.Background(), s, m)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// A file holds the state and the plugins that may run, and comes out the same
// again.
func TestRoundTrip(t *testing.T) {
	s, m := world(t)
	file := encoded(t, s, m)
	f, err := Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	was, _ := journal.EncodeState(s)
	is, err := journal.EncodeState(f.State)
	if err != nil || !bytes.Equal(was, is) {
		t.Errorf("state\n%s\nexpected\n%s, %v", is, was, err)
	}
	if len(f.Parts) != 4 || f.Parts[0].Name != metaPart || f.Parts[1].Bytes != len(was) {
		t.Errorf("parts %+v, expected meta, state of %d bytes, two plugins", f.Parts, len(was))
	}
	for _, text := range []string{"first", "second"} {
		bin, err := f.Module(t.Context(), Digest([]byte(text)))
		if err != nil || string(bin) != text {
			t.Errorf("%s: %q, %v", text, bin, err)
		}
	}
	if _, err := f.Module(t.Context(), Digest([]byte("lost"))); poise.KindOf(err) != poise.NotFound {
		t.Errorf("%v, expected it not to be found, as when the file was written", err)
	}
	if again := encoded(t, f.State, f); !bytes.Equal(again, file) {
		t.Error("the same state gives other bytes")
	}
}

// A file of this version is kept: later ones must read it.
func TestKeptFile(t *testing.T) {
	name := filepath.Join("testdata", "v1.snapshot")
	if _, err := os.Stat(name); err != nil {
		s, m := world(t)
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, encoded(t, s, m), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Read(name)
	if err != nil {
		t.Fatal(err)
	}
	if s := f.State; s.Index() != 9 || s.View().At() != 1000 || len(s.Waiting()) != 1 || s.Policies().Scheduler().Seed != 7 || s.View().Nodes() != 1 {
		t.Errorf("index %d, %d jobs wait, %d nodes", s.Index(), len(s.Waiting()), s.View().Nodes())
	}
	if _, err := Read(filepath.Join("testdata", "none")); poise.KindOf(err) != poise.NotFound {
		t.Errorf("%v, expected not found", err)
	}
}

// No bit of a file can change, none can be missing or too many.
func TestEveryChangeIsSeen(t *testing.T) {
	s, m := world(t)
	file := encoded(t, s, m)
	rapid.Check(t, func(t *rapid.T) {
		changed := bytes.Clone(file)
		switch rapid.IntRange(0, 2).Draw(t, "what") {
		case 0:
			changed[rapid.IntRange(0, len(file)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		case 1:
			changed = changed[:rapid.IntRange(0, len(file)-1).Draw(t, "length")]
		case 2:
			changed = append(changed, rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(t, "more")...)
		}
		if _, err := Decode(changed); poise.KindOf(err) != poise.Invalid {
			t.Fatalf("%v, expected it refused", err)
		}
	})
}

// forge gives a file with a right checksum around these parts.
func forge(t testing.TB, parts ...part) []byte {
	t.Helper()
	file, err := seal(parts)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// resum sets the sizes and the checksum of a file anew.
func resum(head, packed []byte, size uint64) []byte {
	file := append(bytes.Clone(head[:headerBytes]), packed...)
	binary.LittleEndian.PutUint64(file[16:], uint64(len(packed)))
	binary.LittleEndian.PutUint64(file[24:], size)
	sum := sha256.Sum256(file)
	return append(file, sum[:]...)
}

// What has a right checksum and is wrong all the same is refused, with the reason.
func TestRefuse(t *testing.T) {
	s, m := world(t)
	file := encoded(t, s, m)
	parts, err := open(file)
	if err != nil {
		t.Fatal(err)
	}
	f := func(want string, file []byte) {
		t.Helper()
		_, err := Decode(file)
		if poise.KindOf(err) != poise.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
	with := func(i int, body string) []part {
		changed := append([]part{}, parts...)
		changed[i].body = []byte(body)
		return changed
	}
	text := func(i int) string { return string(parts[i].body) }
	f("magic", []byte("{}"))
	f("magic", nil)
	f("expected meta, then state", forge(t))
	f("expected meta, then state", forge(t, parts[1], parts[0]))
	f("meta: expected index", forge(t, with(0, text(0)+"{}")...))
	f("meta: expected index", forge(t, with(0, strings.Replace(text(0), "{", `{"More":1,`, 1))...))
	f("a later version", forge(t, with(0, strings.Replace(text(0), `"ABIMinor":0`, `"ABIMinor":99`, 1))...))
	f("index 8", forge(t, with(0, strings.Replace(text(0), `"Index":9`, `"Index":8`, 1))...))
	f("read state", forge(t, with(1, "{}")...))
	f("read state", forge(t, with(1, text(1)+"x")...))
	f("which does not run there", forge(t, with(1, strings.Replace(text(1), `"Tasks":["runs"]`, `"Tasks":["waits"]`, 1))...))
	f("expected its name", forge(t, with(2, "another")...))
	f("expected those that policies name", forge(t, append(parts, parts[3])...))
	f("expected those that policies name", forge(t, parts[0], parts[1], parts[3], parts[2]))
	f("expected those that policies name", forge(t, append(parts, part{Digest(nil), nil})...))
	later := bytes.Clone(file)
	later[8] = 2
	f("format version: 2", later)
	packed := file[headerBytes : len(file)-sumBytes]
	size := binary.LittleEndian.Uint64(file[24:])
	f("uncompressed size", resum(file, packed, size-1))
	f("uncompressed size", resum(file, packed, size+1))
	f("uncompressed, expected at most", resum(file, packed, maxBody+1))
	f("bytes behind its end", resum(file, append(bytes.Clone(packed), packed...), size))
	f("expected gzip", resum(file, packed[1:], size))
	f("expected gzip", resum(file, packed[:len(packed)-9], size))
	wrap := func(body []byte) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(body) // to memory
		_ = z.Close()
		return resum(file, b.Bytes(), uint64(len(body)))
	}
	f("expected a length", wrap([]byte("abc")))
	f("name of 4294967295 bytes", wrap([]byte("\xff\xff\xff\xff12345678")))
	f("expected at most the 0 that are left", wrap([]byte("\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff")))
}

// A small file that promises little and holds much is not unpacked.
func TestBomb(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for range 256 {
		_, _ = z.Write(make([]byte, 1<<20)) // to memory
	}
	_ = z.Close()
	s, m := world(t)
	file := resum(encoded(t, s, m), b.Bytes(), 1000)
	if n := testing.AllocsPerRun(1, func() { _, _ = Decode(file) }); n > 1000 {
		t.Errorf("%v allocations", n)
	}
	if _, err := Decode(file); err == nil || !strings.Contains(err.Error(), "uncompressed size: 1001 bytes or more") {
		t.Errorf("%v, expected it to stop after 1001 bytes", err)
	}
}

func FuzzDecode(f *testing.F) {
	s, m := world(f)
	file := encoded(f, s, m)
	f.Add(file)
	parts, err := open(file)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(parts[0].body)
	f.Add(parts[1].body)
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = split(data)
		// Behind the checksum, which no fuzzer gets right.
		for _, file := range [][]byte{data, forge(t, part{metaPart, parts[0].body}, part{statePart, data}), forge(t, part{metaPart, data}, part{statePart, parts[1].body})} {
			read, err := Decode(file)
			if err != nil {
				continue
			}
			again, err := Encode(context.Background(), read.State, read)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Decode(again); err != nil {
				t.Fatalf("what was read is refused when written: %v", err)
			}
		}
	})
}
