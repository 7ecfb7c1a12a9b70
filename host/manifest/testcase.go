package manifest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/poise-sched/poise/host/poise"
)

// Case is one test of a policy plugin: a fleet, a job, and what is to become of
// it.
type Case struct {
	Path     string
	Name     string
	Nodes    []poise.Node
	Snapshot string // path of a snapshot file, in place of Nodes, Running and Workload
	Running  []Running
	Workload []Job // counted for the demand profile; nil = Running and Job are
	Job      Job
	Params   map[string]string
	Expect   Expect

	text   []byte
	flow   bool       // fields stand between braces, not on lines of their own
	key    *yaml.Node // the field expect, nil = not there
	expect *yaml.Node
	next   int // line of the field after it, 0 = it is the last one
}

// caseFields are the fields of a case.
var caseFields = []string{"name", "nodes", "fleet", "running", "workload", "snapshot", "job", "params", "expect"}

// ReadCase reads the test case in a YAML file. A fleet that it names is a path
// from the folder of the file.
func ReadCase(path string) (*Case, error) {
	text, err := readFile(path, func(_ string, r io.Reader) ([]byte, error) {
		text, err := io.ReadAll(io.LimitReader(r, int64(fileLimits.record)+1))
		if err != nil {
			return nil, unreadable(path, err)
		}
		return text, nil
	})
	if err != nil {
		return nil, err
	}
	return decodeCase(path, text, fileLimits, func(name string) ([]poise.Node, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(path), name)
		}
		return ReadNodes(name)
	})
}

// decodeCase reads a case from text; fleet reads the file of a fleet.
func decodeCase(path string, text []byte, lim limits, fleet func(string) ([]poise.Node, error)) (*Case, error) {
	d := &cases{problems: problems{file: path}, lim: lim, fleet: fleet, c: Case{Path: path, text: text}}
	switch {
	case len(text) > lim.record:
		d.add(0, "", fmt.Sprintf("more than %d bytes", lim.record), "a smaller file")
	case !utf8.Valid(text):
		d.add(0, "", "bytes that are not UTF-8", "UTF-8 text")
	case d.one():
		yamlDocument(text, 1, &d.problems, d.document)
		if d.count == 0 && d.c.Name == "" {
			d.add(0, "", "nothing in it", "a test case")
		}
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	return &d.c, nil
}

// cases reads one case.
type cases struct {
	problems
	lim   limits
	fleet func(string) ([]poise.Node, error)
	c     Case
}

// one says whether the text is one document.
func (d *cases) one() bool {
	said := false
	for i, line := range bytes.Split(d.c.text, []byte("\n")) {
		if said && marks(line, "---") {
			d.add(i+1, "", "a second document", "one case a file")
			return false
		}
		said = said || marks(line, "---") || len(bytes.TrimSpace(line)) > 0 && line[0] != '#'
	}
	return true
}

func (d *cases) document(n *yaml.Node) {
	o, ok := d.object(n, "", caseFields...)
	if !ok {
		return
	}
	c := &d.c
	if o.require("name", "a line that says what is tested") {
		c.Name = o.text("name")
	}
	c.Nodes, c.Snapshot = d.nodes(&o), d.snapshot(&o)
	c.Running = d.running(&o)
	c.Workload = d.workload(&o)
	c.Job = d.job(&o)
	c.Params = d.params(&o)
	c.flow = n.Style&yaml.FlowStyle != 0
	if o.has("expect") {
		d.expect(&o, n)
	}
	if d.count == 0 {
		d.check()
	}
}

// take gives the problems that a decoder of a part found since before, with the
// part's path in front of their fields.
func (d *cases) take(from *problems, before int, path string) {
	for _, e := range from.errs[before:] {
		e.Field = strings.TrimSuffix(path+"."+e.Field, ".")
		d.add(e.Line, e.Field, e.Value, e.Want)
	}
}

// each hands the elements of a list to document.
func (d *cases) each(o *object, key string, from *problems, document func(*yaml.Node)) {
	for i, n := range o.list(key) {
		before := len(from.errs)
		document(n)
		d.take(from, before, fmt.Sprintf("%s[%d]", key, i))
	}
}

func (d *cases) nodes(o *object) []poise.Node {
	if o.has("snapshot") {
		for _, key := range []string{"nodes", "fleet", "running", "workload"} {
			if o.has(key) {
				d.add(o.lineOf(key), key, "given beside snapshot", "a snapshot alone, which has the fleet and what runs")
			}
		}
		return nil
	}
	switch {
	case o.has("nodes") == o.has("fleet"):
		d.add(o.line, "nodes", "given as often as fleet", "a list of nodes, or fleet: FILE")
		return nil
	case o.has("fleet"):
		name := o.text("fleet")
		if name == "" {
			return nil
		}
		list, err := d.fleet(name)
		if err != nil {
			d.add(o.lineOf("fleet"), "fleet", err.Error(), "a fleet file, as a path from the folder of the case")
		}
		return list
	}
	sub := &nodes{problems: problems{file: d.file}, names: newNames(d.lim.nouns)}
	d.each(o, "nodes", &sub.problems, sub.document)
	if sub.size() == 0 && d.count == 0 {
		d.add(o.lineOf("nodes"), "nodes", "none", "at least one node")
	}
	return sub.list
}

// snapshot gives the path of the snapshot file from where the command runs.
func (d *cases) snapshot(o *object) string {
	if !o.has("snapshot") {
		return ""
	}
	name := o.text("snapshot")
	if name == "" {
		d.add(o.lineOf("snapshot"), "snapshot", "empty", "a snapshot file, as a path from the folder of the case")
	} else if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(d.file), name)
	}
	return name
}

