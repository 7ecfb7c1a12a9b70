package sim

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/queue"
)

// Every build makes the same decisions: with the instructions of the first
// amd64 and with those of GOAMD64=v3, where the compiler may fuse a product and
// a sum, without assembly, on one core and on four, and this one.
func TestBuildsAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command three times")
	}
	builds := []struct {
		name, arch string
		flags      []string
		run        string // environment of the runs
	}{
		{name: "GOAMD64=v1", arch: "GOAMD64=v1", run: "GOMAXPROCS=1"},
		{name: "GOAMD64=v3", arch: "GOAMD64=v3", run: "GOMAXPROCS=4"},
		{name: "the tag noasm", arch: "GOAMD64=v1", flags: []string{"-tags", "noasm"}},
	}
	runs := [][]string{{
		"--nodes", filepath.Join(examples, "fleets", "mixed.yaml"),
		"--jobs", filepath.Join(examples, "jobs", "two-tenants.yaml"), "--mode", "replay",
	}}
	traces := filepath.Join(shared, "traces", "openb")
	if _, err := os.Stat(traces); err == nil {
		for _, policy := range []string{idleBalance, "fgd", "best-fit"} {
			runs = append(runs, []string{
				"--nodes", filepath.Join(traces, "openb_node_list_gpu_node.csv.gz"),
				"--jobs", filepath.Join(traces, "openb_pod_list_default.csv.gz"), "--mode", "inflate", "--policy", policy,
			})
		}
	} else {
		t.Logf("no traces at %s: only the demonstration is compared", traces)
	}

	tr := example(t)
	c := configOf(t, idleBalance, nil)
	c.Reservations = 1 // the command's default
	r, err := RunReplay(c, queue.Defaults(), tr.nodes, tr.arrivals, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := make([]string, len(runs))
	want[0] = r.Digest
	for i, b := range builds {
		if b.arch == "GOAMD64=v3" && !runsV3() {
			t.Log("this machine cannot run GOAMD64=v3: not compared")
			continue
		}
		poise := filepath.Join(t.TempDir(), fmt.Sprint("poise", i))
		goTool(t, []string{b.arch}, append([]string{"build", "-o", poise}, append(b.flags, "../../cmd/poise")...)...)
		f := func(k int, args []string) {
			t.Helper()
			got := digestOf(t, b.run, poise, args)
			switch {
			case want[k] == "":
				want[k] = got
			case want[k] != got:
				t.Errorf("%s, %s: digest %s, want %s", b.name, strings.Join(args, " "), got, want[k])
			}
		}
		for k, args := range runs {
			f(k, args)
			if i == 0 {
				f(k, slices.Concat(args, []string{"--nodes", shuffled(t, args[1]), "--jobs", shuffled(t, args[3])}))
			}
		}
	}
}

// shuffled writes a copy of a YAML file with its documents in another order, or
// of a CSV file with its lines, and gives the copy's path.
func shuffled(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(path, ".gz") {
		unzipped, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if text, err = io.ReadAll(unzipped); err != nil {
			t.Fatal(err)
		}
		path = strings.TrimSuffix(path, ".gz")
	}
	head, between := "", "\n---\n"
	body := strings.TrimSuffix(string(text), "\n")
	if filepath.Ext(path) == ".csv" {
		between = "\n"
		head, body, _ = strings.Cut(body, between)
		head += between
	}
	parts := strings.Split(body, between)
	rand.New(rand.NewSource(1)).Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	mixed := head + strings.Join(parts, between) + "\n"
	if mixed == string(text) {
		t.Fatalf("%s: %d parts in the same order as before", path, len(parts))
	}
	copied := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(copied, []byte(mixed), 0o600); err != nil {
		t.Fatal(err)
	}
	return copied
}

func digestOf(t *testing.T, env, poise string, args []string) string {
	t.Helper()
	cmd := exec.Command(poise, append([]string{"sim", "run", "-o", "json"}, args...)...)
	cmd.Env = append(os.Environ(), env)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd.Args, failure(err))
	}
	var r Result
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %v", cmd.Args, err)
	}
	if len(r.Digest) != 64 {
		t.Fatalf("%v: digest %q, want 64 hexadecimal digits", cmd.Args, r.Digest)
	}
	return r.Digest
}

// goTool runs the go command for a target and gives all that it prints.
func goTool(t *testing.T, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS="+os.Getenv("GOFLAGS")+" -buildvcs=false"), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v %v: %v\n%s", env, cmd.Args, err, out)
	}
	return string(out)
}

func failure(err error) string {
	if e, ok := err.(*exec.ExitError); ok {
		return fmt.Sprintf("%v: %s", err, e.Stderr)
	}
	return err.Error()
}

// runsV3 says whether the machine has what GOAMD64=v3 is most often missed for.
func runsV3() bool {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return false
	}
	flags := strings.Fields(string(text))
	return !slices.ContainsFunc([]string{"avx2", "bmi2", "fma", "movbe"}, func(flag string) bool { return !slices.Contains(flags, flag) })
}

// fused matches the instructions that multiply and add in one step, with one
// rounding instead of two, behind the line of the source in a listing.
var fused = regexp.MustCompile(`([a-z_0-9]+\.go:\d+).*\s(?:V?FN?M(?:ADD|SUB)[A-Z0-9]*|VFML[AS][A-Z0-9]*)\s`)

// scorePackages are where a sum that rounds once instead of twice could change
// a decision or a published figure.
var scorePackages = []string{"host/balance", "host/model", "host/sched", "host/sim", "host/sim/baseline", "host/spectral", "host/state", "host/workload"}

// No target may fuse a product and a sum in what scores: arm64 always would,
// amd64 from v3 on.
func TestNothingIsFused(t *testing.T) {
	if testing.Short() {
		t.Skip("builds for two targets")
	}
	archive := filepath.Join(t.TempDir(), "package.a")
	f := func(target string, listing func(folder string) string) {
		t.Helper()
		for _, p := range scorePackages {
			text := listing("../../" + p)
			if !strings.Contains(text, "TEXT") {
				t.Fatalf("%s: no listing of %s: %.200s", target, p, text)
			}
			if found := fusedLines(text); len(found) > 0 {
				t.Errorf("%s: %s has a fused product and sum at %v, want each product that is added written float64(a*b)", target, p, found)
			}
		}
		// The check itself finds what is fused, and no more.
		found := fusedLines(listing("./testdata/fused"))
		if !slices.Contains(found, "fused.go:6") || !slices.Contains(found, "fused.go:12") || slices.Contains(found, "fused.go:15") {
			t.Errorf("%s: found %v of the example, want lines 6 and 12 and not 15", target, found)
		}
	}
	f("arm64", func(folder string) string {
		goTool(t, []string{"GOARCH=arm64"}, "build", "-o", archive, folder)
		return goTool(t, nil, "tool", "objdump", archive)
	})
	// The disassembler knows none of the instructions of v3; the compiler does.
	f("GOAMD64=v3", func(folder string) string {
		return goTool(t, []string{"GOARCH=amd64", "GOAMD64=v3"}, "build", "-gcflags=-S", folder)
	})
}

func fusedLines(listing string) []string {
	var found []string
	for _, m := range fused.FindAllStringSubmatch(listing, -1) {
		found = append(found, m[1])
	}
	slices.Sort(found)
	return slices.Compact(found)
}
