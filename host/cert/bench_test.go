package cert

import (
	"crypto/tls"
	"strings"
	"testing"
)

// What a new connection costs, both ends, without a ticket of an earlier one.
func BenchmarkConnect(b *testing.B) {
	d := newDesk(b)
	d.pair(newAuthority(b, "ours").issue("daemon"))
	d.serve(d.options(), hello)
	config := &tls.Config{InsecureSkipVerify: true, ClientSessionCache: tls.NewLRUClientSessionCache(8)}
	for b.Loop() {
		c, err := tls.Dial("tcp", strings.TrimPrefix(d.url, "https://"), config)
		if err != nil {
			b.Fatal(err)
		}
		_ = c.Close()
	}
}
