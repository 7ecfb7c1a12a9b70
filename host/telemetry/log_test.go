package telemetry_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/telemetry"
)

func TestFormat(t *testing.T) {
	f := func(format string, isJSON bool) {
		t.Helper()
		var b bytes.Buffer
		telemetry.Logger(&b, format, slog.LevelInfo).Info("placed", telemetry.Job("j1"), telemetry.Tenant("red"),
			telemetry.Decision(7), telemetry.Placement("p1"), telemetry.Node("n1"))
		var line map[string]any
		if err := json.Unmarshal(b.Bytes(), &line); (err == nil) != isJSON {
			t.Fatalf("%s: wrote %s", format, b.String())
		}
		if isJSON {
			for key, want := range map[string]any{"msg": "placed", "job": "j1", "tenant": "red", "decision": 7.0, "placement": "p1", "node": "n1"} {
				if line[key] != want {
					t.Errorf("%s: %v, want %v", key, line[key], want)
				}
			}
			return
		}
		if want := "msg=placed job=j1 tenant=red decision=7 placement=p1 node=n1\n"; !strings.HasSuffix(b.String(), want) {
			t.Errorf("wrote %s, want %s", b.String(), want)
		}
	}
	f("json", true)
	f("text", false)
	f("auto", true) // a buffer is no terminal
}

// auto writes JSON to a file, which is an *os.File and no terminal either.
func TestAutoFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	w, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	telemetry.Logger(w, "auto", slog.LevelInfo).Info("x")
	b, err := os.ReadFile(name)
	if err != nil || !json.Valid(b) {
		t.Errorf("wrote %s, %v, want JSON", b, err)
	}
}

func TestLevel(t *testing.T) {
	var b bytes.Buffer
	var level slog.LevelVar
	log := telemetry.Logger(&b, "text", &level)
	f := func(name string, lines int) {
		t.Helper()
		b.Reset()
		level.Set(telemetry.Level(name))
		log.Debug("m")
		log.Info("m")
		log.Warn("m")
		log.Error("m")
		if got := strings.Count(b.String(), "\n"); got != lines {
			t.Errorf("%s: %d lines, want %d", name, got, lines)
		}
	}
	f("debug", 4)
	f("info", 3)
	f("warn", 2)
	f("error", 1)
	f("nonsense", 3)
}

type login struct{ Token string }

func (l login) LogValue() slog.Value {
	return slog.GroupValue(slog.String("user", "ann"), slog.String("token", l.Token))
}

func TestSecrets(t *testing.T) {
	const secret = "hunter2"
	f := func(shown bool, args ...any) {
		t.Helper()
		for _, format := range []string{"json", "text"} {
			var b bytes.Buffer
			log := telemetry.Logger(&b, format, slog.LevelInfo)
			log.Info("m", args...)
			log.With(args...).Info("m")
			log.WithGroup("g").Info("m", args...)
			if got := strings.Contains(b.String(), secret); got != shown {
				t.Errorf("%v: shown %v, want %v:\n%s", args, got, shown, b.String())
			}
			if !shown && strings.Count(b.String(), "[redacted]") != 3 {
				t.Errorf("%v: not marked as redacted:\n%s", args, b.String())
			}
		}
	}
	f(true, "job", secret)
	f(false, "token", secret)
	f(false, "API_Token", secret)
	f(false, "password", []byte(secret))
	f(false, "client_secret", struct{ S string }{secret})
	f(false, slog.Group("Authorization", slog.String("value", secret)))
	f(false, "header", "Bearer "+secret)
	f(false, "header", "basic "+secret)
	f(false, "login", login{secret})
}
