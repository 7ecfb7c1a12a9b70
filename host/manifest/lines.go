package manifest

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// limits bound what one file may make of memory.
type limits struct {
	text   int64 // bytes after decompression
	record int   // bytes of a line and of a YAML document
	nouns  int   // nodes or jobs, copies included
}

var fileLimits = limits{text: 128 << 20, record: 256 << 10, nouns: 1_000_000}

// lines gives the text of a file line by line, decompressed where it starts as
// gzip does.
type lines struct {
	lim    limits
	source *bufio.Reader
	read   int64
	number int // of the line that next gave last
	buf    []byte
}

// badText is a fault of the text itself, at the line after the last good one.
type badText struct{ value, want string }

func (b *badText) Error() string { return b.value + ", expected " + b.want }

const (
	notUTF8  = "bytes that are not UTF-8"
	wantUTF8 = "UTF-8 text"
)

// sticky repeats an error, since a look ahead would otherwise swallow it.
type sticky struct {
	source io.Reader
	err    error
}

func (s *sticky) Read(p []byte) (n int, err error) {
	if s.err == nil {
		n, s.err = s.source.Read(p)
	}
	return n, s.err
}

func newLines(r io.Reader, lim limits) (*lines, error) {
	l := &lines{lim: lim, source: bufio.NewReader(&sticky{source: r})}
	if magic, _ := l.source.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(l.source)
		if err != nil {
			return nil, textFault(err)
		}
		l.source = bufio.NewReader(z)
	}
	if mark, _ := l.source.Peek(3); string(mark) == "\ufeff" {
		l.source.Discard(len(mark))
	}
	return l, nil
}

// head gives the first bytes of the text without taking them.
func (l *lines) head() []byte {
	head, _ := l.source.Peek(l.source.Size())
	return head
}

// next gives a line without its line feed, valid until the call after, or
// io.EOF, a badText, or the error of the reader beneath.
func (l *lines) next() ([]byte, error) {
	l.buf = l.buf[:0]
	for {
		part, err := l.source.ReadSlice('\n')
		l.buf = append(l.buf, part...)
		l.read += int64(len(part))
		switch {
		case l.read > l.lim.text:
			return nil, &badText{
				fmt.Sprintf("more than %d bytes of text", l.lim.text),
				"a file of at most that, after decompression",
			}
		case len(l.buf) > l.lim.record:
			return nil, &badText{fmt.Sprintf("line of more than %d bytes", l.lim.record), "shorter lines"}
		case err == nil || err == io.EOF && len(l.buf) > 0:
			if !utf8.Valid(l.buf) {
				return nil, &badText{notUTF8, wantUTF8}
			}
			l.number++
			return bytes.TrimSuffix(l.buf, []byte("\n")), nil
		case err != bufio.ErrBufferFull:
			return nil, textFault(err)
		}
	}
}

// textFault tells corrupt compression, which is the file's fault, from a reader
// that broke.
func textFault(err error) error {
	var corrupt flate.CorruptInputError
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &corrupt) {
		return &badText{"corrupt gzip data (" + err.Error() + ")", "a whole gzip file"}
	}
	return err
}
