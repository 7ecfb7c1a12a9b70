package telemetry

import (
	"io"
	"log/slog"
	"os"
	"strings"
)

// Logger makes the daemon's log. The format is json, text, or auto: text where w
// is a terminal. The level may change while it is in use, with a slog.LevelVar.
func Logger(w io.Writer, format string, level slog.Leveler) *slog.Logger {
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: redact}
	if format == "text" || format == "auto" && terminal(w) {
		return slog.New(slog.NewTextHandler(w, o))
	}
	return slog.New(slog.NewJSONHandler(w, o))
}

// Level gives the level of a name: debug, info, warn or error. Another name is
// info.
func Level(name string) slog.Level {
	var l slog.Level
	if l.UnmarshalText([]byte(name)) != nil {
		return slog.LevelInfo
	}
	return l
}

// terminal needs no more than to tell a person's screen from a file or a pipe.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Job, Tenant, Decision, Placement and Node give each id its one key, so that a
// log can be searched for all that happened to it.
func Job(id string) slog.Attr { return slog.String("job", id) }

// Tenant is the id of a tenant.
func Tenant(id string) slog.Attr { return slog.String("tenant", id) }

// Decision is the index of a decision in the event log.
func Decision(index uint64) slog.Attr { return slog.Uint64("decision", index) }

// Placement is the id of a placement.
func Placement(id string) slog.Attr { return slog.String("placement", id) }

// Node is the name of a node.
func Node(name string) slog.Attr { return slog.String("node", name) }

// secretWords are what names of secrets have in them.
var secretWords = []string{"token", "secret", "password", "authorization", "cookie", "credential", "private_key", "privatekey"}

const redacted = "[redacted]"

// redact is the last line of defence: a secret should not get into a log call,
// and one that does, under a name that tells or as an Authorization header, is
// not written.
func redact(groups []string, a slog.Attr) slog.Attr {
	for _, name := range append(groups[:len(groups):len(groups)], a.Key) {
		name = strings.ToLower(name)
		for _, word := range secretWords {
			if strings.Contains(name, word) {
				return slog.String(a.Key, redacted)
			}
		}
	}
	if a.Value.Kind() == slog.KindString {
		scheme, _, two := strings.Cut(a.Value.String(), " ")
		if two && (strings.EqualFold(scheme, "bearer") || strings.EqualFold(scheme, "basic")) {
			return slog.String(a.Key, redacted)
		}
	}
	return a
}
