package client

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

func read(t testing.TB, text string) []string {
	t.Helper()
	var got []string
	err := readStream(strings.NewReader(text), func() {}, func(name string, data []byte) error {
		got = append(got, fmt.Sprintf("%s=%s", name, data))
		return nil
	})
	if poise.KindOf(err) != poise.Unavailable {
		t.Errorf("%q ends with %v, expected unavailable", text, err)
	}
	return got
}

func TestReadStream(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		if got := read(t, text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, expected %q", text, got, want)
		}
	}
	f("")
	f("id: 1\nevent: a\ndata: x\n\n", "a=x")
	f("data:x\n\ndata: y\r\n\r\n", "=x", "=y")
	f("data: x\ndata: y\n\n", "=x\ny")
	f(":\n\n: sign of life\n\ndata: x\n\n", "=x")
	f("event: a\n\ndata: x\n\n", "=x") // a name without data is no event
	f("event: a\ndata: half")          // broken off: what is not ended is not told
	f("data\n\n", "=")
}

func TestReadStreamErrors(t *testing.T) {
	own := errors.New("own")
	if err := readStream(strings.NewReader("data: x\n\n"), func() {}, func(string, []byte) error { return own }); err != own {
		t.Errorf("%v, expected what the function gave", err)
	}
	if err := readStream(failing{}, func() {}, nil); !errors.Is(err, io.ErrClosedPipe) || poise.KindOf(err) != poise.Unavailable {
		t.Errorf("%v, expected the reader's", err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

// Whatever comes, reading ends, and what it gave is a beginning of what it gives
// when more comes.
func FuzzReadStream(f *testing.F) {
	f.Add("id: 1\nevent: a\ndata: x\n\n:\n\ndata: y\r\n\r\n", 5)
	f.Add("data\n\ndata: a\ndata: b\n\n", 9)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		all := read(t, text)
		if cut < 0 || cut > len(text) || strings.HasSuffix(text[:cut], "\n") && !strings.HasSuffix(text[:cut], "\n\n") || strings.Contains(text, "\r") {
			return // a line feed that is cut between two is an end of its own
		}
		if some := read(t, text[:cut]); len(some) > len(all) || !slices.Equal(some, all[:len(some)]) {
			t.Fatalf("%q gives %q, and %q its beginning %q", text, all, text[:cut], some)
		}
	})
}

func TestProblemError(t *testing.T) {
	f := func(p Problem, status int, kind poise.Kind, want string) {
		t.Helper()
		err := p.problemError(status)
		if poise.KindOf(err) != kind || err.Error() != want {
			t.Errorf("%+v with %d: %q (%s), expected %q (%s)", p, status, err, poise.KindOf(err), want, kind)
		}
	}
	f(Problem{Type: ProblemBase + "conflict", Detail: "d"}, 409, poise.Conflict, "d")
	f(Problem{Type: ProblemBase + "limit", Detail: "d"}, 500, poise.Limit, "d")
	f(Problem{}, 502, poise.Unavailable, "the daemon answered 502 Bad Gateway") // a proxy's
	f(Problem{}, 404, poise.NotFound, "the daemon answered 404 Not Found")
	f(Problem{}, 418, poise.Invalid, "the daemon answered 418 I'm a teapot")
	f(Problem{}, 401, poise.Denied, "the daemon answered 401 Unauthorized")
	one := ProblemDetail{Message: "expected 2", Location: "body.a.b", Value: 1.0}
	f(Problem{Detail: "d", Errors: []ProblemDetail{one}}, 422, poise.Invalid, "d: a.b: 1: expected 2")
	f(Problem{Detail: "d", Errors: []ProblemDetail{one, {Message: "m"}}}, 422, poise.Invalid, "d:\na.b: 1: expected 2\nm")
}

func TestAddress(t *testing.T) {
	f := func(address, base string) {
		t.Helper()
		c, err := New(address)
		if (err == nil) != (base != "") || err == nil && c.base != base {
			t.Errorf("%q: %+v, %v, expected %q", address, c, err, base)
		}
	}
	f("127.0.0.1:7433", "http://127.0.0.1:7433")
	f("[::1]:7433", "http://[::1]:7433")
	f("http://host/", "http://host")
	f("https://host:1/poise", "https://host:1/poise")
	f("/run/poise.sock", "http://poise")
	f("unix:poise.sock", "http://poise")
	f("./poise.sock", "http://poise")
	f("data/poise.sock", "http://poise")
	f("", "")
	f("unix:", "")
	f("::x", "")
	f("http://host?a=b", "")
	f("ftp://host", "")
}
