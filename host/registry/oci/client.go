package oci

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/poise-sched/poise/host/poise"
)

// mostPages bounds how many pages of referrers a registry can make us read.
const mostPages = 8

// openRemote gives a client of a repository. base sends its requests.
func openRemote(r ref, o Options, base http.RoundTripper) (*remote.Repository, error) {
	repo := &remote.Repository{
		Reference:            r.remote,
		PlainHTTP:            plainHTTP(r.remote.Host(), o),
		ReferrerListMaxPages: mostPages,
		// Registries often forbid to delete. An index of referrers that another has
		// replaced is left to their garbage collection.
		SkipReferrersGC: true,
	}
	client := &auth.Client{
		Client: &http.Client{Transport: retry.NewTransport(&guard{
			base: base, home: r.remote.Host(), plain: repo.PlainHTTP, also: o.TokenHosts,
		})},
		Header: http.Header{"User-Agent": {"poise"}},
		Cache:  auth.NewCache(),
	}
	if o.DockerConfig {
		store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
		if err != nil {
			return nil, fmt.Errorf("read the Docker config file: %w", err)
		}
		get := credentials.Credential(store)
		client.Credential = func(ctx context.Context, hostport string) (auth.Credential, error) {
			c, err := get(ctx, hostport)
			if err != nil {
				err = &poise.Error{Kind: poise.Denied, Op: fmt.Sprintf("credentials of %q from %s", hostport, store.ConfigPath()), Err: err}
			}
			return c, err
		}
	}
	repo.Client = client
	return repo, nil
}

func transport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = 64 << 10
	return t
}

// plainHTTP says whether a registry is spoken to without TLS.
func plainHTTP(host string, o Options) bool {
	if o.PlainHTTP != nil {
		return *o.PlainHTTP
	}
	name := (&url.URL{Host: host}).Hostname()
	addr, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && addr.IsLoopback()
}

// guard lets credentials go to the registry and to token servers that belong to
// it, and nothing over plain HTTP that began with TLS. oras-go takes credentials
// off redirects, but asks any public host for a token that a registry names, and
// with it hands over the password.
type guard struct {
	base  http.RoundTripper
	home  string // host:port, or host, of the registry
	plain bool   // it is spoken to without TLS
	also  []string
}

// RoundTrip sends a request, or refuses to.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if !g.plain && req.URL.Scheme != "https" {
		return nil, &poise.Error{Kind: poise.Denied, Detail: fmt.Sprintf("registry %s: sends to %s, expected https", g.home, origin(req.URL))}
	}
	// A token is asked for by a form that holds a password too.
	form := req.Method == http.MethodPost && req.Header.Get("Content-Type") == "application/x-www-form-urlencoded"
	if (req.Header.Get("Authorization") != "" || form) && !g.trusts(req.URL) {
		return nil, &poise.Error{Kind: poise.Denied, Detail: fmt.Sprintf(
			"registry %s: wants its credentials sent to %s, expected the registry itself or a token host that was named", g.home, origin(req.URL))}
	}
	return g.base.RoundTrip(req)
}

func origin(u *url.URL) string { return fmt.Sprintf("%.200q", u.Scheme+"://"+u.Host) }

// trusts says whether credentials of the registry may go to a URL: to the
// registry, to what the user named, and, where a certificate proves the name, to
// another port of the registry's host, or to a domain above or below it, whose
// owner could take the registry's name anyway.
func (g *guard) trusts(u *url.URL) bool {
	if strings.EqualFold(u.Host, g.home) || slices.Contains(g.also, u.Host) || slices.Contains(g.also, u.Hostname()) {
		return true
	}
	if u.Scheme != "https" {
		return false
	}
	home, name := strings.ToLower((&url.URL{Host: g.home}).Hostname()), strings.ToLower(u.Hostname())
	if home == "registry-1.docker.io" && name == "auth.docker.io" {
		return true
	}
	if _, err := netip.ParseAddr(home); err == nil {
		return home == name
	}
	return home == name || strings.HasSuffix(home, "."+name) || strings.HasSuffix(name, "."+home)
}
