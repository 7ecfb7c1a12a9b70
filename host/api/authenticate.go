package api

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/poise-sched/poise/host/access"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// Authenticator tells who a request is from by one kind of evidence, such as a
// token or a certificate. Where the request has none of that kind it gives nil
// and no error, and the next one is asked. Evidence that is not taken is an error
// of kind Denied.
type Authenticator func(*http.Request) (*access.Principal, error)

// Access knows who requests are from.
type Access struct {
	tenancy Tenancy
	tokens  *tokens
	listen  *net.TCPAddr // nil where programs on this machine need a token too
	others  []Authenticator
}

// NewAccess takes tokens, then what the others take, then the socket's own user,
// and at last, while no tenant was created, anybody on this machine: that is if
// listen, the only address beside the socket, is loopback, and there are no others
// to tell people and programs apart by.
func NewAccess(t Tenancy, listen net.Addr, others ...Authenticator) *Access {
	a := &Access{tenancy: t, tokens: newTokens(t, time.Now)}
	for _, other := range others {
		a.others = append(a.others, a.vouched(other))
	}
	if tcp, ok := listen.(*net.TCPAddr); ok && tcp.IP.IsLoopback() && len(others) == 0 {
		a.listen = tcp
	}
	return a
}

// vouched holds what others say of a caller against what there is here: a tenant
// may be gone, or not made yet.
func (a *Access) vouched(by Authenticator) Authenticator {
	return func(r *http.Request) (*access.Principal, error) {
		p, err := by(r)
		if err != nil && poise.KindOf(err) == poise.Denied {
			return nil, unauthorized(err.Error())
		}
		if err == nil && p != nil && p.Tenant != "" && !known(a.tenancy, p.Tenant) {
			return nil, unauthorized(fmt.Sprintf("tenant: %q, which %s is to act for, is not there, expected an administrator to create it", p.Tenant, p.Who))
		}
		return p, err
	}
}

// SingleUser says whether programs on this machine may act without a token now.
func (a *Access) SingleUser() bool { return a.listen != nil && len(a.tenancy.Tenants()) == 0 }

// principal tells who a request is from; nil is nobody that it shows. Who shows
// something that nobody takes is not taken for somebody who shows nothing.
func (a *Access) principal(r *http.Request) (*access.Principal, error) {
	p, err := firstOf(r, append([]Authenticator{a.tokens.principal}, a.others...)...)
	if p != nil || err != nil || len(r.Header.Values("Authorization")) > 0 {
		return p, err
	}
	return firstOf(r, socketPeer, a.neighbour)
}

func firstOf(r *http.Request, kinds ...Authenticator) (*access.Principal, error) {
	for _, kind := range kinds {
		if p, err := kind(r); p != nil || err != nil {
			return p, err
		}
	}
	return nil, nil
}

// neighbour lets programs of this machine act for the built-in tenant while
// there is no other. The name that they call the daemon by must be the
// machine's own, or any web page could reach it by a name of its own, and what
// others let pass from elsewhere is not of this machine.
func (a *Access) neighbour(r *http.Request) (*access.Principal, error) {
	if !a.SingleUser() || !fromLoopback(r) {
		return nil, nil
	}
	return &access.Principal{Who: "local program", Role: access.TenantAdmin, Tenant: poise.DefaultTenant}, nil
}

func fromLoopback(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !from.Addr().Unmap().IsLoopback() {
		return false
	}
	for _, proxied := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"} {
		if len(r.Header.Values(proxied)) > 0 {
			return false
		}
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

// actFor lets a caller act for the tenant that a header names.
func (s *server) actFor(r *http.Request, p access.Principal) (access.Principal, error) {
	names := r.Header.Values(client.TenantHeader)
	if len(names) == 0 {
		return p, nil
	}
	if len(names) > 1 {
		return p, invalid("%s: %d times, expected it once", client.TenantHeader, len(names))
	}
	p, err := p.ActFor(poise.TenantID(names[0]))
	if err == nil && !known(s.backend, p.Tenant) {
		err = noTenant(p.Tenant)
	}
	return p, err
}

// unauthorized is the answer to a request that shows nobody.
func unauthorized(detail string) problem {
	return newProblem(http.StatusUnauthorized, poise.Denied, detail)
}

const howToShow = "expected Bearer and a token, as an administrator gives one and poise login keeps one; on the daemon's machine its own user needs none over the socket"

// anonymous is the answer to a request without any evidence.
func anonymous(r *http.Request) problem {
	if len(r.Header.Values("Authorization")) > 0 {
		return unauthorized("Authorization: no token of this daemon, " + howToShow)
	}
	return unauthorized("Authorization: missing, " + howToShow)
}
