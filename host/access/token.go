package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"

	"github.com/poise-sched/poise/host/poise"
)

const (
	idBytes, secretBytes = 6, 32

	// RandomBytes is how many random bytes Mint makes a token of.
	RandomBytes = idBytes + secretBytes

	// prefix lets a token be told from other secrets, by people and by scanners.
	prefix = "poise_"
)

// Token is what is kept of a token. It says who may show it, and not the secret:
// that has 256 random bits, so it cannot be guessed from its SHA-256 at any
// speed, and a slow hash, which is for passwords that people choose, would only
// make every request slow.
type Token struct {
	ID      string // 12 hexadecimal digits, no secret
	Hash    [sha256.Size]byte
	Tenant  poise.TenantID // "" with a global role
	Role    Role
	Name    string     // what people call it
	Created poise.Time // ms since the Unix epoch, as the others
	Expires poise.Time // it is valid before; 0 = it does not expire
	Revoked poise.Time // 0 = it is not
}

// maxName bounds the name of a token in bytes.
const maxName = 63

// Mint makes a token of random bytes that nobody else has. The text is for its
// owner and cannot be had again.
func Mint(random [RandomBytes]byte) (text string, t Token) {
	t.ID = hex.EncodeToString(random[:idBytes])
	secret := hex.EncodeToString(random[idBytes:])
	t.Hash = sha256.Sum256([]byte(secret))
	return prefix + t.ID + "_" + secret, t
}

// Ours says whether a text is meant to be a token of this kind.
func Ours(text string) bool { return strings.HasPrefix(text, prefix) }

// ParseToken takes a text apart; ok is false where it is not just as Mint wrote
// it.
func ParseToken(text string) (id, secret string, ok bool) {
	rest, ok := strings.CutPrefix(text, prefix)
	if !ok || len(rest) != 2*idBytes+1+2*secretBytes || rest[2*idBytes] != '_' {
		return "", "", false
	}
	id, secret = rest[:2*idBytes], rest[2*idBytes+1:]
	if !digits(id) || !digits(secret) {
		return "", "", false
	}
	return id, secret, true
}

func digits(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Shows says whether secret is that of the token, in a time that tells nothing
// of it.
func (t *Token) Shows(secret string) bool {
	sum := sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(sum[:], t.Hash[:]) == 1
}

// Valid refuses a token that is revoked or has expired.
func (t *Token) Valid(now poise.Time) error {
	switch {
	case t.Revoked != 0:
		return &poise.Error{Kind: poise.Denied, Detail: "token: it was revoked, expected another"}
	case t.Expires != 0 && now >= t.Expires:
		return &poise.Error{Kind: poise.Denied, Detail: "token: it has expired, expected a new one"}
	}
	return nil
}

// Principal is whoever shows the token.
func (t *Token) Principal() Principal {
	who := "token " + t.ID
	if t.Name != "" {
		who += " (" + t.Name + ")"
	}
	return Principal{Who: who, Role: t.Role, Tenant: t.Tenant}
}

// ValidateName refuses a name of a token that is long, or that could pass for
// something else on a terminal.
func ValidateName(name string) error {
	odd := strings.ContainsFunc(name, func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) })
	if len(name) > maxName || odd {
		return &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("name: %.80q, expected at most %d bytes that can be printed", name, maxName)}
	}
	return nil
}
