package store

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
)

// Variables of the environment that make a test binary a child of a test, and
// tell it what to do where.
const (
	roleVar = "POISE_STORE_TEST_CHILD"
	dirVar  = "POISE_STORE_TEST_DIR"
	stepVar = "POISE_STORE_TEST_STEP"
)

// childMain does what the role says.
func childMain(role string) {
	var err error
	switch dir := os.Getenv(dirVar); role {
	case "hold":
		err = hold(dir)
	case "write":
		err = writeForever(dir)
	case "crash":
		err = writeScript(dir)
	default:
		err = fmt.Errorf("role %q, expected a known one", role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// hold keeps a store open until its input ends.
func hold(dir string) error {
	s, err := Open(context.Background(), Options{Dir: dir})
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Println("open")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// batchAt makes the batch whose first record is first: its records and rows all
// tell how many records it has, so that half a batch shows.
func batchAt(first uint64) Batch {
	n := 1 + first%3
	b := Batch{Records: records(first, first+n-1)}
	for i := range b.Records {
		b.Records[i].Body = fmt.Appendf(nil, "%d %d", first, n)
	}
	id := fmt.Sprintf("j%d", first)
	b.Jobs = []JobRow{{ID: id, Name: "n", Tenant: "a", State: "done", Seq: int64(first), Changed: int64(first)}}
	b.Placements = []PlacementRow{{ID: "p" + id, Job: id, Node: "n1", Devices: []uint16{0, 3}, Decision: first}}
	b.Decisions = []DecisionRow{{Seq: first, Job: id, Node: "n1"}}
	b.Keys = []KeyRow{{Key: id, Tenant: "a", Job: id}}
	return b
}

// checkWhole checks that a store has, from a Seq on, whole batches of batchAt
// only, and rows to match. It gives the Seq of the last record.
func checkWhole(t *testing.T, dir string, from uint64) uint64 {
	t.Helper()
	s, err := Open(t.Context(), Options{Dir: dir, Now: func() int64 { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h, err := s.Health(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	from = max(from, h.First)
	next, batches := from, 0
	for next <= s.Last() {
		b := batchAt(next)
		for _, want := range b.Records {
			page, err := readPage(t.Context(), s.reads, want.Seq)
			if err != nil || len(page) == 0 || !same(page[0], want) {
				t.Fatalf("event %d of the batch at %d: %v, %v, expected %+v", want.Seq, next, page, err, want)
			}
		}
		if _, err := s.Job(t.Context(), b.Jobs[0].ID); err != nil {
			t.Fatal(err)
		}
		if p, err := s.Placements(t.Context(), b.Jobs[0].ID); err != nil || len(p) != 1 {
			t.Fatalf("placements of the batch at %d: %v, %v, expected one", next, p, err)
		}
		if _, err := s.Decision(t.Context(), next); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Key(t.Context(), "a", b.Jobs[0].ID); err != nil {
			t.Fatal(err)
		}
		next, batches = next+uint64(len(b.Records)), batches+1
	}
	if next != s.Last()+1 {
		t.Fatalf("last %d, expected %d, the end of a batch", s.Last(), next-1)
	}
	for table, column := range map[string]string{"jobs": "seq", "placements": "decision", "decisions": "seq", "keys": "substr(job, 2) + 0"} {
		var n int
		if err := s.reads.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table+" WHERE "+column+" >= ?", int64(from)).Scan(&n); err != nil || n != batches {
			t.Fatalf("%d rows of %s, %v, expected %d, one for each batch", n, table, err, batches)
		}
	}
	return s.Last()
}

// writeForever appends from four goroutines and prints the last Seq of each
// batch that is acknowledged.
func writeForever(dir string) error {
	s, err := Open(context.Background(), Options{Dir: dir})
	if err != nil {
		return err
	}
	var order, out sync.Mutex
	next := s.Last() + 1
	errs := make(chan error)
	for range 4 {
		go func() {
			for {
				order.Lock()
				b := batchAt(next)
				next += uint64(len(b.Records))
				last := next - 1
				p := s.Append(b)
				order.Unlock()
				if err := p.Wait(context.Background()); err != nil {
					errs <- err
					return
				}
				out.Lock()
				fmt.Println(last)
				out.Unlock()
			}
		}()
	}
	return <-errs
}

// writeScript does one of each kind of write, prints the last Seq after each
// that is acknowledged, and dies at the given step.
func writeScript(dir string) error {
	die, err := strconv.Atoi(os.Getenv(stepVar))
	if err != nil {
		return err
	}
	ctx := context.Background()
	s, err := Open(ctx, Options{Dir: dir, Now: func() int64 { return now }, step: func(string) {
		if die--; die == 0 {
			self, _ := os.FindProcess(os.Getpid())
			self.Kill()
			select {} // until it is over
		}
	}})
	if err != nil {
		return err
	}
	for range 3 {
		b := batchAt(s.Last() + 1)
		if err := s.Append(b).Wait(ctx); err != nil {
			return err
		}
		fmt.Println(s.Last())
	}
	if err := s.PutSnapshot(ctx, s.Last(), []byte("state"), false); err != nil {
		return err
	}
	if err := s.Retain(ctx, Retention{Events: Keep{Count: 2}}); err != nil {
		return err
	}
	fmt.Println("done")
	return s.Close()
}

// start runs the test binary as a child.
func start(t *testing.T, role, dir string, more ...string) (*exec.Cmd, *bufio.Scanner, io.WriteCloser) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), roleVar+"="+role, dirVar+"="+dir), more...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out), in
}

func pid() string { return strconv.Itoa(os.Getpid()) }
