//go:build linux

package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
	"pgregory.net/rapid"
)

// written is a folder with what a writer of a clock of one second a write makes
// of the pieces.
func written(t testing.TB, part int64, pieces ...string) string {
	t.Helper()
	dir := t.TempDir()
	var clock int64
	w := &logWriter{dir: dir, part: part, now: func() time.Time { clock++; return time.Unix(clock, 0) }}
	for _, p := range pieces {
		s := Stdout
		if text, ok := strings.CutPrefix(p, "err:"); ok {
			p, s = text, Stderr
		}
		w.write(s, []byte(p))
	}
	w.close()
	if w.err != nil {
		t.Fatal(w.err)
	}
	return dir
}

func readAll(t testing.TB, dir string, opt LogOptions) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &logReader{
		ctx: ctx, cancel: cancel, folder: func() string { return dir }, ended: func() bool { return true }, opt: opt, chunk: make([]byte, 100),
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestLogFormat(t *testing.T) {
	dir := written(t, 1<<20, "one\ntwo", "err:\n", " and three\n\n")
	text, err := os.ReadFile(logPath(dir, 1))
	if err != nil {
		t.Fatal(err)
	}
	want := `1970-01-01T00:00:01.000000000Z stdout F one
1970-01-01T00:00:01.000000000Z stdout P two
1970-01-01T00:00:02.000000000Z stderr F 
1970-01-01T00:00:03.000000000Z stdout F  and three
1970-01-01T00:00:03.000000000Z stdout F 
`
	if string(text) != want {
		t.Errorf("got:\n%s\nexpected:\n%s", text, want)
	}
}

func TestLogOptions(t *testing.T) {
	f := func(opt LogOptions, want string) {
		t.Helper()
		for _, part := range []int64{100, 1 << 20} {
			dir := written(t, part, "a\nb\n", "err:c\n", "d", "e\n")
			if part == 100 && len(logNumbers(dir)) < 2 {
				t.Error("one file")
			}
			if got := readAll(t, dir, opt); got != want {
				t.Errorf("%+v of %d: %q, expected %q", opt, part, got, want)
			}
		}
	}
	f(LogOptions{}, "a\nb\nc\nde\n")
	f(LogOptions{Follow: true}, "a\nb\nc\nde\n")
	f(LogOptions{Stream: Stdout}, "a\nb\nde\n")
	f(LogOptions{Stream: Stderr}, "c\n")
	f(LogOptions{Since: 2000}, "c\nde\n")
	f(LogOptions{Since: 2001, Stream: Stderr}, "")
	f(LogOptions{Tail: 1}, "de\n")
	f(LogOptions{Tail: 2}, "c\nde\n")
	f(LogOptions{Tail: 2, Stream: Stdout}, "b\nde\n")
	f(LogOptions{Tail: 100}, "a\nb\nc\nde\n")
}

func TestLastLines(t *testing.T) {
	f := func(text string, n int, want string) {
		t.Helper()
		if got := string(lastLines([]byte(text), n)); got != want {
			t.Errorf("%q: %q, expected %q", text, got, want)
		}
	}
	f("", 1, "")
	f("\n", 1, "\n")
	f("a", 1, "a")
	f("a\nb", 1, "b")
	f("a\nb\n", 1, "b\n")
	f("a\n\n\n", 2, "\n\n")
	f("a\nb\n", 3, "a\nb\n")
}

// Within the limit every byte comes back; beyond it, the last ones.
func TestLogProperty(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			r.Fatal(err)
		}
		part := rapid.Int64Range(maxText+60, 3*maxText).Draw(r, "part")
		w := &logWriter{dir: dir, part: part, now: time.Now}
		var all [3][]byte
		piece := rapid.OneOf(
			rapid.SliceOfN(rapid.SampledFrom([]byte("ab\n\x00\xff")), 1, 20),
			rapid.Map(rapid.IntRange(1, 40_000), func(n int) []byte { return bytes.Repeat([]byte("long"), n/4+1) }))
		for range rapid.IntRange(0, 30).Draw(r, "pieces") {
			s := rapid.SampledFrom([]Stream{Stdout, Stderr}).Draw(r, "stream")
			p := piece.Draw(r, "piece")
			w.write(s, p)
			all[s] = append(all[s], p...)
			all[Both] = append(all[Both], p...)
		}
		w.close()
		if w.err != nil {
			r.Fatal(w.err)
		}
		var size int64
		numbers := logNumbers(dir)
		for _, n := range numbers {
			info, err := os.Stat(logPath(dir, n))
			if err != nil || info.Size() > part {
				r.Errorf("file %d: %v, %d bytes over %d", n, err, info.Size(), part)
			}
			size += info.Size()
		}
		if len(numbers) > logFiles || size > logFiles*part {
			r.Errorf("%d files of %d bytes", len(numbers), size)
		}
		for s, want := range all {
			got := readAll(t, dir, LogOptions{Stream: Stream(s)})
			if w.number <= logFiles && got != string(want) || !bytes.HasSuffix(want, []byte(got)) {
				r.Errorf("stream %d: %d bytes, not the last of the %d written", s, len(got), len(want))
			}
		}
	})
}

