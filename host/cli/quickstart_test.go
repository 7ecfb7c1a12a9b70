//go:build unix

package cli

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The README's "Run it" works as printed: the daemon starts, the commands
// succeed one after the other and say what the README says, and the decisions
// can be made again.
func TestQuickStart(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "\n## Run it\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := regexp.MustCompile("(?s)```(sh|text)\n(.*?)```").FindAllStringSubmatch(section, -1)
	if len(blocks) != 4 || blocks[2][1] != "text" {
		t.Fatalf("README: %d blocks in Run it, expected serve, use, what it says, replay", len(blocks))
	}
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "bin", "poise"), "../../cmd/poise").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	bash := func(ctx context.Context, script string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "bash", "-e", "-c", script)
		cmd.Dir = dir
		return cmd
	}
	// exec, so that the signal reaches the daemon and not its shell.
	serve := bash(t.Context(), "exec "+strings.TrimSpace(blocks[0][2])+" --api.listen 127.0.0.1:0")
	var log bytes.Buffer
	serve.Stdout, serve.Stderr = &log, &log
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- serve.Wait() }()
	socket := filepath.Join(dir, "data", "poise.sock")
	for {
		if c, err := net.Dial("unix", socket); err == nil {
			_ = c.Close()
			break
		}
		select {
		case err := <-stopped:
			t.Fatalf("serve: %v\n%s", err, &log)
		case <-time.After(50 * time.Millisecond):
		}
	}
	out, err := bash(t.Context(), blocks[1][2]).CombinedOutput()
	if err != nil {
		t.Fatalf("use: %v\n%s\n%s", err, out, &log)
	}
	for line := range strings.Lines(blocks[2][2]) {
		if line = strings.TrimSpace(line); !strings.Contains(string(out), line) {
			t.Errorf("the README has %q, expected a part of\n%s", line, out)
		}
	}
	if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-stopped; err != nil {
		t.Fatalf("stop: %v\n%s", err, &log)
	}
	again, err := bash(t.Context(), blocks[3][2]).CombinedOutput()
	if err != nil || !strings.Contains(string(again), "1 decisions made again, equal to the bit") {
		t.Errorf("replay: %v\n%s", err, again)
	}
}
