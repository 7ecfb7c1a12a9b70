package config

import (
	"context"
	"path/filepath"
	"time"

	"github.com/knadh/koanf/providers/file"
)

// Watch reloads when the file changes, until ctx ends, and hands each outcome
// that differs from the one before to report. A change of a symbolic link on the
// way to the file counts, as a mounted ConfigMap changes. A file that goes away
// is a reload that fails; it is looked for again and again.
func (l *Live) Watch(ctx context.Context, apply func(*Config) error, report func(Status)) error {
	if l.options.File == "" {
		<-ctx.Done()
		return nil
	}
	name, err := filepath.Abs(l.options.File) // the watcher wants the folder named
	if err != nil {
		return err
	}
	step := func() {
		before := l.Status()
		if now := l.Reload(apply); now.news(&before) {
			report(now)
		}
	}
	for ctx.Err() == nil {
		changed, gone := make(chan struct{}, 1), make(chan struct{}, 1)
		f := file.Provider(name) // a new one each time: one that failed to watch stays locked
		if err := f.Watch(func(_ any, err error) {
			if err != nil {
				signal(gone)
				return
			}
			signal(changed)
		}); err != nil {
			step()
			pause(ctx, l.retry, nil)
			continue
		}
		step() // what changed before the watch began
		l.follow(ctx, changed, gone, step)
		if err := f.Unwatch(); err != nil {
			return err
		}
	}
	return nil
}

// follow calls step after each change, until the watch is gone or ctx ends.
func (l *Live) follow(ctx context.Context, changed, gone <-chan struct{}, step func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-gone:
			pause(ctx, l.settle, nil) // an editor that moves the old file away soon puts a new one there
			return
		case <-changed:
			// One save is several events, and between two of them the file may be
			// empty, which would be a right configuration.
			for pause(ctx, l.settle, changed) {
			}
			step()
		}
	}
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // the one in it says it already
	}
}

// pause waits for d, or until ctx ends or more arrives, and says whether more
// did.
func pause(ctx context.Context, d time.Duration, more <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	case <-more:
		return true
	}
	return false
}
