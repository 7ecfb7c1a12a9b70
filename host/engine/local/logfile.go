//go:build linux

package local

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/poise-sched/poise/host/poise"
)

// Output is kept in records of one line each, as container runtimes write them:
//
//	2026-01-31T12:00:00.000000000Z stdout F the line
//
// with P for F where the line goes on in the stream's next record.

const (
	logPrefix = "out.log."
	logTime   = "2006-01-02T15:04:05.000000000Z"
	// maxText bounds the text of a record.
	maxText = 16 << 10
	// logFiles is how many files share the limit of a task: the more, the less
	// is dropped at once, and the fewer, the longer each can be read in one go.
	logFiles = 4
)

// logRecord is one record.
type logRecord struct {
	at     poise.Time
	stream Stream
	full   bool // the line ends here
	text   []byte
}

var streamNames = [...]string{Stdout: "stdout", Stderr: "stderr"}

// appendRecord appends a record with its newline.
func appendRecord(b []byte, at time.Time, s Stream, full bool, text []byte) []byte {
	b = at.UTC().AppendFormat(b, logTime)
	b = append(append(append(b, ' '), streamNames[s]...), " P "...)
	if full {
		b[len(b)-2] = 'F'
	}
	return append(append(b, text...), '\n')
}

// parseRecord reads a record without its newline; false for anything else,
// such as a line that the machine's end cut short.
func parseRecord(line []byte) (logRecord, bool) {
	const head = len(logTime) + len(" stdout F ")
	if len(line) < head || line[len(logTime)] != ' ' || line[head-3] != ' ' || line[head-1] != ' ' {
		return logRecord{}, false
	}
	at, err := time.Parse(logTime, string(line[:len(logTime)]))
	s := slices.Index(streamNames[:], string(line[len(logTime)+1:head-3]))
	kind := line[head-2]
	if err != nil || s <= 0 || kind != 'F' && kind != 'P' {
		return logRecord{}, false
	}
	return logRecord{poise.Time(at.UnixMilli()), Stream(s), kind == 'F', line[head:]}, true
}

// logNumbers lists the numbers of a task's log files, ascending.
func logNumbers(dir string) []int {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var all []int
	for _, e := range entries {
		if text, ok := strings.CutPrefix(e.Name(), logPrefix); ok {
			if n, err := strconv.Atoi(text); err == nil && n > 0 {
				all = append(all, n)
			}
		}
	}
	slices.Sort(all)
	return all
}

func logPath(dir string, n int) string { return filepath.Join(dir, logPrefix+strconv.Itoa(n)) }

// logWriter writes the records of a task. A full disk or any other failure
// loses output, never the task.
type logWriter struct {
	dir  string
	part int64 // bytes of one file
	now  func() time.Time

	mu     sync.Mutex
	file   *os.File
	number int
	size   int64
	buf    []byte
	err    error // the first failure
}

// write records a piece of a stream's output.
func (w *logWriter) write(s Stream, output []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.now()
	for len(output) > 0 {
		text := output[:min(len(output), maxText)]
		full := false
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			text, full = text[:i], true
			output = output[i+1:]
		} else {
			output = output[len(text):]
		}
		before := len(w.buf)
		w.buf = appendRecord(w.buf, at, s, full, text)
		if w.file == nil || w.size+int64(len(w.buf)) > w.part {
			record := slices.Clone(w.buf[before:])
			w.buf = w.buf[:before]
			w.flush()
			if w.next() {
				w.buf = append(w.buf, record...)
			}
		}
	}
	w.flush()
}

// flush writes what is buffered; half a record is taken back.
func (w *logWriter) flush() {
	if w.file != nil && len(w.buf) > 0 {
		if _, err := w.file.WriteAt(w.buf, w.size); err != nil {
			w.fail(err)
			w.fail(w.file.Truncate(w.size))
		} else {
			w.size += int64(len(w.buf))
		}
	}
	w.buf = w.buf[:0]
}

// next begins a new file and drops the oldest where there are too many; false
// where it cannot.
func (w *logWriter) next() bool {
	f, err := os.OpenFile(logPath(w.dir, w.number+1), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		w.fail(err)
		return false
	}
	w.close()
	w.file, w.size = f, 0
	w.number++
	if old := w.number - logFiles; old > 0 {
		w.fail(os.Remove(logPath(w.dir, old)))
	}
	return true
}

func (w *logWriter) close() {
	if w.file != nil {
		w.fail(w.file.Close())
		w.file = nil
	}
}

func (w *logWriter) fail(err error) {
	if w.err == nil && err != nil {
		w.err = fmt.Errorf("output lost: %w", err)
	}
}
