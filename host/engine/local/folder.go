//go:build linux

package local

import (
	"net/url"
	"strings"
)

// folderName gives the name of a placement's folder: one path element that is
// not . or .. and does not begin with a dot, different for every placement.
func folderName(placement string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(placement) {
		c := placement[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}

// placementOf is the inverse of folderName, false for names that it never gives.
func placementOf(name string) (string, bool) {
	p, err := url.PathUnescape(name)
	return p, err == nil && p != "" && folderName(p) == name
}
