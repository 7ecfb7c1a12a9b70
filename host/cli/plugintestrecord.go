package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/manifest"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
)

const (
	// bestKept and refusedKept are how many candidates, and nodes of one reason,
	// stay in a recorded case where the others make no difference.
	bestKept    = 5
	refusedKept = 2
	// mostRecorded is how many nodes a recorded case has at most.
	mostRecorded = 64
)

// caseDocument is a test case as it is written. Its JSON has the fields of one.
type caseDocument struct {
	Name    string             `json:"name"`
	Nodes   []client.NodeSpec  `json:"nodes"`
	Running []client.SceneTask `json:"running,omitempty"`
	Job     client.JobSpec     `json:"job"`
	Params  map[string]string  `json:"params,omitempty"`
}

// only gives the case with some of its nodes.
func (d *caseDocument) only(kept map[string]bool) *caseDocument {
	some := *d
	some.Nodes = slices.DeleteFunc(slices.Clone(d.Nodes), func(n client.NodeSpec) bool { return !kept[n.Name] })
	some.Running = slices.DeleteFunc(slices.Clone(d.Running), func(t client.SceneTask) bool { return !kept[t.Node] })
	return &some
}

// recorder turns live decisions into test cases.
type recorder struct {
	module *policy.Module
	dir    string // of the cases
	desk   string // a folder for cases that are tried
	list   client.RecordedCases
}

// recordCases does what plugin test --record says.
func recordCases(cmd *cobra.Command, s Streams, r *remote, o *pluginTestOptions) error {
	if o.last > 0 && o.differing {
		return usagef("--last, --differing: expected one of them at most")
	}
	return r.call(cmd, func(ctx context.Context, c *client.Client) error {
		list, err := c.RecordedCases(ctx, client.CaseFilter{Cluster: o.cluster, Last: o.last, Differ: o.differing})
		if err != nil {
			return err
		}
		if list.Weight != 0 {
			return &poise.Error{Kind: poise.Invalid, Op: "record", Detail: fmt.Sprintf("weight: %v, expected 0: a test case runs the plugin alone", list.Weight)}
		}
		w, err := openWorkshop(nil)
		if err != nil {
			return err
		}
		defer w.close()
		rec := recorder{dir: o.record, list: list}
		if rec.module, err = recordedModule(ctx, c, w, o, &list); err != nil {
			return err
		}
		if err := os.MkdirAll(o.record, 0o755); err != nil {
			return fmt.Errorf("--record %s: %w", o.record, err)
		}
		if rec.desk, err = os.MkdirTemp("", "poise-record"); err != nil {
			return err
		}
		defer os.RemoveAll(rec.desk)
		recorded := 0
		for i := range list.Cases {
			rc := &list.Cases[i]
			path, why, err := rec.one(ctx, c, o.cluster, rc)
			switch {
			case err != nil:
				return err
			case why != "":
				_, err = fmt.Fprintf(s.Out, "left out  %s at %d: %s\n", cell(rc.Name), rc.Index, why)
			default:
				recorded++
				_, err = fmt.Fprintf(s.Out, "recorded  %s  %s\n", path, rc.Why)
			}
			if err != nil {
				return err
			}
		}
		_, err = fmt.Fprintf(s.Out, "%d recorded, %d left out, of plugin %s\n", recorded, len(list.Cases)-recorded, cell(list.Plugin+"@"+list.Version))
		return err
	})
}

// recordedModule loads the plugin that the cases test: the file that was given,
// which must be it, or what the daemon has.
func recordedModule(ctx context.Context, c *client.Client, w *workshop, o *pluginTestOptions, list *client.RecordedCases) (*policy.Module, error) {
	if o.file == "" {
		pulled, err := c.PullPlugin(ctx, list.Digest)
		if err != nil {
			return nil, err
		}
		return w.engine.Load(ctx, pulled.Module)
	}
	m, err := w.load(o.file)
	if err == nil && m.Digest != list.Digest {
		err = &poise.Error{Kind: poise.Conflict, Op: "record", Detail: fmt.Sprintf("%s: digest %s, expected %s, which made the decisions", o.file, m.Digest, list.Digest)}
	}
	return m, err
}

