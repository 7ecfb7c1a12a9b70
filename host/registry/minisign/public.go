package minisign

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"

	"aead.dev/minisign"

	"github.com/poise-sched/poise/host/poise"
)

// mostKey bounds the text of a key, in bytes. A real one has about 300, most of
// it the comment that a person may change.
const mostKey = 4096

// PublicKey checks signatures. The zero value accepts none.
type PublicKey struct{ key minisign.PublicKey }

// ParsePublicKey reads a public key: a .pub file of the minisign tool, or its
// second line alone. Its errors are of the kind Invalid.
func ParsePublicKey(text []byte) (PublicKey, error) {
	const op = "read public key"
	if err := bound(op, text, mostKey); err != nil {
		return PublicKey{}, err
	}
	var k PublicKey
	if err := k.key.UnmarshalText(bytes.TrimSpace(text)); err != nil {
		return PublicKey{}, &poise.Error{Kind: poise.Invalid, Op: op, Detail: "expected a .pub file of minisign or the 56 characters of one", Err: err}
	}
	return k, nil
}

// ID gives the key's id as 16 hexadecimal digits. Ids are a hint: anybody can
// make a key with the id of another.
func (k PublicKey) ID() string { return keyID(k.key.ID()) }

// String gives the key in 56 characters, as minisign -P takes it.
func (k PublicKey) String() string { return k.key.String() }

// raw gives the key without algorithm and id.
func (k PublicKey) raw() ed25519.PublicKey {
	all, err := base64.StdEncoding.DecodeString(k.key.String())
	if err != nil || len(all) != 10+ed25519.PublicKeySize {
		panic(fmt.Sprintf("BUG: a public key printed as %d bytes: %v", len(all), err))
	}
	return all[10:]
}

func keyID(id uint64) string { return fmt.Sprintf("%016X", id) }

// bound refuses a text before anything reads it.
func bound(op string, text []byte, most int) error {
	if len(text) > most {
		return &poise.Error{Kind: poise.Invalid, Op: op, Detail: fmt.Sprintf("size: %d bytes, expected at most %d", len(text), most)}
	}
	return nil
}
