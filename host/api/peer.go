package api

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"

	"github.com/poise-sched/poise/host/access"
)

type peerKey struct{}

// peer is the user at the other end of a Unix socket.
type peer struct {
	uid   int
	known bool // false where the system does not tell: there the mode of the socket decides alone
	err   error
}

// withPeer notes who is at the other end of a connection.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return ctx
	}
	return context.WithValue(ctx, peerKey{}, peerOf(u))
}

// socketPeer lets the daemon's own user and root administer over the socket.
func socketPeer(r *http.Request) (*access.Principal, error) {
	p, ok := r.Context().Value(peerKey{}).(peer)
	if !ok {
		return nil, nil
	}
	if p.err != nil {
		return nil, unauthorized("socket: the system does not say who calls, expected it to")
	}
	who := "socket"
	if p.known {
		if p.uid != os.Geteuid() && p.uid != 0 {
			return nil, unauthorized(fmt.Sprintf("socket: user %d, expected the daemon's own user or root, or a token", p.uid))
		}
		who = "user " + strconv.Itoa(p.uid)
	}
	local := access.Local(who)
	return &local, nil
}
