package loop

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/poise-sched/poise/host/poise"
)

var update = flag.Bool("update", false, "write the transcripts of the scenes anew")

// A scene is a fleet, jobs with their times, and all that becomes of them: which
// start when and where, and what is kept for whom. The transcripts were checked by
// hand. The lines of a scene, times in ms:
//
//	reservations N
//	node NAME CORES
//	job NAME AT CORES DECLARED RUNS   the run time that it declares, 0 = none, and that it has
//	gang NAME AT CORES DECLARED RUNS SIZE   as many jobs NAME/0, NAME/1, … that start together
func TestScenes(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "*.scene"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scenes: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".scene"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil || len(archive.Files) != 2 || archive.Files[0].Name != "scene" || archive.Files[1].Name != "transcript" {
				t.Fatalf("%s: expected the files scene and transcript (%v)", path, err)
			}
			got, want := playScene(t, string(archive.Files[0].Data)), &archive.Files[1]
			switch {
			case bytes.Equal(got, want.Data):
			case *update:
				want.Data = got
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			default:
				t.Errorf("got\n%s\nexpected\n%s", got, want.Data)
			}
		})
	}
}

func playScene(t *testing.T, text string) []byte {
	var nodes []poise.Node
	var jobs []task
	reservations := 0
	for line := range strings.Lines(text) {
		var kind, name string
		var at, cores, declared, runs, size int64
		if n, _ := fmt.Sscan(line, &kind, &name, &at, &cores, &declared, &runs, &size); n == 0 {
			continue
		}
		switch kind {
		case "reservations":
			fmt.Sscan(name, &reservations)
		case "node":
			nodes = append(nodes, cpuNode(name, at))
		case "job":
			jobs = append(jobs, cpuTask(name, poise.Time(at), cores, poise.Span(declared), poise.Span(runs)))
		case "gang":
			jobs = append(jobs, gangTasks(cpuTask(name, poise.Time(at), cores, poise.Span(declared), poise.Span(runs)), int32(size), 0, nil)...)
		default:
			t.Fatalf("%q: expected reservations, node, job or gang", line)
		}
	}
	p := newPlant(t, reservations, nodes...)
	p.run(byTime(jobs), 1<<40)
	return []byte(strings.Join(p.log, "\n") + "\n")
}
