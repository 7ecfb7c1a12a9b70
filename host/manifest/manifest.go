package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/poise-sched/poise/host/poise"
)

// ReadNodes reads the fleet in a file. The format goes by the extension (.csv,
// .yaml, .yml, .jsonl, .ndjson, .json, for jobs .swf, each also with .gz) or else by the
// content; compression is found by content alone. A file that is not there is
// a poise.Error of kind NotFound, one that cannot be read Unavailable, and one
// with faults in it Invalid, with up to 20 Errors joined.
func ReadNodes(path string) ([]poise.Node, error) { return readFile(path, DecodeNodes) }

// ReadJobs reads the jobs in a file, in the manner of ReadNodes. Their order is
// that of the file, not that of Submit.
func ReadJobs(path string) ([]Job, error) { return readFile(path, DecodeJobs) }

func readFile[T any](path string, decode func(string, io.Reader) (T, error)) (none T, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return none, &poise.Error{Kind: poise.NotFound, Op: fmt.Sprintf("read %q", path), Detail: "no such file"}
	}
	if err != nil {
		return none, unreadable(path, err)
	}
	defer f.Close()
	return decode(path, f)
}

func unreadable(path string, err error) error {
	return &poise.Error{Kind: poise.Unavailable, Op: fmt.Sprintf("read %q", path), Err: err}
}

// DecodeNodes reads a fleet from r as ReadNodes does from a file; name stands
// in errors and its extension tells the format.
func DecodeNodes(name string, r io.Reader) ([]poise.Node, error) {
	return decodeNodes(name, r, fileLimits)
}

// DecodeJobs reads jobs from r as ReadJobs does from a file; name stands in
// errors and its extension tells the format.
func DecodeJobs(name string, r io.Reader) ([]Job, error) {
	return decodeJobs(name, r, fileLimits)
}

// DecodeInlineJobs reads jobs from YAML that stands in a flag, which name says in
// errors.
func DecodeInlineJobs(name, text string) ([]Job, error) {
	d := &jobs{problems: problems{file: name, inline: true}, names: newNames(fileLimits.nouns)}
	if err := decode(strings.NewReader(text), fileLimits, &d.problems, d); err != nil {
		return nil, err
	}
	return d.list, nil
}

func decodeNodes(name string, r io.Reader, lim limits) ([]poise.Node, error) {
	d := &nodes{problems: problems{file: name}, names: newNames(lim.nouns)}
	if err := decode(r, lim, &d.problems, d); err != nil {
		return nil, err
	}
	return d.list, nil
}

func decodeJobs(name string, r io.Reader, lim limits) ([]Job, error) {
	d := &jobs{problems: problems{file: name}, names: newNames(lim.nouns)}
	if err := decode(r, lim, &d.problems, d); err != nil {
		return nil, err
	}
	return d.list, nil
}

// decoder makes nouns of the records of a file.
type decoder interface {
	document(n *yaml.Node)
	columns() (required, optional []string)
	row(r *row)
	size() int
}

// decode drives d over the text; err is nil, or of kind Invalid or Unavailable.
func decode(r io.Reader, lim limits, found *problems, d decoder) error {
	text, err := newLines(r, lim)
	if err == nil {
		format := yamlFormat
		if !found.inline {
			format = formatOf(found.file, text.head())
		}
		switch format {
		case csvFormat:
			err = decodeTable(text, found, d)
		case jsonFormat:
			err = decodeJSON(text, found, d.document)
		case yamlFormat:
			err = decodeYAML(text, found, d.document)
		case swfFormat:
			err = decodeSWF(text, found, d)
		}
	}
	var bad *badText
	switch {
	case errors.As(err, &bad):
		line := 0
		if text != nil {
			line = text.number + 1
		}
		found.add(line, "", bad.value, bad.want)
	case err != nil && err != io.EOF:
		return unreadable(found.file, err)
	}
	if found.count == 0 && d.size() == 0 {
		found.add(0, "", "nothing in it", "at least one record")
	}
	return found.err()
}
