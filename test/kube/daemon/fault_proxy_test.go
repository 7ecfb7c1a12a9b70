package daemon

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// fault is what happens to one request. The zero fault lets it through.
type fault struct {
	before time.Duration // it reaches the API server so much later
	code   int           // the API server does not get it: this is the answer, by its HTTP status
	lose   bool          // nor is there an answer: the connection ends
	drop   bool          // the API server does it, and the connection ends in place of an answer
	cut    time.Duration // of a watch: it ends after so long
}

// call is a request as a plan sees it.
type call struct {
	right string // such as "create pods/binding"
	path  string
	nth   int // of those of its right and path, from 0
}

// proxy stands between a daemon and the API server, and has things go wrong: by a
// plan, and all of it at once by hold and down. Clients speak to it as to an API
// server, by TLS and HTTP/2.
type proxy struct {
	t      *testing.T
	server *httptest.Server
	token  string

	mu    sync.Mutex
	plan  func(call) fault // nil: all is let through
	nth   map[call]int     // so many calls of a right and path
	did   map[string]int   // so many faults of a kind
	held  chan struct{}    // closed when watches flow again; nil where they flow
	isOff bool
	ends  map[*context.CancelFunc]bool // of what is under way
}

func newProxy(t *testing.T, to *rest.Config) *proxy {
	t.Helper()
	p := &proxy{t: t, token: to.BearerToken, nth: map[call]int{}, did: map[string]int{}, ends: map[*context.CancelFunc]bool{}}
	p.server = front(t, to, p.pass, func(r *http.Response) {
		if r.Request.URL.Query().Get("watch") != "" {
			r.Body = &flow{ReadCloser: r.Body, ctx: r.Request.Context(), proxy: p}
		}
	})
	t.Cleanup(func() { // before the server, which waits for what is under way
		p.down(true)
		p.hold(false)
	})
	return p
}

// kubeconfig writes a file with which a daemon goes through the proxy.
func (p *proxy) kubeconfig() string {
	p.t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["proxy"] = &clientcmdapi.Cluster{
		Server: p.server.URL, CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw}),
	}
	config.AuthInfos["user"] = &clientcmdapi.AuthInfo{Token: p.token}
	config.Contexts["proxy"] = &clientcmdapi.Context{Cluster: "proxy", AuthInfo: "user"}
	config.CurrentContext = "proxy"
	name := filepath.Join(p.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, name); err != nil {
		p.t.Fatal(err)
	}
	return name
}

// by sets what goes wrong from now on.
func (p *proxy) by(plan func(call) fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan = plan
}

// hold has the watches that are open say nothing, or go on.
func (p *proxy) hold(held bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case held && p.held == nil:
		p.held = make(chan struct{})
	case !held && p.held != nil:
		close(p.held)
		p.held = nil
	}
}

// down ends all that is under way and refuses what comes, or serves again.
func (p *proxy) down(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isOff = down
	if down {
		p.cutAll()
	}
}

// cutWatches ends all that is under way, and with it each watch. The next watch of
// each resource is told that its version is too old.
func (p *proxy) cutWatches() {
	p.mu.Lock()
	defer p.mu.Unlock()
	expired := map[string]bool{}
	before := p.plan
	p.plan = func(c call) fault {
		if strings.HasPrefix(c.right, "watch ") && !expired[c.right] {
			expired[c.right] = true
			return fault{code: http.StatusGone}
		}
		if before == nil {
			return fault{}
		}
		return before(c)
	}
	p.cutAll()
}

// cutAll ends what is under way; the lock is held.
func (p *proxy) cutAll() {
	for end := range p.ends {
		(*end)()
	}
}

// times gives how often a right was used on a path with a part.
func (p *proxy) times(right, part string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := 0
	for c, n := range p.nth {
		if c.right == right && strings.Contains(c.path, part) {
			all += n
		}
	}
	return all
}

// faults gives how often what went wrong.
func (p *proxy) faults(kind string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.did[kind]
}

// draw gives what is to happen to a request.
func (p *proxy) draw(r *http.Request) (fault, bool) {
	c := call{right: rightOf(r.Method, r.URL), path: r.URL.Path}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isOff {
		return fault{}, false
	}
	n := p.nth[c]
	p.nth[c]++
	if p.plan == nil {
		return fault{}, true
	}
	c.nth = n
	f := p.plan(c)
	for kind, is := range map[string]bool{"late": f.before > 0, "refused": f.code != 0, "lost": f.lose, "dropped": f.drop, "cut": f.cut > 0} {
		if is {
			p.did[kind]++
		}
	}
	return f, true
}

// pass has a request go through, or wrong.
func (p *proxy) pass(w http.ResponseWriter, r *http.Request, next http.Handler) {
	f, on := p.draw(r)
	if !on || f.lose {
		panic(http.ErrAbortHandler)
	}
	ctx, end := context.WithCancel(r.Context())
	defer end()
	p.mu.Lock()
	p.ends[&end] = true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.ends, &end)
		p.mu.Unlock()
	}()
	if f.code != 0 {
		refuse(w, f.code)
		return
	}
	if f.before > 0 {
		// Who waits for the answer may give up. The request is on its way all the same.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		ctx = context.WithoutCancel(ctx)
		time.Sleep(f.before)
	}
	if f.cut > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, f.cut)
		defer stop()
	}
	if f.drop {
		next.ServeHTTP(httptest.NewRecorder(), r.WithContext(context.WithoutCancel(ctx)))
		panic(http.ErrAbortHandler)
	}
	next.ServeHTTP(w, r.WithContext(ctx))
}

// refuse answers as an API server does that cannot or will not.
func refuse(w http.ResponseWriter, code int) {
	reason := map[int]metav1.StatusReason{
		http.StatusGone: metav1.StatusReasonExpired, http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests,
		http.StatusInternalServerError: metav1.StatusReasonInternalError, http.StatusGatewayTimeout: metav1.StatusReasonTimeout,
	}[code]
	w.Header().Set("Content-Type", "application/json")
	if code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{ // the client may have gone
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: reason, Code: int32(code), Message: "by the proxy",
	})
}

// flow is what a watch says, as long as it may.
type flow struct {
	io.ReadCloser
	ctx   context.Context
	proxy *proxy
}

func (f *flow) Read(b []byte) (int, error) {
	n, err := f.ReadCloser.Read(b)
	for {
		f.proxy.mu.Lock()
		held := f.proxy.held
		f.proxy.mu.Unlock()
		if held == nil {
			return n, err
		}
		select {
		case <-held:
		case <-f.ctx.Done():
			return 0, f.ctx.Err()
		}
	}
}
