package config

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// put replaces a file as an editor or a deployment does.
func put(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name+".new", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, name string) *Live {
	t.Helper()
	l, err := Open(Options{File: name})
	if err != nil {
		t.Fatal(err)
	}
	l.settle, l.retry = 5*time.Millisecond, 5*time.Millisecond
	return l
}

func TestReload(t *testing.T) {
	name := filepath.Join(t.TempDir(), "poise.yaml")
	put(t, name, "log: {level: info}\n")
	l := open(t, name)
	var applied []string
	refuse := error(nil)
	f := func(content string, level string, changed, restart []string, failed string) {
		t.Helper()
		put(t, name, content)
		calls := len(applied)
		status := l.Reload(func(c *Config) error {
			applied = append(applied, c.Log.Level)
			return refuse
		})
		if got := l.Current().Config.Log.Level; got != level {
			t.Errorf("log.level %s in force, want %s", got, level)
		}
		if got := l.Current().Config.Queue.Step; got != 10*time.Minute {
			t.Errorf("queue.step %v in force, want what it started with", got)
		}
		if !slices.Equal(status.Changed, changed) || !slices.Equal(status.Restart, restart) {
			t.Errorf("changed %v, restart %v, want %v and %v", status.Changed, status.Restart, changed, restart)
		}
		switch {
		case failed == "" && status.Err != nil, failed != "" && (status.Err == nil || !strings.Contains(status.Err.Error(), failed)):
			t.Errorf("error %v, want %q", status.Err, failed)
		}
		if want := len(changed) > 0 || refuse != nil; (len(applied) > calls) != want {
			t.Errorf("applied: %v, want %v", !want, want)
		}
		if got := l.Status(); !slices.Equal(got.Changed, status.Changed) || !reflect.DeepEqual(got.Err, status.Err) {
			t.Errorf("status %v, want %v", got, status)
		}
	}
	f("log: {level: info}\n", "info", nil, nil, "")
	f("log: {level: warn}\n", "warn", []string{"log.level"}, nil, "")
	f("log: {level: loud}\n", "warn", nil, nil, `log.level: "loud"`)
	f("log: {level: warn}\nqueue: {step: 1m}\n", "warn", nil, []string{"queue.step"}, "")
	f("log: {level: debug}\nqueue: {step: 1m}\n", "debug", []string{"log.level"}, []string{"queue.step"}, "")
	if got := l.Current().Origin("queue.step"); got.Source != Default {
		t.Errorf("queue.step in force is from %s, want default", got)
	}
	refuse = errors.New("no such level here")
	f("log: {level: error}\n", "debug", nil, nil, "no such level here")
	refuse = nil
	f("log: {level: error}\n", "error", []string{"log.level"}, nil, "")
	if want := []string{"warn", "debug", "error", "error"}; !slices.Equal(applied, want) {
		t.Errorf("applied %v, want %v", applied, want)
	}
}

// watching runs Watch for the length of a test and gives what it reports.
func watching(t *testing.T, l *Live) <-chan Status {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	reports, done := make(chan Status, 16), make(chan error)
	go func() {
		done <- l.Watch(ctx, func(*Config) error { return nil }, func(s Status) { reports <- s })
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return reports
}

// level waits for a report and compares what is then in force.
func level(t *testing.T, l *Live, reports <-chan Status, want, failed string) {
	t.Helper()
	s := <-reports
	if got := l.Current().Config.Log.Level; got != want {
		t.Errorf("log.level %s, want %s", got, want)
	}
	if (s.Err == nil) != (failed == "") || s.Err != nil && !strings.Contains(s.Err.Error(), failed) {
		t.Errorf("error %v, want %q", s.Err, failed)
	}
}

func TestWatchFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "poise.yaml")
	put(t, name, "log: {level: info}\n")
	l := open(t, name)
	put(t, name, "log: {level: warn}\n") // between the start and the watch
	reports := watching(t, l)
	level(t, l, reports, "warn", "")
	put(t, name, "log: {level: loud}\n")
	level(t, l, reports, "warn", "loud")
	put(t, name, "log: {level: debug}\n")
	level(t, l, reports, "debug", "")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	level(t, l, reports, "debug", "there is none")
	put(t, name, "log: {level: error}\n")
	level(t, l, reports, "error", "")
	if err := os.WriteFile(name, []byte("log: {level: info}\n"), 0o600); err != nil { // in place
		t.Fatal(err)
	}
	level(t, l, reports, "info", "")
}

// Kubernetes mounts a ConfigMap as links: poise.yaml -> ..data/poise.yaml,
// ..data -> a folder with a time in its name. An update swaps ..data.
func TestWatchConfigMap(t *testing.T) {
	mount := t.TempDir()
	version := func(name, content string) {
		t.Helper()
		if err := os.Mkdir(filepath.Join(mount, name), 0o700); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(mount, name, "poise.yaml"), content)
		if err := os.Symlink(name, filepath.Join(mount, "..data_tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(mount, "..data_tmp"), filepath.Join(mount, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	version("..1", "log: {level: info}\n")
	name := filepath.Join(mount, "poise.yaml")
	if err := os.Symlink(filepath.Join("..data", "poise.yaml"), name); err != nil {
		t.Fatal(err)
	}
	l := open(t, name)
	reports := watching(t, l)
	version("..2", "log: {level: warn}\n")
	level(t, l, reports, "warn", "")
	version("..3", "log: {level: debug}\n")
	level(t, l, reports, "debug", "")
}

func TestWatchNoFile(t *testing.T) {
	l := open(t, "")
	reports := watching(t, l)
	select {
	case s := <-reports:
		t.Errorf("reported %v, want nothing", s)
	default:
	}
}
