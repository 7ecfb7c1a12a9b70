// Command openb turns the results of the published experiment and of the
// replays into the page docs/openb.md. It reads the JSON of "poise sim compare"
// and the published tables, and imports the simulator's result types and the
// standard library. It fails where a baseline differs from its published value
// or the default policy misses its goal, and is run by "make openb".
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"github.com/poise-sched/poise/host/sim"
)

func main() {
	published := flag.String("published", "../shared/golden/openb", "folder of the published tables")
	inflate := flag.String("inflate", "out/openb.json", "results of mode inflate")
	flag.Parse()
	w := bufio.NewWriter(os.Stdout)
	failures, err := page(w, *published, *inflate, flag.Args())
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "openb:", err)
		os.Exit(1)
	}
	for _, f := range failures {
		fmt.Fprintln(os.Stderr, "falls short:", f)
	}
	if len(failures) > 0 {
		os.Exit(1)
	}
}

// page writes the whole page and gives the goals that were missed.
func page(w *bufio.Writer, published, inflate string, replays []string) ([]string, error) {
	results, err := readResults(inflate)
	if err != nil {
		return nil, err
	}
	final, err := readFinal(published)
	if err != nil {
		return nil, err
	}
	curve, err := readCurve(published)
	if err != nil {
		return nil, err
	}
	t := newTable(results)
	fmt.Fprint(w, intro)
	failures := t.baselines(w, final)
	failures = append(failures, t.against(w, curve)...)
	if len(replays) > 0 {
		fmt.Fprint(w, replayIntro)
	}
	for _, path := range replays {
		results, err := readResults(path)
		if err != nil {
			return nil, err
		}
		failures = append(failures, replayRow(w, results)...)
	}
	if len(replays) > 0 {
		fmt.Fprint(w, replayReading)
	}
	return failures, nil
}

func readResults(path string) ([]*sim.Result, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var results []*sim.Result
	if err := json.Unmarshal(data, &results); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return results, nil
}
