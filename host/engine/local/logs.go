//go:build linux

package local

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/poise-sched/poise/host/engine"
)

// followPause is how often a follower looks for more output.
const followPause = 100 * time.Millisecond

// logReader reads a task's records over all files, oldest first, while they
// are written and dropped.
type logReader struct {
	ctx    context.Context
	cancel context.CancelFunc
	folder func() string // where the task's folder is now, "" = nowhere
	ended  func() bool
	opt    LogOptions

	mu     sync.Mutex
	file   *os.File
	number int
	chunk  []byte
	rest   []byte // read and not yet parsed
	out    []byte // parsed and not yet given out
	begun  bool
}

// Logs gives a task's output, that of a forgotten one too while it is kept. An
// end of ctx ends a follower.
func (e *Engine) Logs(ctx context.Context, placement string, opt LogOptions) (io.ReadCloser, error) {
	folder := func() string {
		for _, dir := range []string{e.taskFolder(placement), e.endedFolder(placement)} {
			if _, err := os.Stat(dir); err == nil {
				return dir
			}
		}
		return ""
	}
	if folder() == "" {
		return nil, engine.Unknown("read logs of", placement)
	}
	ended := func() bool {
		s, known := e.board.Get(placement)
		return !known || s.State.Ended()
	}
	ctx, cancel := context.WithCancel(ctx)
	return &logReader{ctx: ctx, cancel: cancel, folder: folder, ended: ended, opt: opt, chunk: make([]byte, 64<<10)}, nil
}

// Read implements io.Reader.
func (r *logReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.begun {
		r.begun = true
		if err := r.begin(); err != nil {
			return 0, err
		}
	}
	for len(r.out) == 0 {
		if err := r.ctx.Err(); err != nil {
			return 0, err
		}
		// An end that is known before a look into the files is one whose output
		// is complete there.
		last := !r.opt.Follow || r.ended()
		more, err := r.step()
		if err != nil {
			return 0, err
		}
		if more || len(r.out) > 0 {
			continue
		}
		if last {
			return 0, io.EOF
		}
		select {
		case <-r.ctx.Done():
		case <-time.After(followPause):
		}
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

// Close implements io.Closer; a Read that waits returns.
func (r *logReader) Close() error {
	r.cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}

// begin reads what is there up to the last lines that are wanted.
func (r *logReader) begin() error {
	if r.opt.Tail <= 0 {
		return nil
	}
	for {
		more, err := r.step()
		if err != nil {
			return err
		}
		// Cut back as it grows, so that no more than the tail is held.
		if len(r.out) > 1<<20 || !more {
			r.out = lastLines(r.out, r.opt.Tail)
		}
		if !more {
			return nil
		}
	}
}

// step reads one piece, or goes on to the next file; false when there is
// nothing more for now.
func (r *logReader) step() (bool, error) {
	if r.file != nil {
		if more, err := r.piece(); more || err != nil {
			return more, err
		}
	}
	dir := r.folder()
	if dir == "" {
		return false, nil
	}
	for _, n := range logNumbers(dir) {
		if n <= r.number {
			continue
		}
		// A file is complete once the next one is there, not before.
		if r.file != nil {
			if more, err := r.piece(); more || err != nil {
				return more, err
			}
			_ = r.file.Close() // it was only read
			r.file, r.rest = nil, nil
		}
		f, err := os.Open(logPath(dir, n))
		if errors.Is(err, os.ErrNotExist) {
			continue // dropped meanwhile
		}
		if err != nil {
			return false, err
		}
		r.file, r.number = f, n
		return true, nil
	}
	return false, nil
}

// piece reads and parses what fits in the chunk; false at the end of the file.
func (r *logReader) piece() (bool, error) {
	n, err := r.file.Read(r.chunk)
	if n == 0 {
		if err == io.EOF {
			err = nil
		}
		return false, err
	}
	r.rest = append(r.rest, r.chunk[:n]...)
	for {
		line, rest, ok := bytes.Cut(r.rest, []byte{'\n'})
		if !ok {
			return true, nil
		}
		r.rest = rest
		rec, ok := parseRecord(line)
		if !ok || r.opt.Stream != Both && r.opt.Stream != rec.stream || rec.at < r.opt.Since {
			continue
		}
		r.out = append(r.out, rec.text...)
		if rec.full {
			r.out = append(r.out, '\n')
		}
	}
}

// lastLines gives the last n lines of text; one without newline at the end
// counts.
func lastLines(text []byte, n int) []byte {
	end := len(bytes.TrimSuffix(text, []byte{'\n'}))
	for range n {
		i := bytes.LastIndexByte(text[:end], '\n')
		if i < 0 {
			return text
		}
		end = i
	}
	return text[end+1:]
}
