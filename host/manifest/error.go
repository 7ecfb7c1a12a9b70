package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/poise-sched/poise/host/poise"
)

// Error says what is wrong at one place of a file. The readers return one or
// several, joined, inside a poise.Error of kind Invalid.
type Error struct {
	File  string
	Line  int    // from 1; 0 where the fault is the whole file's
	Field string // path such as request.memory, or a column; may be empty
	Value string // what stands there, in quotes where it is the file's text
	Want  string // what was expected
}

// Error gives place, field, value and what was expected, such as
// `jobs.yaml:12: request.memory: "-2Gi" is negative: expected 0 or more`.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	if e.Field != "" {
		b.WriteString(": " + e.Field)
	}
	b.WriteString(": " + e.Value)
	if e.Want != "" {
		b.WriteString(": expected " + e.Want)
	}
	return b.String()
}

// maxErrors is how many errors of one file are worth reading.
const maxErrors = 20

// problems collects the errors of one file.
type problems struct {
	file   string
	inline bool // the text is YAML out of a flag: no extension tells, and its lines are not worth counting
	errs   []*Error
	count  int // also those beyond maxErrors
}

func (p *problems) add(line int, field, value, want string) {
	p.count++
	if p.inline {
		line = 0
	}
	if p.count <= maxErrors {
		p.errs = append(p.errs, &Error{File: p.file, Line: line, Field: field, Value: value, Want: want})
	}
}

// refuse adds what another package said about a value, in the form of the house
// "what is wrong, expected what".
func (p *problems) refuse(line int, field, text string) {
	value, want, _ := strings.Cut(text, ", expected ")
	p.add(line, field, value, want)
}

// full says that further errors are not kept.
func (p *problems) full() bool { return p.count >= maxErrors }

func (p *problems) err() error {
	if p.count == 0 {
		return nil
	}
	// Fields are read in the order that suits the noun, not that of the file.
	slices.SortStableFunc(p.errs, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
	var errs []error
	for _, e := range p.errs {
		errs = append(errs, e)
	}
	if p.full() {
		errs = append(errs, fmt.Errorf("%s: %d errors shown, there may be more", p.file, len(errs)))
	}
	return &poise.Error{Kind: poise.Invalid, Err: errors.Join(errs...)}
}

// maxQuote is how many bytes of a value an error repeats.
const maxQuote = 80

func quote(text string) string {
	if len(text) > maxQuote {
		return fmt.Sprintf("%q…", strings.ToValidUTF8(text[:maxQuote], ""))
	}
	return fmt.Sprintf("%q", text)
}