func (d *cases) running(o *object) []Running {
	sub := newRunning(d.file, d.lim)
	d.each(o, "running", &sub.problems, sub.document)
	return sub.list
}

func (d *cases) workload(o *object) []Job {
	if !o.has("workload") {
		return nil
	}
	sub := &jobs{problems: problems{file: d.file}, names: newNames(d.lim.nouns)}
	d.each(o, "workload", &sub.problems, sub.document)
	return append([]Job{}, sub.list...)
}

func (d *cases) job(o *object) Job {
	if !o.require("job", "the job to place, such as {job: j, request: {cpu: 1}}") {
		return Job{}
	}
	sub := &jobs{problems: problems{file: d.file}, names: newNames(d.lim.nouns)}
	sub.document(o.values["job"])
	d.take(&sub.problems, 0, "job")
	switch len(sub.list) {
	case 0:
		return Job{}
	case 1:
		return sub.list[0]
	}
	if sub.list[0].Gang != nil {
		d.add(o.lineOf("job"), "job", fmt.Sprintf("a gang of %d tasks", len(sub.list)), "one job")
		return Job{}
	}
	d.add(o.lineOf("job"), "job.count", fmt.Sprint(len(sub.list)), "one job")
	return Job{}
}

func (d *cases) params(o *object) map[string]string {
	p, _ := o.object("params")
	params := make(map[string]string, len(p.keys))
	for _, key := range p.keys {
		n := p.values[key]
		if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
			p.wrong(key, "text, a number, true or false")
			continue
		}
		params[key] = n.Value
	}
	return params
}

// check refuses what fits together nowhere, whatever the plugin does.
func (d *cases) check() {
	c := &d.c
	names := map[string]bool{}
	for i := range c.Nodes {
		names[c.Nodes[i].Name] = true
	}
	for i := range c.Running {
		r := &c.Running[i]
		if !names[r.Node] {
			d.add(r.line, "running", quote(r.Node)+", which no node of the case is named", d.oneOf())
		}
		if r.ID == c.Job.ID {
			d.add(r.line, "running", quote(string(r.ID))+", the name of the job to place", "another name")
		}
	}
	if c.key != nil && c.Snapshot == "" {
		d.checkExpect(names)
	}
}

// oneOf lists the nodes, for the one who named another.
func (d *cases) oneOf() string {
	const most = 20
	if len(d.c.Nodes) > most {
		return "a node of the fleet"
	}
	list := make([]string, len(d.c.Nodes))
	for i := range d.c.Nodes {
		list[i] = d.c.Nodes[i].Name
	}
	return "one of " + strings.Join(list, ", ")
}

// CaseFiles gives the case files that paths name: files as they are, and of
// folders, all that end in .yaml or .yml, by name.
func CaseFiles(paths []string) ([]string, error) {
	var all []string
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil && os.IsNotExist(err):
			return nil, &poise.Error{Kind: poise.NotFound, Op: fmt.Sprintf("read %q", path), Detail: "no such file or folder"}
		case err != nil:
			return nil, unreadable(path, err)
		case !info.IsDir():
			all = append(all, path)
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, unreadable(path, err)
		}
		before := len(all)
		for _, e := range entries {
			if ext := filepath.Ext(e.Name()); !e.IsDir() && (ext == ".yaml" || ext == ".yml") {
				all = append(all, filepath.Join(path, e.Name()))
			}
		}
		if len(all) == before {
			return nil, &poise.Error{Kind: poise.NotFound, Op: fmt.Sprintf("read %q", path), Detail: "no cases in the folder, expected files that end in .yaml"}
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
