package config

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Live is the configuration of a running daemon. It is safe for concurrent use.
type Live struct {
	options       Options
	settle, retry time.Duration // see Watch
	reload        sync.Mutex    // one at a time
	current       atomic.Pointer[Loaded]
	status        atomic.Pointer[Status]
}

// Status is the outcome of the latest reload.
type Status struct {
	Changed []string // settings that were taken up
	Restart []string // settings that have another value now, which counts after a restart
	Err     error    // why the configuration before stays in force: Problems, or what apply said
}

// Open loads the configuration that a daemon starts with.
func Open(o Options) (*Live, error) {
	first, err := Load(o)
	if err != nil {
		return nil, err
	}
	l := &Live{options: o, settle: 100 * time.Millisecond, retry: time.Second}
	l.current.Store(first)
	l.status.Store(&Status{})
	return l, nil
}

// Current is what is in force. Nobody may change it.
func (l *Live) Current() *Loaded { return l.current.Load() }

// Status is the outcome of the latest reload, empty before the first.
func (l *Live) Status() Status { return *l.status.Load() }

// Reload reads all sources again, for SIGHUP. Where a setting has changed that a
// running daemon takes up, it calls apply with the whole new configuration, in
// which every other setting is as before, and swaps that in unless apply refuses
// it. A wrong file changes nothing.
func (l *Live) Reload(apply func(*Config) error) Status {
	l.reload.Lock()
	defer l.reload.Unlock()
	status := l.try(apply)
	l.status.Store(&status)
	return status
}

func (l *Live) try(apply func(*Config) error) Status {
	read, err := Load(l.options)
	if err != nil {
		return Status{Err: err}
	}
	var status Status
	old := l.Current()
	next := &Loaded{Config: read.Config, origins: maps.Clone(read.origins)}
	all := settings()
	for i := range all {
		s := &all[i]
		differs := s.print(&old.Config) != s.print(&read.Config)
		if !s.live {
			s.copy(&old.Config, &next.Config)
			next.origins[s.name] = old.origins[s.name]
		}
		switch {
		case differs && s.live:
			status.Changed = append(status.Changed, s.name)
		case differs:
			status.Restart = append(status.Restart, s.name)
		}
	}
	if len(status.Changed) > 0 {
		if err := apply(&next.Config); err != nil {
			return Status{Err: err}
		}
	}
	l.current.Store(next)
	return status
}

// news says whether a reader of s has something to learn after before.
func (s *Status) news(before *Status) bool {
	text := func(err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	return len(s.Changed) > 0 || !slices.Equal(s.Restart, before.Restart) || text(s.Err) != text(before.Err)
}
