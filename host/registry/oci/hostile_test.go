package oci

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"oras.land/oras-go/v2/content"

	"github.com/poise-sched/poise/host/poise"
)

// liar is a registry that does what no registry of Debian's can be brought to do.
// It has one plugin under the tag 1, and answers as the hook says first.
type liar struct {
	*httptest.Server
	hook func(w http.ResponseWriter, r *http.Request) bool

	mu   sync.Mutex
	auth []string // Authorization of each request, path before it
}

func (l *liar) host() string { return l.Listener.Addr().String() }

func (l *liar) reference() string { return l.host() + "/a:1" }

func newLiar(t *testing.T, start func(*httptest.Server), hook func(w http.ResponseWriter, r *http.Request) bool) *liar {
	t.Helper()
	a, _, err := pack(sample("1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	l := &liar{hook: hook}
	l.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		l.auth = append(l.auth, r.URL.Path+" "+r.Header.Get("Authorization"))
		l.mu.Unlock()
		if l.hook != nil && l.hook(w, r) {
			return
		}
		for _, b := range append(a.parts, a.manifest) {
			if strings.HasSuffix(r.URL.Path, "/blobs/"+string(b.desc.Digest)) || strings.HasSuffix(r.URL.Path, "/manifests/"+string(b.desc.Digest)) ||
				strings.HasSuffix(r.URL.Path, "/manifests/1") && b.desc.Digest == a.manifest.desc.Digest {
				serveContent(w, b.desc.MediaType, b.data)
				return
			}
		}
		http.NotFound(w, r)
	}))
	l.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that fail are meant to
	start(l.Server)
	t.Cleanup(l.Close)
	return l
}

func serveContent(w http.ResponseWriter, mediaType string, data []byte) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Docker-Content-Digest", string(content.NewDescriptorFromBytes(mediaType, data).Digest))
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data)
}

// seen gives the Authorization headers that a path was asked with.
func (l *liar) seen() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.auth, "\n")
}

func TestLiarTellsTruth(t *testing.T) {
	l := newLiar(t, (*httptest.Server).Start, nil)
	p, _ := mustPull(t, l.reference(), Options{})
	same(t, p, sample("1.0.0"))
}

