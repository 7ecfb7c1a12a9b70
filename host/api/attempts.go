package api

import (
	"net/http"
	"net/netip"
	"sync"

	"golang.org/x/time/rate"
)

const (
	// An address may show so many unknown tokens at once, and one more a second.
	maxAttempts    = 10
	attemptsSecond = 1
	// maxOrigins bounds the addresses that are counted.
	maxOrigins = 4096
	// siteBits is how much of an IPv6 address one customer has.
	siteBits = 64
)

// attempts counts the unknown tokens that addresses show.
type attempts struct {
	mu   *sync.Mutex
	from map[string]*rate.Limiter
}

func newAttempts() attempts {
	return attempts{mu: new(sync.Mutex), from: map[string]*rate.Limiter{}}
}

// origin is where a request is from, as far as attempts go.
func origin(r *http.Request) string {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return "" // the socket
	}
	a := at.Addr().Unmap()
	if a.Is6() {
		if p, err := a.WithZone("").Prefix(siteBits); err == nil {
			return p.String()
		}
	}
	return a.String()
}

// failed counts one, and says whether that is within what is let pass.
func (a attempts) failed(from string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.from[from]
	if l == nil {
		if len(a.from) >= maxOrigins {
			for other := range a.from {
				delete(a.from, other)
				break
			}
		}
		l = rate.NewLimiter(attemptsSecond, maxAttempts)
		a.from[from] = l
	}
	return l.Allow()
}

// tooMany says whether one more would be beyond it.
func (a attempts) tooMany(from string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.from[from]
	return l != nil && l.Tokens() < 1
}
