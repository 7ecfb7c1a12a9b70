package daemon

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/poise"
)

// keeper keeps records where another replica finds them.
type keeper interface {
	kube.Guard
	Records(ctx context.Context) ([]kube.Record, error)
	Put(ctx context.Context, r kube.Record) error
	Drop(ctx context.Context, kind kube.RecordKind, name string) error
}

var _ keeper = (*kube.Home)(nil)

// home is what the home cluster has of this daemon. What is acknowledged is there.
type home struct {
	keeper
	log *slog.Logger

	mu  sync.Mutex
	has map[recordName]sum // what is there, as far as is known
}

type recordName struct {
	kind kube.RecordKind
	name string
}

type sum = [sha256.Size]byte

// change is a record to be put, or to be dropped.
type change struct {
	kube.Record
	drop bool
}

// homeWorkers is how many records are written at once.
const homeWorkers = 16

// read takes note of what there is and gives it.
func (h *home) read(ctx context.Context) ([]kube.Record, error) {
	records, err := h.Records(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the home: %w", err)
	}
	h.has = map[recordName]sum{}
	for i := range records {
		h.has[recordName{records[i].Kind, records[i].Name}] = sha256.Sum256(records[i].Body)
	}
	return records, nil
}

// knows says whether there is a record.
func (h *home) knows(kind kube.RecordKind, name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, there := h.has[recordName{kind, name}]
	return there
}

// keep makes one change, unless it is made already.
func (h *home) keep(ctx context.Context, c change) error {
	at, body := recordName{c.Kind, c.Name}, sha256.Sum256(c.Body)
	h.mu.Lock()
	had, there := h.has[at]
	h.mu.Unlock()
	if there == !c.drop && (c.drop || had == body) {
		return nil
	}
	var err error
	if c.drop {
		err = h.Drop(ctx, c.Kind, c.Name)
	} else {
		err = h.Put(ctx, c.Record)
	}
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.drop {
		delete(h.has, at)
	} else {
		h.has[at] = body
	}
	return nil
}

// write makes changes, each of another record, tried again until all are made. late
// is told of the first failure. It fails where another replica leads.
func (h *home) write(ctx context.Context, changes []change, late func(error)) error {
	for attempt := 0; len(changes) > 0; attempt++ {
		var mu sync.Mutex
		var left []change
		var failed error
		g := errgroup.Group{}
		g.SetLimit(homeWorkers)
		for _, c := range changes {
			g.Go(func() error {
				err := h.keep(ctx, c)
				switch kind := poise.KindOf(err); {
				case err == nil:
				case kind == poise.Invalid: // it was checked, and no later attempt is better
					h.log.Error("a record is not kept: another replica would not know it", "kind", string(c.Kind), "name", c.Name, "error", err)
				case kind == poise.Conflict:
					return fmt.Errorf("another replica leads: %w", err)
				default:
					mu.Lock()
					defer mu.Unlock()
					left, failed = append(left, c), err
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		if changes = left; len(changes) == 0 {
			return nil
		}
		if attempt == 0 {
			h.log.Warn("the home takes no records now", "records", len(changes), "error", failed)
			late(failed)
		}
		select {
		case <-time.After(min(50*time.Millisecond<<min(attempt, 6), time.Second)):
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}
