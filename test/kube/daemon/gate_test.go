package daemon

import (
	"bytes"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

// gate stands between a daemon and the API server, and sees which rights are used
// and which are refused. What it lets through is unchanged.
type gate struct {
	server *httptest.Server

	mu      sync.Mutex
	used    map[string]bool // by right, such as "create pods/binding"
	refused map[string]bool
	twice   map[string]bool // the next use of these is sent twice, as a balancer does that lost an answer
}

func newGate(t *testing.T, to *rest.Config) *gate {
	t.Helper()
	g := &gate{used: map[string]bool{}, refused: map[string]bool{}, twice: map[string]bool{}}
	g.server = front(t, to, g.pass, func(r *http.Response) {
		if !fenceProbe(r.Request.URL) {
			g.note(rightOf(r.Request.Method, r.Request.URL), r.StatusCode == http.StatusForbidden)
		}
	})
	return g
}

// pass lets a request through, twice where that is due.
func (g *gate) pass(w http.ResponseWriter, r *http.Request, on http.Handler) {
	right := rightOf(r.Method, r.URL)
	g.mu.Lock()
	twice := g.twice[right] && !fenceProbe(r.URL)
	g.twice[right] = g.twice[right] && !twice
	g.mu.Unlock()
	if twice {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			r.Body = io.NopCloser(bytes.NewReader(body))
			on.ServeHTTP(httptest.NewRecorder(), r)
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
	}
	on.ServeHTTP(w, r)
}

func (g *gate) note(right string, refused bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.used[right] = true
	if refused {
		g.refused[right] = true
	}
}

// anew forgets what was seen, and has the next use of some rights sent twice.
func (g *gate) anew(twice ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.used)
	clear(g.refused)
	g.twice = map[string]bool{}
	for _, right := range twice {
		g.twice[right] = true
	}
}

func (g *gate) hasUsed(right string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.used[right]
}

func (g *gate) hasRefused(right string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refused[right]
}

// fenceProbe says whether a request asks for what a fence refuses, whatever the rights are.
func fenceProbe(at *url.URL) bool { return strings.HasSuffix(at.Path, "/pods/poise-fence/binding") }

// rightOf gives the right that a request takes.
func rightOf(method string, at *url.URL) string {
	path, core := strings.CutPrefix(at.Path, "/api/v1/")
	if !core {
		groups := strings.SplitN(at.Path, "/", 5) // "", apis, group, version, rest
		if len(groups) < 5 {
			return method + " " + at.Path
		}
		path = groups[4]
	}
	parts := strings.Split(path, "/")
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	what := parts[0]
	if len(parts) > 2 {
		what += "/" + parts[2]
	}
	verb := map[string]string{http.MethodPost: "create", http.MethodPatch: "patch", http.MethodPut: "update", http.MethodDelete: "delete"}[method]
	switch {
	case verb != "":
	case method == http.MethodGet && len(parts) > 1:
		verb = "get"
	case method == http.MethodGet && at.Query().Get("watch") != "":
		verb = "watch"
	case method == http.MethodGet:
		verb = "list"
	default:
		verb = method
	}
	return verb + " " + what
}

// servePod starts a daemon as the Deployment does and waits until it answers.
func servePod(t *testing.T, dir string, g *gate, token string, more ...string) *program {
	t.Helper()
	p := launchPod(t, dir, g, token, more...)
	p.answers()
	return p
}

// launchPod starts a daemon as the Deployment does, with the configuration of the
// manifests, in a file system where it finds a service account's token and the
// address of the API server as in a pod.
func launchPod(t *testing.T, dir string, g *gate, token string, more ...string) *program {
	t.Helper()
	name, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	account := t.TempDir()
	host, port, err := net.SplitHostPort(g.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var config v1.ConfigMap
	manifest(t, "configmap.yaml", &config)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: g.server.Certificate().Raw})
	for file, text := range map[string]string{"token": token, "ca.crt": string(ca), "namespace": "poise", "poise.yaml": config.Data["poise.yaml"]} {
		if err := os.WriteFile(filepath.Join(account, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const pod = `mount -t tmpfs none /run && mkdir -p /run/secrets/kubernetes.io/serviceaccount &&
cp "$0"/token "$0"/ca.crt "$0"/namespace /run/secrets/kubernetes.io/serviceaccount && exec "$@"`
	args := append([]string{
		"-rm", "sh", "-c", pod, account,
		name, "serve", "--file", filepath.Join(account, "poise.yaml"), "--data-dir", dir, "--api.listen", "127.0.0.1:0", "--queue.retry-base", "50ms", "--cluster.home-lease", "3s",
	}, more...)
	cmd := exec.Command("unshare", args...)
	cmd.Env = append(os.Environ(), "KUBERNETES_SERVICE_HOST="+host, "KUBERNETES_SERVICE_PORT="+port)
	return launch(t, name, dir, cmd)
}
