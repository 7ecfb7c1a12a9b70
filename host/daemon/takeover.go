package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/store"
)

// openLed opens the daemon of the replica that leads.
func openLed(ctx context.Context, o Options, k keeper) (*Daemon, error) {
	return openWith(ctx, o, &home{keeper: k, log: o.Log})
}

// openStore opens the store of a data directory. It is gone on with where the lead
// before this one wrote it. Else another replica has led since, and it is history that
// nobody needs any more: it is put aside, in the place of the one that was put aside
// before, and an empty one begins.
func openStore(ctx context.Context, dataDir string, h *home, o store.Options) (*store.Store, error) {
	o.Dir = storeDir(dataDir)
	s, err := store.Open(ctx, o)
	if err != nil || h == nil {
		return s, err
	}
	term, err := s.Term(ctx)
	if err == nil && term != h.Term()-1 && s.Last() > 0 {
		if err = s.Close(); err != nil {
			return nil, err
		}
		aside := filepath.Join(dataDir, "store.before")
		if err = os.RemoveAll(aside); err == nil {
			err = os.Rename(o.Dir, aside)
		}
		if err != nil {
			return nil, fmt.Errorf("put the store of term %d aside: %w", term, err)
		}
		h.log.Info("another replica has led since, and this one begins a new history", "term", h.Term(), "before", term, "aside", aside)
		if s, err = store.Open(ctx, o); err != nil {
			return nil, err
		}
	}
	if err == nil {
		err = s.SetTerm(ctx, h.Term())
	}
	if err != nil {
		_ = s.Close() // the first error is the one to tell
		return nil, err
	}
	return s, nil
}

// takeOver takes over from the home what the daemon decides by, before anything is
// built of it, and gives what is there. Without a home it does nothing.
func (d *Daemon) takeOver(ctx context.Context) ([]kube.Record, error) {
	if d.home == nil {
		return nil, nil
	}
	records, err := d.home.read(ctx)
	if err != nil {
		return nil, err
	}
	d.core.home, d.core.mirror = d.home, newMirror()
	if err := d.takeTables(ctx, records); err != nil {
		return nil, err
	}
	return records, d.core.takeTenants(records)
}

// goOn takes over the jobs, and brings home what it lacks of this history.
func (d *Daemon) goOn(ctx context.Context, records []kube.Record) error {
	if d.home == nil {
		return nil
	}
	if err := d.takeJobs(ctx, records); err != nil {
		return err
	}
	d.core.mirror.all = true
	return d.keepTables(ctx)
}
