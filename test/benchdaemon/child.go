package main

import (
	"bufio"
	"context"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/poise-sched/poise/host/config"
	"github.com/poise-sched/poise/host/daemon"
	"github.com/poise-sched/poise/host/store"
)

// childArgument makes this program the daemon that it measures.
const childArgument = "child"

// writtenFile has the transactions of a daemon's store once it has ended.
const writtenFile = "written.gob"

// transaction is what became durable together, and when, in ns since the Unix
// epoch.
type transaction struct {
	At    int64
	Group []store.Batch
}

// host is the child's daemon.
type host struct {
	dir     string
	options daemon.Options
	mu      sync.Mutex
	written []transaction
}

// child runs one kind of daemon: KIND DIR NODES PROFILE, then what the kind asks
// for.
func child(args []string) error {
	kind, dir, profile := args[0], args[1], args[3]
	nodes, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	if profile != "" {
		f, err := os.Create(filepath.Join(profile, fmt.Sprintf("%s-%d.prof", kind, os.Getpid())))
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	h, err := newHost(dir, nodes)
	if err != nil {
		return err
	}
	var numbers []int
	for _, a := range args[4:] {
		n, err := strconv.Atoi(a)
		if err != nil {
			return err
		}
		numbers = append(numbers, n)
	}
	switch kind {
	case "serve":
		return h.serve()
	case "inside":
		return h.inside(numbers[0], numbers[1])
	case "history":
		return h.history(numbers[0])
	case "open":
		return h.open()
	case "read":
		return h.read()
	case "waiting":
		return h.waiting(numbers[0])
	}
	return fmt.Errorf("kind: %q, expected one of the children's", kind)
}

// newHost configures a daemon of a fleet that is not real. Where no fleet is on
// disk yet, it is written.
func newHost(dir string, nodes int) (*host, error) {
	fleet := filepath.Join(dir, "fleet.yaml")
	const kind = "node: %s\ncount: %d\ncapacity: {cpu: %d, memory: %dGi}\nlabels: {zone: %s}\n"
	text := fmt.Sprintf(kind+"---\n"+kind+"---\n"+kind, "small", nodes-nodes/2, 32, 128, "a", "large", nodes/2-nodes/10, 128, 512, "b", "highmem", nodes/10, 64, 1024, "a")
	if err := os.WriteFile(fleet, []byte(text), 0o644); err != nil {
		return nil, err
	}
	live, err := config.Open(config.Options{Env: []string{
		"POISE_DATA_DIR=" + dir, "POISE_ENGINE_KIND=sim", "POISE_CLUSTER_INVENTORY=" + fleet,
		"POISE_API_LISTEN=127.0.0.1:0", "POISE_API_RATE=1000000", "POISE_API_BURST=1000000",
	}})
	if err != nil {
		return nil, err
	}
	h := &host{dir: dir}
	h.options = daemon.Options{Config: live, Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})), Version: "bench"}
	return h, nil
}

// record keeps what the store writes.
func (h *host) record() {
	h.options.Written = func(group []store.Batch) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.written = append(h.written, transaction{time.Now().UnixNano(), slices.Clone(group)})
	}
}

// save writes down what was recorded.
func (h *host) save() error {
	f, err := os.Create(filepath.Join(h.dir, writtenFile))
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	if err := gob.NewEncoder(w).Encode(h.written); err != nil {
		return err
	}
	return w.Flush()
}

// serve is the daemon with its API, until standard input ends. It says its
// address.
func (h *host) serve() error {
	h.record()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	if err := daemon.Serve(ctx, h.options, func(address, _ string) { fmt.Println(address) }); err != nil {
		return err
	}
	return h.save()
}

// within runs a daemon in this process while f does.
func (h *host) within(f func(ctx context.Context, d *daemon.Daemon) error) error {
	d, err := daemon.Open(context.Background(), h.options)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- d.Run(ctx) }()
	err = f(ctx, d)
	stop()
	if runErr := <-ran; err == nil {
		err = runErr
	}
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	return err
}

// say tells the parent a value.
func say(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }
