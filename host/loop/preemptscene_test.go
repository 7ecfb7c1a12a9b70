package loop

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/preempt"
	"github.com/poise-sched/poise/host/resource"
)

// A scene of preemption is a small fleet and what happens to it, and all events that
// come of it. They were checked by hand. The lines of a scene:
//
//	preempt [priority] [reclaim] grace=MS cooldown=MS patience=MS hold=MS
//	node NAME CPU
//	tenant NAME GUARANTEED    of cpu
//	ask JOB TENANT PRIORITY CPU
//	gang NAME TENANT SIZE MIN CPU
//	finish JOB
//	at MS                     time passes until then; what was told to end does at the end of its grace
func TestPreemptionScenes(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "preempt", "*.scene"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d scenes, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := playPreempt(t, string(archive.Files[0].Data))
			if *update {
				archive.Files[1].Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(archive.Files[1].Data); got != want {
				t.Errorf("events\n%s\nexpected\n%s", got, want)
			}
		})
	}
}

func playPreempt(t *testing.T, scene string) string {
	t.Helper()
	e := newEnder(t, preempt.Settings{})
	e.loop.settings.LaneOf = func(poise.TenantID) string { return "here" }
	var out strings.Builder
	e.seen = func(body poise.Body) {
		line := ""
		switch b := body.(type) {
		case poise.JobPlaced:
			line = fmt.Sprintf("%s starts on %s", b.Placement.Job, b.Placement.Node)
		case poise.GangPlaced:
			for _, p := range b.Placements {
				line += fmt.Sprintf("%s on %s, ", p.Job, p.Node)
			}
			line += "together"
		case poise.JobPreempted:
			line = fmt.Sprintf("%s makes room for %s by %d", b.Job, b.By, b.Until)
		case poise.JobRequeued:
			if line = fmt.Sprintf("%s waits again", b.Job); b.NotBefore > 0 {
				line += fmt.Sprintf(", not before %d", b.NotBefore)
			}
		case poise.JobFinished:
			line = fmt.Sprintf("%s ends", b.Job)
		case poise.JobSubmitted:
			line = fmt.Sprintf("%s comes", b.Job.ID)
		case poise.ReservationMade:
			line = fmt.Sprintf("%s is kept for %s", strings.Join(b.Nodes, " "), b.Job)
		case poise.ReservationEnded:
			line = fmt.Sprintf("nothing is kept for %s", b.Job)
		default:
			return
		}
		fmt.Fprintf(&out, "%6d  %s\n", e.now, line)
	}
	for line := range strings.Lines(scene) {
		f := strings.Fields(line)
		number := func(i int) (v int64) {
			if n, err := fmt.Sscan(f[i], &v); n != 1 || err != nil {
				t.Fatalf("%s: %q is no number", line, f[i])
			}
			return v
		}
		switch f[0] {
		case "preempt":
			var s preempt.Settings
			for _, word := range f[1:] {
				name, value, _ := strings.Cut(word, "=")
				var span poise.Span
				fmt.Sscan(value, &span)
				switch name {
				case "priority":
					s.Priority = true
				case "reclaim":
					s.Reclaim = true
				case "grace":
					s.Grace = span
				case "cooldown":
					s.Cooldown = span
				case "patience":
					s.Patience = span
				case "hold":
					s.Hold = span
				default:
					t.Fatalf("%s: %q", line, word)
				}
			}
			e.loop.UsePreempt(s)
		case "node":
			e.apply(poise.NodeJoined{Node: poise.Node{Name: f[1], Capacity: resource.List{{Name: "cpu", Value: number(2)}}}})
		case "tenant":
			e.apply(poise.TenantSet{Tenant: poise.Tenant{ID: poise.TenantID(f[1]), Quotas: []poise.Quota{{Resource: "cpu", Guaranteed: number(2)}}}})
		case "ask":
			e.ask(f[1], f[2], int32(number(3)), number(4))
		case "gang":
			e.namedGang(f[1], f[2], int32(number(3)), int32(number(4)), number(5))
			e.settled()
		case "finish":
			e.apply(poise.JobFinished{Job: poise.JobID(f[1])})
			e.settled()
		case "at":
			e.until(poise.Time(number(1)))
		default:
			t.Fatalf("%q is no line of a scene", line)
		}
	}
	return out.String()
}
