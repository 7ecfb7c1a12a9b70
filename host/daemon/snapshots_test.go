package daemon

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/journal"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/snapshot"
	"github.com/poise-sched/poise/host/store"
)

// The file of every index has the state of that index, live and from the data
// directory, and nothing of what tasks are told in secret.
func TestSnapshotFile(t *testing.T) {
	dir := folder(t)
	w := serve(t, dir, settings{"store.snapshot_every": "100"})
	w.join("a", nodes("a", 40, "8"))
	for i := range 60 {
		spec := job(fmt.Sprint("j", i), "100m", "secret-command", "--password", "hunter2")
		spec.Env = map[string]string{"SECRET_TOKEN": "hunter2"}
		w.until(w.submit(spec)[0].ID, client.Running)
	}
	live := map[uint64][]byte{}
	for _, index := range []uint64{0, 1, 60, 99, 100, 101, 150} {
		file, err := w.Snapshot(t.Context(), index)
		if err != nil {
			t.Fatal(err)
		}
		f, err := snapshot.Decode(file)
		if err != nil || index > 0 && f.State.Index() != index {
			t.Fatalf("index %d, %v, expected %d", f.State.Index(), err, index)
		}
		image, err := journal.EncodeState(f.State)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"hunter2", "secret-command", "SECRET_TOKEN"} {
			if bytes.Contains(image, []byte(secret)) {
				t.Errorf("index %d: %q is in the file", index, secret)
			}
		}
		live[f.State.Index()] = file
	}
	_, err := w.Snapshot(t.Context(), 1<<40)
	refused(t, err, poise.Invalid, "index: 1099511627776, expected 1 to")
	w.stop()
	data := filepath.Join(dir, "data")
	for index, file := range live {
		again, err := SaveSnapshot(t.Context(), data, index)
		if err != nil || !bytes.Equal(again, file) {
			t.Errorf("index %d: %d bytes from the data directory, %v, expected the %d bytes of the daemon", index, len(again), err, len(file))
		}
	}
	_, err = SaveSnapshot(t.Context(), filepath.Join(dir, "other"), 0)
	if err == nil {
		t.Error("a snapshot of no store")
	}
	// The events lead to what was written down on the way.
	s, err := store.Open(t.Context(), store.Options{Dir: storeDir(data), Now: func() int64 { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	infos, err := s.Snapshots(t.Context())
	if err != nil || len(infos) == 0 {
		t.Fatalf("%v, %v, expected snapshots", infos, err)
	}
	for _, info := range infos {
		was, err := s.Snapshot(t.Context(), info.Seq)
		if err != nil {
			t.Fatal(err)
		}
		st, err := stateAt(t.Context(), s, info.Seq-1)
		if err != nil {
			t.Fatal(err)
		}
		if err := forward(t.Context(), s, st, info.Seq, func(poise.Event) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if is, err := journal.EncodeState(st); err != nil || !bytes.Equal(was, is) {
			t.Errorf("snapshot %d: the events lead to another state, %v", info.Seq, err)
		}
	}
}