// one records a case and gives its path, or why it is left out.
func (r *recorder) one(ctx context.Context, c *client.Client, cluster bool, rc *client.RecordedCase) (path, why string, err error) {
	path = filepath.Join(r.dir, fmt.Sprintf("%d-%s.yaml", rc.Index, slug(rc.Name)))
	if _, err := os.Stat(path); err == nil {
		return "", path + " is there already", nil
	}
	scene, err := c.Scene(ctx, cluster, rc.Index, rc.Job)
	if err != nil {
		if poise.KindOf(err) == poise.NotFound {
			return "", err.Error(), nil
		}
		return "", "", err
	}
	d := &caseDocument{
		Name:  fmt.Sprintf("%s: %s, as decided after event %d", rc.Name, rc.Why, rc.Index),
		Nodes: scene.Nodes, Running: scene.Running, Job: scene.Job, Params: r.list.Params,
	}
	text, why := r.exact(d, rc)
	if why != "" {
		return "", why, nil
	}
	return path, "", os.WriteFile(path, text, 0o644)
}

// exact gives the text of a case that decides as the daemon did, with as few
// nodes as make no difference, or why there is none.
func (r *recorder) exact(d *caseDocument, rc *client.RecordedCase) (text []byte, why string) {
	full, whole, err := r.try(d)
	if err != nil {
		return nil, err.Error()
	}
	faulted := whole.Fault != ""
	if faulted != rc.Fault || !faulted && (whole.Node != rc.Choice.Node || !slices.Equal(whole.Devices, rc.Choice.Devices)) {
		return nil, fmt.Sprintf("a case of it decides on %s, and the daemon on %s: it went by more than a case holds", quotedOrNone(whole.Node), quotedOrNone(rc.Choice.Node))
	}
	small, part, err := r.try(d.only(relevant(whole)))
	switch {
	case err == nil && agrees(whole, part):
		return small, ""
	case len(d.Nodes) > mostRecorded:
		return nil, fmt.Sprintf("%d nodes make a difference, expected at most %d", len(d.Nodes), mostRecorded)
	}
	return full, ""
}

func quotedOrNone(node string) string {
	if node == "" {
		return "no node"
	}
	return cell(node)
}

// try runs the plugin on a case and gives its text with what happened.
func (r *recorder) try(d *caseDocument) ([]byte, *manifest.Outcome, error) {
	path := filepath.Join(r.desk, "case.yaml")
	var b bytes.Buffer
	err := printYAML(&b, d)
	if err == nil {
		err = os.WriteFile(path, b.Bytes(), 0o600)
	}
	if err != nil {
		return nil, nil, err
	}
	c, err := manifest.ReadCase(path)
	if err != nil {
		return nil, nil, err
	}
	got, _, err := happened(r.module, c)
	if err != nil {
		return nil, nil, err
	}
	text, err := c.Rewrite(got)
	return text, got, err
}

// relevant names the nodes that a case is about: the best ones, and some of those
// that are refused for each reason.
func relevant(o *manifest.Outcome) map[string]bool {
	kept := map[string]bool{}
	if o.Node != "" {
		kept[o.Node] = true
	}
	for _, n := range o.Order[:min(bestKept, len(o.Order))] {
		kept[n] = true
	}
	names := make([]string, 0, len(o.Refused))
	for n := range o.Refused {
		names = append(names, n)
	}
	slices.Sort(names)
	times := map[string]int{}
	for _, n := range names {
		if why := o.Refused[n]; times[why] < refusedKept {
			times[why]++
			kept[n] = true
		}
	}
	return kept
}

// agrees says whether the outcome with some nodes is that with all of them, as
// far as it goes.
func agrees(whole, part *manifest.Outcome) bool {
	if whole.Node != part.Node || whole.Fault != part.Fault || !slices.Equal(whole.Devices, part.Devices) {
		return false
	}
	order := slices.DeleteFunc(slices.Clone(whole.Order), func(n string) bool { return !slices.Contains(part.Order, n) })
	if !slices.Equal(order, part.Order) {
		return false
	}
	for n, loss := range part.Losses {
		if whole.Losses[n] != loss {
			return false
		}
	}
	for n, why := range part.Refused {
		if whole.Refused[n] != why {
			return false
		}
	}
	return true
}

// slug makes a part of a file name of a job's.
func slug(name string) string {
	const most = 40
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, name)
	return strings.Trim(safe[:min(len(safe), most)], "-")
}
