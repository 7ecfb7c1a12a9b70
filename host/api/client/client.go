package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/poise-sched/poise/host/poise"
)

// patience is how long a call that is no stream may take where its context has
// no deadline.
const patience = time.Minute

// Client calls one daemon. It is safe for use by several goroutines.
type Client struct {
	address string // as a person reads it
	base    string
	http    *http.Client
	secure  bool
	token   string                                // shown with each request, "" = none
	fresh   func(context.Context) (string, error) // gives it instead, nil = it does not change
	tenant  string                                // that requests are for, "" = the token's
}

// New gives a client of the daemon at an address: host:port, an http or https
// URL, or the path of a Unix socket, with or without unix: before it.
func New(address string) (*Client, error) {
	path, unix := strings.CutPrefix(address, "unix:")
	if unix || strings.HasPrefix(address, ".") || strings.Contains(address, "/") && !strings.Contains(address, "://") {
		if path == "" {
			return nil, addressError(address)
		}
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
		return &Client{address: path, base: "http://poise", secure: true, http: &http.Client{Transport: &http.Transport{DialContext: dial}}}, nil
	}
	base := address
	if !strings.Contains(address, "://") {
		base = "http://" + address
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, addressError(address)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	return &Client{address: address, base: strings.TrimSuffix(base, "/"), secure: u.Scheme == "https" || loopback(u.Hostname()), http: &http.Client{Transport: transport}}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func addressError(address string) error {
	return &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("address: %q, expected host:port, an http URL or the path of a socket", address)}
}

// Close gives up the connections that are kept open between calls.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// call is one request.
type call struct {
	method, path string
	query        url.Values
	header       http.Header
	body         any // nil = none
}

// at gives a path from parts; each is one segment, whatever it holds.
func at(parts ...string) string {
	var b strings.Builder
	b.WriteString("/v1")
	for _, p := range parts {
		p = url.PathEscape(p)
		if p == "." || p == ".." { // a name here, and no step up or down
			p = strings.ReplaceAll(p, ".", "%2E")
		}
		b.WriteString("/" + p)
	}
	return b.String()
}

// send sends a request and gives the answer if it is a success.
func (c *Client) send(ctx context.Context, q call) (*http.Response, error) {
	var body io.Reader
	if q.body != nil {
		text, err := json.Marshal(q.body)
		if err != nil {
			return nil, &poise.Error{Kind: poise.Internal, Op: "write request", Err: err}
		}
		body = bytes.NewReader(text)
	}
	target := c.base + q.path
	if len(q.query) > 0 {
		target += "?" + q.query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, q.method, target, body)
	if err != nil {
		return nil, addressError(c.address)
	}
	for name, values := range q.header {
		r.Header[name] = values
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	token := c.token
	if c.fresh != nil {
		if token, err = c.fresh(ctx); err != nil {
			return nil, err
		}
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if c.tenant != "" {
		r.Header.Set(TenantHeader, c.tenant)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if answer.StatusCode >= 400 {
		defer answer.Body.Close()
		return nil, failure(answer)
	}
	return answer, nil
}

// maxProblem bounds what is read of a problem in bytes.
const maxProblem = 1 << 20

func failure(answer *http.Response) error {
	var p Problem
	if text, err := io.ReadAll(io.LimitReader(answer.Body, maxProblem)); err == nil {
		_ = json.Unmarshal(text, &p) // without a problem, the status says it
		if answer.StatusCode == http.StatusBadRequest && bytes.Contains(text, []byte("HTTP request to an HTTPS server")) {
			p.Detail = "the daemon speaks TLS at this address, expected an https URL"
		}
	}
	return p.problemError(answer.StatusCode)
}

func (c *Client) unreachable(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return &poise.Error{Kind: poise.Unavailable, Op: fmt.Sprintf("call the daemon at %s", c.address), Err: cause}
	}
	detail := fmt.Sprintf("daemon is not reachable at %s", c.address)
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) {
		return &poise.Error{Kind: poise.Unavailable, Detail: detail + ": start it with poise serve"}
	}
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	if why := distrusted(err); why != "" {
		return &poise.Error{Kind: poise.Denied, Op: c.address, Detail: why, Err: err}
	}
	return &poise.Error{Kind: poise.Unavailable, Detail: detail, Err: err}
}

// do sends a request and reads the answer into one value; nil = there is none.
func (c *Client) do(ctx context.Context, q call, into any) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	answer, err := c.send(ctx, q)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		return &poise.Error{Kind: poise.Unavailable, Op: fmt.Sprintf("read the answer of the daemon at %s", c.address), Err: err}
	}
	return nil
}

// get reads what is at a path.
func get[T any](ctx context.Context, c *Client, query url.Values, parts ...string) (T, error) {
	var v T
	err := c.do(ctx, call{method: http.MethodGet, path: at(parts...), query: query}, &v)
	return v, err
}

// post sends body, nil = none, to a path and reads the answer.
func post[T any](ctx context.Context, c *Client, body any, parts ...string) (T, error) {
	var v T
	err := c.do(ctx, call{method: http.MethodPost, path: at(parts...), body: body}, &v)
	return v, err
}

// params gives query parameters of name and value pairs, empty ones left out.
func params(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			v.Set(pairs[i], pairs[i+1])
		}
	}
	return v
}

// number prints a parameter; 0 is "", which is none.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