func TestLies(t *testing.T) {
	a, _, err := pack(sample("1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	f := func(hook func(w http.ResponseWriter, r *http.Request) bool, kind poise.Kind, words ...string) {
		t.Helper()
		l := newLiar(t, (*httptest.Server).Start, hook)
		_, _, err := Pull(t.Context(), l.reference(), Options{})
		refused(t, err, kind, words...)
		if err != nil && len(err.Error()) > 2*mostText {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	}
	// part answers a request for what ends so.
	part := func(suffix string, answer http.HandlerFunc) func(w http.ResponseWriter, r *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, suffix) {
				return false
			}
			answer(w, r)
			return true
		}
	}
	module := "/blobs/" + string(a.parts[1].desc.Digest)
	// manifest serves another manifest under the tag and under its digest.
	manifest := func(text string) func(w http.ResponseWriter, r *http.Request) bool {
		return part("", func(w http.ResponseWriter, _ *http.Request) {
			serveContent(w, a.manifest.desc.MediaType, []byte(text))
		})
	}
	text := string(a.manifest.data)

	// The module.
	f(part(module, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.parts[1].data)))
		_, _ = w.Write(a.parts[1].data[:10])
	}), poise.Invalid, "layer", "unexpected EOF")
	f(part(module, func(w http.ResponseWriter, _ *http.Request) {
		serveContent(w, ModuleType, a.parts[1].data[:10])
	}), poise.Invalid, "layer", "Content-Length")
	f(part(module, func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush() // no length is said
		for range 100 {
			_, _ = w.Write(make([]byte, 1<<20))
		}
	}), poise.Invalid, "layer")
	f(part(module, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(strings.Repeat("x", len(a.parts[1].data))))
	}), poise.Invalid, "layer", "mismatched digest")
	f(part(module, http.NotFound), poise.NotFound, "layer")

	// The manifest.
	size := fmt.Sprintf(`"size":%d`, len(a.parts[1].data))
	f(manifest(strings.Replace(text, size, `"size":23`, 1)), poise.Invalid)
	f(manifest(strings.Replace(text, size, `"size":-1`, 1)), poise.Invalid, "layer: size -1")
	f(manifest(strings.Replace(text, size, `"size":4611686018427387904`, 1)), poise.Limit, "layer: 4611686018427387904 bytes, expected at most 16777216")
	f(manifest(strings.Replace(text, size, `"size":1e400`, 1)), poise.Invalid, "expected JSON")
	f(manifest(strings.Replace(text, `"1.0"`, `"`+strings.Repeat("x", mostManifest)+`"`, 1)), poise.Limit, "manifest:", "expected at most 262144")
	f(manifest(strings.Replace(text, "sha256:", "sha512:", 1)), poise.Invalid, "digest")
	f(manifest(strings.Replace(text, `"artifactType":"`, `"artifactType":"`+strings.Repeat("\\u001b[2J", 10_000), 1)), poise.Invalid, "artifact type")
	f(manifest(strings.Repeat("[", 200_000)), poise.Invalid, "expected JSON")
	f(part("", func(w http.ResponseWriter, _ *http.Request) {
		serveContent(w, "application/vnd.docker.distribution.manifest.v2+json", []byte(text))
	}), poise.Invalid, "media type", "docker.distribution")
	f(part("", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", a.manifest.desc.MediaType)
		w.Header().Set("Docker-Content-Digest", "sha256:../../etc/passwd")
		_, _ = w.Write([]byte(text))
	}), poise.Invalid, "Docker-Content-Digest")
	f(part("/manifests/"+string(a.manifest.desc.Digest), func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", a.manifest.desc.MediaType)
		_, _ = w.Write([]byte(strings.Replace(text, "sample", "simple", 1)))
	}), poise.Invalid, "mismatched digest")

	// Errors.
	f(part(module, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"errors":[{"code":"DENIED","message":"\u001b[2J` + strings.Repeat("x", 7000) + `"}]}`))
	}), poise.Denied, "?[2Jxxx")
	f(part("", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }), poise.Invalid, "418")
}

func TestReferrersLies(t *testing.T) {
	a, _, err := pack(sample("1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := packSignature([]byte("signature"), a.manifest.desc)
	if err != nil {
		t.Fatal(err)
	}
	stray, err := packSignature([]byte("of another"), s.manifest.desc)
	if err != nil {
		t.Fatal(err)
	}
	f := func(index func(r *http.Request) string, check func(Plugin, error)) {
		t.Helper()
		l := newLiar(t, (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/referrers/") {
				w.Header().Set("Link", `</v2/a/referrers/next>; rel="next"`)
				if strings.Contains(index(r), `"last"`) {
					w.Header().Del("Link")
				}
				w.Header().Set("OCI-Filters-Applied", "artifactType")
				serveContent(w, "application/vnd.oci.image.index.v1+json", []byte(index(r)))
				return true
			}
			for _, b := range append(append(s.parts, s.manifest), append(stray.parts, stray.manifest)...) {
				if strings.HasSuffix(r.URL.Path, "/"+string(b.desc.Digest)) {
					serveContent(w, b.desc.MediaType, b.data)
					return true
				}
			}
			return false
		})
		p, _, err := Pull(t.Context(), l.reference(), Options{})
		check(p, err)
	}
	item := func(x artifact) string {
		return fmt.Sprintf(`{"mediaType":%q,"digest":%q,"size":%d}`, x.manifest.desc.MediaType, x.manifest.desc.Digest, x.manifest.desc.Size)
	}
	page := func(items ...string) func(*http.Request) string {
		return func(*http.Request) string {
			return `{"schemaVersion":2,"annotations":{"last":"last"},"manifests":[` + strings.Join(items, ",") + `]}`
		}
	}
	wrong := func(kind poise.Kind, words ...string) func(Plugin, error) {
		return func(_ Plugin, err error) { t.Helper(); refused(t, err, kind, words...) }
	}
	f(page(item(s)), func(p Plugin, err error) {
		if err != nil {
			t.Fatal(err)
		}
		same(t, p, sample("1.0.0", "signature"))
	})
	f(page(item(a)), wrong(poise.Invalid, "signatures", "artifact type"))
	f(page(item(stray)), wrong(poise.Invalid, "signatures", "subject is another artifact"))
	f(page(strings.Replace(item(s), `"size":`, `"size":9`, 1)), wrong(poise.Invalid, "signatures"))
	f(page(strings.Repeat(item(s)+",", mostSignatures)+item(s)), wrong(poise.Limit, "signatures", "more than 16"))
	f(func(*http.Request) string { return `{"schemaVersion":2,"manifests":[]}` }, wrong(poise.Limit, "signatures", "8 pages"))
}

// Credentials go to the registry, and to no other host that it names.
func TestCredentialsStay(t *testing.T) {
	login := Options{DockerConfig: true}
	elsewhere := newLiar(t, (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/token" {
			_, _ = w.Write([]byte(`{"token":"anonymous"}`))
			return true
		}
		return false
	})
	basic := func(answer http.HandlerFunc) *liar {
		return newLiar(t, (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("Authorization") == "" {
				w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
				w.WriteHeader(http.StatusUnauthorized)
				return true
			}
			if answer != nil && strings.Contains(r.URL.Path, "/blobs/") {
				answer(w, r)
				return true
			}
			return false
		})
	}

	// A blob may lie elsewhere: it is read, without credentials.
	l := basic(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
	})
	dockerConfig(t, auths(l.host(), "ann", "secret"))
	if _, _, err := Pull(t.Context(), l.reference(), login); err != nil {
		t.Error(err)
	}
	if !strings.Contains(l.seen(), "Basic ") || !strings.Contains(elsewhere.seen(), "/blobs/") || strings.Contains(elsewhere.seen(), "Basic") {
		t.Errorf("registry:\n%s\nelsewhere:\n%s\nexpected credentials in the first only", l.seen(), elsewhere.seen())
	}

	// A place to upload to is at the registry, or nowhere.
	l = basic(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.Header().Set("Location", elsewhere.URL+"/upload")
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	})
	dockerConfig(t, auths(l.host(), "ann", "secret"))
	_, err := Push(t.Context(), l.host()+"/a:2", sample("2"), login)
	refused(t, err, poise.Invalid, "different host")

	// A token is asked for where the registry says: with credentials only if that
	// is a host of its own, or one that was named.
	bearer := func(realm string) *liar {
		return newLiar(t, (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
				return false
			}
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm=%q,service="x"`, realm))
			w.WriteHeader(http.StatusUnauthorized)
			return true
		})
	}
	l = bearer(elsewhere.URL + "/token")
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	if _, _, err := Pull(t.Context(), l.reference(), login); err != nil {
		t.Errorf("without credentials: %v", err)
	}
	f := func(config string) {
		t.Helper()
		dockerConfig(t, config)
		_, _, err = Pull(t.Context(), l.reference(), login)
		refused(t, err, poise.Denied, "wants its credentials sent to", elsewhere.host(), "token host that was named")
		if strings.Contains(elsewhere.seen(), "Basic") || strings.Contains(elsewhere.seen(), "upload") {
			t.Errorf("elsewhere was asked\n%s\nexpected no credentials", elsewhere.seen())
		}
	}
	f(auths(l.host(), "ann", "secret"))
	f(fmt.Sprintf(`{"auths":{%q:{"identitytoken":"long-lived"}}}`, l.host()))
	dockerConfig(t, auths(l.host(), "ann", "secret"))
	if _, _, err := Pull(t.Context(), l.reference(), Options{DockerConfig: true, TokenHosts: []string{elsewhere.host()}}); err != nil {
		t.Errorf("with the host named: %v", err)
	}
	if !strings.Contains(elsewhere.seen(), "/token Basic ") {
		t.Errorf("elsewhere was asked\n%s\nexpected credentials, for the host was named", elsewhere.seen())
	}
	// The cloud's address of a machine's own secrets is no token server.
	l = bearer("http://169.254.169.254/token")
	_, _, err = Pull(t.Context(), l.reference(), login)
	refused(t, err, poise.Invalid, "169.254.169.254")
}

