package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/poise-sched/poise/host/poise"
)

// ReadSpecs reads the jobs that a file asks a daemon to run, in the manner of
// ReadJobs. Fields that only a run in virtual time has are unknown there.
func ReadSpecs(path string) ([]Job, error) { return readFile(path, DecodeSpecs) }

// DecodeSpecs reads from r as ReadSpecs does from a file; name stands in errors
// and its extension tells the format.
func DecodeSpecs(name string, r io.Reader) ([]Job, error) {
	d := newSpecs(name)
	if err := decode(r, fileLimits, &d.problems, d); err != nil {
		return nil, err
	}
	return d.list, nil
}

// DecodeSpec reads one job from a JSON object; name stands in errors. A job that
// is several, by count, is an error too.
func DecodeSpec(name string, text []byte) (Job, error) {
	d := newSpecs(name, "count", "tasks", "min_tasks", "topology", "roles")
	if err := decodeObject(&d.problems, text, d); err != nil {
		return Job{}, err
	}
	return d.list[0], nil
}

// newSpecs gives a decoder that knows all fields of a job but for some, and those of a
// run.
func newSpecs(name string, without ...string) *jobs {
	fields := slices.DeleteFunc(slices.Clone(jobFields), func(f string) bool { return slices.Contains(without, f) || slices.Contains(runFields, f) })
	return &jobs{problems: problems{file: name}, names: newNames(fileLimits.nouns), fields: fields}
}

// DecodeNode reads one node from a JSON object, in the manner of DecodeSpec.
func DecodeNode(name string, text []byte) (poise.Node, error) {
	fields := slices.DeleteFunc(slices.Clone(nodeFields), func(f string) bool { return f == "count" })
	d := &nodes{problems: problems{file: name}, names: newNames(fileLimits.nouns), fields: fields}
	if err := decodeObject(&d.problems, text, d); err != nil {
		return poise.Node{}, err
	}
	return d.list[0], nil
}

// decodeObject drives d over one JSON value; without an error, d has one noun.
func decodeObject(found *problems, text []byte, d decoder) error {
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		found.add(0, "", err.Error(), "one JSON object")
		return found.err()
	}
	switch {
	case line.Len() > fileLimits.record:
		found.add(0, "", fmt.Sprintf("object of more than %d bytes", fileLimits.record), "a smaller one")
	case !utf8.Valid(line.Bytes()):
		found.add(0, "", notUTF8, wantUTF8)
	default:
		d.document(jsonTree(line.Bytes(), 1))
	}
	return found.err()
}
