//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// transcript is a text that says what a person types and what comes out, from an empty
// daemon on. Its file has, after a line or two of what it shows, parts in the form of
// txtar: files, the part serve with more flags of the
// daemon, and last the transcript. A command there begins with "$ "; what it
// prints follows. A daemon of virtual time runs the nodes of nodes.yaml, so slowly
// that nothing ends by itself.
type transcript struct {
	head      string // all before the transcript
	files     map[string]string
	serve     string
	exchanges []exchange
}

type exchange struct{ command, output string }

func readScene(t *testing.T, path string) *transcript {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	archive, s, typed := txtar.Parse(text), &transcript{files: map[string]string{}}, ""
	for _, f := range archive.Files {
		switch f.Name {
		case "serve":
			s.serve = strings.Join(strings.Fields(string(f.Data)), " ")
		case "transcript":
			typed = string(f.Data)
			s.head, _, _ = strings.Cut(string(text), "-- transcript --\n")
		default:
			s.files[f.Name] = string(f.Data)
		}
	}
	if s.head == "" {
		t.Fatalf("%s: no transcript", path)
	}
	for line := range strings.Lines(typed) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			s.exchanges = append(s.exchanges, exchange{command: strings.TrimSpace(command)})
		} else if n := len(s.exchanges); n > 0 {
			s.exchanges[n-1].output += line
		}
	}
	return s
}

// plainly takes out of a text what is another one every time: ids get numbers in
// the order in which they first appear; times, addresses, tokens and digests of
// modules go.
type plainly struct{ ids map[string]string }

var (
	idText      = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	addressText = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	userText    = regexp.MustCompile(`by user \d+`)
	tokenText   = regexp.MustCompile(`token [0-9a-f]{12} `)
	digestText  = regexp.MustCompile(`sha256:[0-9a-f]{64}`)
	timeText    = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?`)
)

func (p *plainly) text(text string) string {
	text = idText.ReplaceAllStringFunc(text, func(id string) string {
		if p.ids[id] == "" {
			p.ids[id] = fmt.Sprint("id-", len(p.ids)+1)
		}
		return p.ids[id]
	})
	text = userText.ReplaceAllString(text, "by user UID")
	text = tokenText.ReplaceAllString(addressText.ReplaceAllString(text, "ADDRESS"), "token ID ")
	return timeText.ReplaceAllString(digestText.ReplaceAllString(text, "sha256:DIGEST"), "TIME")
}

// play runs a scene and gives the transcript. What is decided takes a moment, so
// a command that prints another text than expected is tried again for a while.
func (s *transcript) play(t *testing.T) string {
	t.Helper()
	w := newTour(t)
	for name, content := range s.files {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plugins, err := filepath.Abs("../../plugins")
	if err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	w.serve("bin/poise serve --data-dir data --api.listen " + address + " --engine.kind sim --engine.sim-scale 0.001 --cluster.inventory nodes.yaml " + s.serve)
	defer w.stop()
	var out strings.Builder
	p := &plainly{ids: map[string]string{}}
	for _, e := range s.exchanges {
		run := func() string {
			cmd := w.bash(e.command)
			cmd.Env = append(cmd.Env, "PATH="+filepath.Join(w.dir, "bin")+":"+os.Getenv("PATH"), "POISE_DATA_DIR=data", "PLUGINS="+plugins, "SERVER=http://"+address)
			var both bytes.Buffer
			cmd.Stdout, cmd.Stderr = &both, &both
			if err := cmd.Run(); err != nil {
				fmt.Fprintf(&both, "(%v)\n", err)
			}
			return p.text(both.String())
		}
		if *update {
			time.Sleep(time.Second)
		}
		known := maps.Clone(p.ids)
		again := func() string { // a text that was not awaited names no id
			p.ids = maps.Clone(known)
			return run()
		}
		got := again()
		looks := strings.HasPrefix(e.command, "poise job why") || strings.HasPrefix(e.command, "poise job get") || strings.HasPrefix(e.command, "poise job list") || strings.HasPrefix(e.command, "poise plan")
		for began := time.Now(); looks && !*update && got != e.output && time.Since(began) < 10*time.Second; got = again() {
			time.Sleep(50 * time.Millisecond)
		}
		fmt.Fprintf(&out, "$ %s\n%s", e.command, got)
	}
	return out.String()
}

// The scenes of testdata/scenes: what a person reads of a job that waits, for every
// verdict, and of much else.
func TestScenes(t *testing.T) {
	paths, err := filepath.Glob("testdata/scenes/*.txt")
	if err != nil || len(paths) < 31 {
		t.Fatalf("%d scenes, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			s := readScene(t, path)
			got := s.play(t)
			if *update {
				if err := os.WriteFile(path, []byte(s.head+"-- transcript --\n"+got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			want := ""
			for _, e := range s.exchanges {
				want += "$ " + e.command + "\n" + e.output
			}
			if got != want {
				t.Errorf("printed\n%s\nexpected\n%s", got, want)
			}
		})
	}
}
