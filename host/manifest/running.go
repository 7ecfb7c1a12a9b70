package manifest

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/poise-sched/poise/host/poise"
)

// Running is a job that holds part of a node when a decision is made.
type Running struct {
	Job
	Node string
	Held []uint16 // indexes of its devices, ascending; nil = those that the host would choose

	line int
}

// ReadRunning reads the jobs that run from a file, in the manner of ReadJobs:
// each has the fields of a job, the field node, and where it matters which
// devices it holds, the field held.
func ReadRunning(path string) ([]Running, error) { return readFile(path, decodeRunning) }

func decodeRunning(name string, r io.Reader) ([]Running, error) {
	d := newRunning(name, fileLimits)
	if err := decode(r, fileLimits, &d.problems, d); err != nil {
		return nil, err
	}
	if len(d.list) < d.size() {
		d.problems.add(0, "", "a table", "YAML or JSON lines: every job needs a node")
		return nil, d.problems.err()
	}
	return d.list, nil
}

// running collects the jobs that run, as jobs does those that wait.
type running struct {
	jobs
	list []Running
}

var _ decoder = (*running)(nil)

// runningFields are what a job that runs has beside the fields of a job.
var runningFields = []string{"node", "held"}

func newRunning(file string, lim limits) *running {
	return &running{jobs: jobs{problems: problems{file: file}, names: newNames(lim.nouns), beside: runningFields}}
}

func (d *running) document(n *yaml.Node) {
	before, known := d.count, d.size()
	own, rest := split(n, runningFields...)
	o, _ := d.object(own, "")
	node := ""
	if o.require("node", "the name of the node that it runs on") {
		node = o.text("node")
	}
	held := deviceIndexes(&o, "held")
	d.jobs.document(rest)
	if d.count > before {
		return
	}
	fresh := d.jobs.list[known:]
	if ask := &fresh[0].Request.Device; held != nil && (len(held) != int(ask.Count) || len(fresh) > 1) {
		o.wrong("held", fmt.Sprintf("the index of each of its %d devices, on a job without count", ask.Count))
		return
	}
	for _, job := range fresh {
		d.list = append(d.list, Running{Job: job, Node: node, Held: held, line: n.Line})
	}
}

// split parts a mapping into one of the fields named and one of the others.
func split(n *yaml.Node, fields ...string) (own, rest *yaml.Node) {
	own, rest = &yaml.Node{Kind: yaml.MappingNode, Line: n.Line}, &yaml.Node{}
	*rest = *n
	if n.Kind != yaml.MappingNode {
		return own, rest
	}
	rest.Content = nil
	for i := 0; i < len(n.Content); i += 2 {
		to := rest
		if slices.Contains(fields, n.Content[i].Value) {
			to = own
		}
		to.Content = append(to.Content, n.Content[i:i+2]...)
	}
	return own, rest
}

// deviceIndexes reads a list of device indexes; nil where the field is not there.
func deviceIndexes(o *object, key string) []uint16 {
	if !o.has(key) {
		return nil
	}
	indexes := []uint16{}
	for i, n := range o.list(key) {
		path := fmt.Sprintf("%s[%d]", o.field(key), i)
		index, err := strconv.ParseUint(n.Value, 10, 16)
		switch {
		case err != nil || index >= poise.MaxDevices || n.ShortTag() != "!!int" || !wholeNumber(n.Value):
			o.found.add(n.Line, path, describe(n), fmt.Sprintf("a whole number from 0 to %d", poise.MaxDevices-1))
		case len(indexes) > 0 && uint64(indexes[len(indexes)-1]) >= index:
			o.found.add(n.Line, path, describe(n), "ascending indexes")
		}
		indexes = append(indexes, uint16(index))
	}
	return indexes
}