// A folder that takes no file costs output, and nothing else.
func TestLogWriterFails(t *testing.T) {
	w := &logWriter{dir: filepath.Join(t.TempDir(), "gone"), part: 100, now: time.Now}
	w.write(Stdout, []byte("a\nb\n"))
	w.close()
	if !errors.Is(w.err, os.ErrNotExist) || !strings.HasPrefix(w.err.Error(), "output lost: ") {
		t.Errorf("%v", w.err)
	}
	if len(w.buf) != 0 {
		t.Error("what could not be written is held")
	}
}

func TestFlood(t *testing.T) {
	opt := options(t, t.TempDir())
	opt.LogLimit = minLogLimit
	w := open(t, opt)
	s := w.run(sh("p", "yes | head -n 10000 >&2; head -c 20000000 /dev/zero | tr '\\0' 'x'; yes | head -n 100000; echo; echo end"))
	if s.State != engine.Succeeded || s.Detail != "" {
		t.Errorf("%+v", s)
	}
	var size int64
	for _, n := range logNumbers(w.taskFolder("p")) {
		info, err := os.Stat(logPath(w.taskFolder("p"), n))
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if size > opt.LogLimit {
		t.Errorf("%d bytes kept, expected at most %d", size, opt.LogLimit)
	}
	if got := output(t, w, "p", LogOptions{Stream: Stdout, Tail: 1}); got != "end\n" {
		t.Errorf("%q", got)
	}
}

// A follower that keeps up sees every line over many changes of file, and the
// end; the task waits for it, line by line of a fifo.
func TestFollow(t *testing.T) {
	opt := options(t, t.TempDir())
	opt.LogLimit = minLogLimit
	w := open(t, opt)
	gate := filepath.Join(t.TempDir(), "gate")
	if err := makeFifo(gate); err != nil {
		t.Fatal(err)
	}
	// 40 times 10 lines of 1 KiB go over several files of 32 KiB.
	b := sh("p", `exec 3<"$GATE"; line=$(head -c 1000 /dev/zero | tr '\0' x)
while read n <&3; do for i in 0 1 2 3 4 5 6 7 8 9; do echo "$n$i $line"; done; done`)
	b.Env = map[string]string{"GATE": gate}
	w.bind(b)
	r, err := w.Logs(context.Background(), "p", LogOptions{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out, err := os.OpenFile(gate, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 0, 1<<20)
	for round := 1; round <= 40; round++ {
		if _, err := fmt.Fprintln(out, round); err != nil {
			t.Fatal(err)
		}
		for bytes.Count(buf, []byte{'\n'}) < 10*round {
			n, err := r.Read(buf[len(buf):cap(buf)])
			if err != nil {
				t.Fatal(err)
			}
			buf = buf[:len(buf)+n]
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(r)
	if err != nil || len(rest) != 0 {
		t.Errorf("%q, %v behind the last line", rest, err)
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(buf), "\n"), "\n") {
		if want := fmt.Sprintf("%d%d ", i/10+1, i%10); !strings.HasPrefix(line, want) || len(line) != len(want)+1000 {
			t.Fatalf("line %d: %.20s", i, line)
		}
	}
	if ns := logNumbers(w.taskFolder("p")); len(ns) != logFiles || ns[0] < 5 {
		t.Errorf("files %d: there was no change of file", ns)
	}
	if s := w.end("p"); s.State != engine.Failed && s.State != engine.Succeeded {
		t.Errorf("%+v", s)
	}
}

// A follower ends with its context, by Close, and not for a task that is silent.
func TestFollowEnds(t *testing.T) {
	w := fresh(t)
	w.bind(sh("p", "sleep 1000"))
	ctx, cancel := context.WithCancel(context.Background())
	f := func(end func(io.Closer)) {
		t.Helper()
		r, err := w.Logs(ctx, "p", LogOptions{Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			_, err := r.Read(make([]byte, 1))
			done <- err
		}()
		end(r)
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	f(func(r io.Closer) { _ = r.Close() })
	f(func(io.Closer) { cancel() })
	if _, err := w.Logs(ctx, "unknown", LogOptions{}); poise.KindOf(err) != poise.NotFound {
		t.Errorf("%v", err)
	}
	if err := w.Evict(context.Background(), "p", 0); err != nil {
		t.Fatal(err)
	}
	w.end("p")
}

func FuzzParseRecord(f *testing.F) {
	f.Add([]byte("1970-01-01T00:00:01.000000000Z stdout F one"))
	f.Add([]byte("1970-01-01T00:00:01.000000000Z stderr P "))
	f.Add([]byte("1970-01-01T00:00:01.000000000Z  F"))
	f.Fuzz(func(t *testing.T, line []byte) {
		rec, ok := parseRecord(line)
		if !ok {
			return
		}
		again := appendRecord(nil, time.UnixMilli(int64(rec.at)), rec.stream, rec.full, rec.text)
		back, ok := parseRecord(again[:len(again)-1])
		if !ok || back.at != rec.at || back.stream != rec.stream || back.full != rec.full || !bytes.Equal(back.text, rec.text) {
			t.Errorf("%q read again as %+v, expected %+v", again, back, rec)
		}
	})
}