// What began with TLS stays with TLS.
func TestTLS(t *testing.T) {
	plain := newLiar(t, (*httptest.Server).Start, nil)
	var redirect bool
	l := newLiar(t, (*httptest.Server).StartTLS, func(w http.ResponseWriter, r *http.Request) bool {
		if redirect {
			http.Redirect(w, r, plain.URL+r.URL.Path, http.StatusTemporaryRedirect)
		}
		return redirect
	})
	r, err := parseRef(l.reference())
	if err != nil {
		t.Fatal(err)
	}
	no := false
	from, err := openRemote(r, Options{PlainHTTP: &no}, l.Client().Transport)
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := read(t.Context(), from, r, Options{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, p, sample("1.0.0"))
	redirect = true
	_, _, err = read(t.Context(), from, r, Options{})
	refused(t, err, poise.Denied, "sends to", plain.URL, "expected https")
	if got := plain.seen(); got != "" {
		t.Errorf("the plain server was asked\n%s", got)
	}
	_, _, err = Pull(t.Context(), l.reference(), Options{PlainHTTP: &no})
	refused(t, err, poise.Unavailable, "certificate")
}

// A registry that is busy for a moment is asked again.
func TestBusy(t *testing.T) {
	var asked atomic.Int32
	l := newLiar(t, (*httptest.Server).Start, func(w http.ResponseWriter, _ *http.Request) bool {
		busy := asked.Add(1)%2 == 1
		if busy {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return busy
	})
	p, _ := mustPull(t, l.reference(), Options{})
	same(t, p, sample("1.0.0"))
}

// A registry that never answers is left when ctx ends.
func TestSilent(t *testing.T) {
	l := newLiar(t, (*httptest.Server).Start, func(_ http.ResponseWriter, r *http.Request) bool {
		<-r.Context().Done()
		return true
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, _, err := Pull(ctx, l.reference(), Options{})
	refused(t, err, poise.Unavailable, "deadline")
}

func TestTrusts(t *testing.T) {
	f := func(want bool, home, target string, also ...string) {
		t.Helper()
		u, err := http.NewRequest(http.MethodGet, target, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&guard{home: home, also: also}).trusts(u.URL); got != want {
			t.Errorf("credentials of %s to %s: %v, expected %v", home, target, got, want)
		}
	}
	f(true, "r.example.org", "https://r.example.org/token")
	f(true, "r.example.org", "https://R.Example.org/token")
	f(true, "r.example.org:5000", "https://r.example.org/token")
	f(true, "registry.example.org", "https://example.org/jwt")
	f(true, "example.org", "https://auth.example.org/jwt")
	f(true, "registry-1.docker.io", "https://auth.docker.io/token")
	f(true, "r.example.org", "https://auth.example.com/token", "auth.example.com")
	f(true, "127.0.0.1:5000", "http://127.0.0.1:5000/token")
	f(false, "registry.example.org", "https://auth.example.org/token")
	f(false, "r.example.org", "https://evil.org/token")
	f(false, "r.example.org", "https://r.example.org.evil.org/token")
	f(false, "example.org", "https://notexample.org/token")
	f(false, "r.example.org:5000", "http://r.example.org:5001/token")
	f(false, "127.0.0.1:5000", "http://127.0.0.1:5001/token")
	f(false, "10.0.0.1", "https://0.0.1/token")
}
