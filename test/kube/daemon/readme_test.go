package daemon

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/poise-sched/poise/test/kube/cluster"
)

// block is a piece of code in the README.
type block struct{ kind, text string }

// readme gives the blocks of its part on Kubernetes that are to be run, and those that
// say what comes out.
func readme(t *testing.T) []block {
	t.Helper()
	all, err := os.ReadFile(filepath.Join("..", "..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(all), "\n## On Kubernetes\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var blocks []block
	for _, m := range regexp.MustCompile("(?s)```(sh|text)\n(.*?)```").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, block{m[1], strings.TrimSpace(m[2])})
	}
	return blocks
}

// person is who tries the README: a folder with what a clone has that was built, and a
// kubeconfig where kubectl looks for it.
type person struct {
	t    *testing.T
	home string
	path string
}

func newPerson(t *testing.T, plane *cluster.Plane, kubectl string) *person {
	t.Helper()
	p := &person{t: t, home: t.TempDir()}
	bin := filepath.Join(p.home, "bin")
	p.path = bin + ":" + os.Getenv("PATH")
	name, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{bin, filepath.Join(p.home, ".kube")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{
		name: "bin/poise", kubectl: "bin/kubectl", plane.Kubeconfig(cluster.Admin): ".kube/config",
		filepath.Join(root, "examples"): "examples", filepath.Join(root, "plugins"): "plugins",
	} {
		if err := os.Symlink(from, filepath.Join(p.home, to)); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p *person) bash(script string) *exec.Cmd {
	cmd := exec.CommandContext(p.t.Context(), "bash", "-e", "-o", "pipefail", "-c", script)
	cmd.Dir = p.home
	cmd.Env = append(os.Environ(), "HOME="+p.home, "XDG_CONFIG_HOME="+filepath.Join(p.home, "config"), "PATH="+p.path)
	return cmd
}

// serve runs a command that serves until the test ends.
func (p *person) serve(command string) *exec.Cmd {
	p.t.Helper()
	cmd := p.bash("exec " + command)
	log := &text{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGKILL) // it may be gone
		_ = cmd.Wait()
		if p.t.Failed() {
			p.t.Logf("%s said:\n%s", command, log)
		}
	})
	eventually(p.t, command, func() bool {
		return strings.Contains(log.String(), "poise serves on")
	})
	return cmd
}

// run gives what a script says, which has to succeed.
func (p *person) run(script string) string {
	p.t.Helper()
	out, err := p.bash(script).CombinedOutput()
	if err != nil {
		p.t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	return string(out)
}

// The README's "On Kubernetes" works as printed, on a real API server with a real
// kubectl: two replicas, pods of two tenants with different policies, what was decided
// and why, a roll back, and the second replica taking over.
func TestReadme(t *testing.T) {
	dir, err := cluster.Assets()
	if err != nil {
		t.Fatal(err)
	}
	kubectl := filepath.Join(dir, "kubectl")
	if _, err := os.Stat(kubectl); err != nil {
		t.Skipf("no kubectl in %s: make kube-assets", dir)
	}
	f := newFleet(t, "n1", "n2", "n3", "n4")
	p := newPerson(t, f.plane, kubectl)
	blocks := readme(t)
	if len(blocks) != 10 {
		t.Fatalf("%d blocks, expected what serves, the second that serves, join, policies, why and a roll back with what they say, and the take-over with what it says", len(blocks))
	}
	says := func(out, want string) {
		t.Helper()
		for line := range strings.Lines(want) {
			if line = strings.TrimSpace(line); !strings.Contains(out, line) {
				t.Errorf("the README has %q, expected a part of\n%s", line, out)
			}
		}
	}
	before, serve, _ := strings.Cut(blocks[0].text, "\nbin/poise serve ")
	p.run(before)
	first := p.serve("bin/poise serve " + serve)
	eventually(t, "the first one leads", func() bool { return p.bash("POISE_DATA_DIR=./a bin/poise cluster list").Run() == nil })
	p.serve(blocks[1].text)
	setup := ""
	for i := 2; i+1 < len(blocks)-2; i += 2 {
		// One shell for all, as a person has.
		out := p.run(setup + "echo '== begin'\n" + blocks[i].text)
		_, out, _ = strings.Cut(out, "== begin\n")
		says(out, blocks[i+1].text)
		for line := range strings.Lines(blocks[i].text) {
			if strings.HasPrefix(line, "export ") {
				setup += line
			}
		}
	}
	if err := first.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	says(p.run("kubectl apply -k examples/kubernetes"), "deployment.apps/poise created\nvalidatingadmissionpolicy.admissionregistration.k8s.io/poise-fence created")
	out := p.run(blocks[len(blocks)-2].text)
	says(out, blocks[len(blocks)-1].text)
}
