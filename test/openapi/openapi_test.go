package openapi

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// tool finds a program of the generator's package.
func tool(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("OPENAPI_MODULES")
	if dir == "" {
		dir = "../../out/openapi/node_modules"
	}
	path, err := filepath.Abs(filepath.Join(dir, ".bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		const missing = "no swagger-typescript-api: make openapi-generator installs it, from npm"
		if os.Getenv("POISE_ALL_LANGUAGES") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	return path
}

func run(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// serve runs a daemon until the test ends and gives its URL.
func serve(t *testing.T, program, dir string) string {
	t.Helper()
	cmd := exec.Command(program, "serve", "--data-dir", filepath.Join(dir, "data"), "--api.listen", "127.0.0.1:0")
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // its end tells whether it came
		if err := cmd.Wait(); err != nil {
			t.Errorf("serve: %v\n%s", err, &log)
		}
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatalf("serve says nothing: %v", lines.Err())
	}
	url := regexp.MustCompile(`http://[0-9.:]+`).FindString(lines.Text())
	if url == "" {
		t.Fatalf("serve says %q, expected where it serves", lines.Text())
	}
	return url
}

func TestGeneratedClient(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	generator, checker := tool(t, "swagger-typescript-api"), tool(t, "tsc")
	// A name short enough for a socket.
	dir, err := os.MkdirTemp("", "poise")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	document, err := filepath.Abs("../../docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	run(t, dir, generator, "generate", "--path", document, "--output", dir, "--name", "client.ts", "--js")
	run(t, dir, checker, "--noEmit", "--strict", "--target", "es2022", "--lib", "es2022,dom", "client.d.ts")
	script, err := os.ReadFile("quickstart.mjs")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"quickstart.mjs": script, "package.json": []byte(`{"type": "module"}`)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "poise")
	run(t, ".", "go", "build", "-o", program, "../../cmd/poise")
	if out := run(t, dir, "node", "quickstart.mjs", serve(t, program, dir)); !strings.Contains(out, "quick start done") {
		t.Error(out)
	}
}
