package sim

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/preempt"
	"github.com/poise-sched/poise/host/queue"
)

var update = flag.Bool("update", false, "write the diaries of the scenes anew")

// A scene is a small fleet and a few jobs, and the diary of their replay: what
// happened when, and the figures at the end. The diaries were checked by hand.
func TestScenes(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "*.scene"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scenes: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".scene"), func(t *testing.T) {
			scene, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, scene)
			last := &scene.Files[len(scene.Files)-1]
			switch {
			case bytes.Equal(got, last.Data):
			case *update:
				last.Data = got
				if err := os.WriteFile(path, txtar.Format(scene), 0o644); err != nil {
					t.Fatal(err)
				}
			default:
				t.Errorf("got\n%swant\n%s", got, last.Data)
			}
		})
	}
}

// play gives the diary of a scene.
func play(t *testing.T, scene *txtar.Archive) []byte {
	t.Helper()
	text, from := map[string]string{"policy": idleBalance}, time.Duration(0)
	for _, f := range scene.Files {
		text[f.Name] = strings.TrimSpace(string(f.Data))
	}
	if s := text["from"]; s != "" {
		var err error
		if from, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	tr := small(t, text["fleet.yaml"], text["jobs.yaml"])
	c := configOf(t, text["policy"], tr.requests)
	c.Tenants = tr.tenants
	if how := text["preemption"]; how != "" {
		s := preempt.Defaults()
		s.Priority, s.Reclaim = how == "priority" || how == "both", how == "reclaim" || how == "both"
		c.Preempt = &s
	}
	if n := text["reservations"]; n != "" {
		var err error
		if c.Reservations, err = strconv.Atoi(n); err != nil {
			t.Fatal(err)
		}
	}
	d := diary{fates: tr.arrivals}
	d.watch(&c)
	r, err := RunReplay(c, queue.Defaults(), tr.nodes, tr.arrivals, poise.Time(from.Milliseconds()))
	if err != nil {
		t.Fatal(err)
	}
	d.figures(r)
	return d.Bytes()
}

// figures writes down what the run reports.
func (d *diary) figures(r *Result) {
	fmt.Fprintf(d, "\n%d jobs, %d placed, %d pending, %d attempts\n", r.Jobs, r.Placed, r.Replay.Pending, r.Attempts)
	if e := r.Replay.Ends; e.Failed+e.Withdrawn+r.Replay.Retries > 0 {
		fmt.Fprintf(d, "%d succeeded, %d failed, %d withdrawn, %d run, %d retries, %d deadlines missed\n", e.Succeeded, e.Failed, e.Withdrawn, e.Running, r.Replay.Retries, r.Replay.Missed)
	}
	fmt.Fprintf(d, "waits: %d, mean %.2fs, p99 %gs\n", r.Replay.Waited, r.Replay.MeanWait, r.Replay.P99Wait)
	fmt.Fprintf(d, "load %.2f %%, allocated %.2f %%, %g devices stranded\n", r.Replay.Load, r.Replay.Alloc, r.Replay.Stranded)
	for _, u := range r.Replay.Tenants {
		fmt.Fprintf(d, "tenant %s: %d jobs, %d placed, mean wait %.2fs\n", u.Tenant, u.Jobs, u.Placed, u.MeanWait)
	}
	for _, w := range r.Replay.Waiting {
		fmt.Fprintf(d, "%s (%d waiting): %s;", w.Job, w.Jobs, w.Reason)
		if w.Decision == nil {
			fmt.Fprintf(d, " %s\n", w.Detail)
			continue
		}
		for _, refused := range w.Decision.Refused {
			fmt.Fprintf(d, " %s on %d,", strings.TrimSpace(refused.Code.String()+" "+refused.Dim), refused.Nodes)
		}
		if m := w.Decision.Nearest; m != nil {
			fmt.Fprintf(d, " nearest %s: %s", m.Node, strings.TrimSpace(m.Code.String()+" "+m.Dim))
			if m.Ask > 0 {
				fmt.Fprintf(d, ", %d of %d, %d short", m.Have, m.Ask, m.Beyond)
			}
		}
		fmt.Fprintln(d)
	}
}
