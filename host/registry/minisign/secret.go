package minisign

import (
	"bytes"

	"aead.dev/minisign"

	"github.com/poise-sched/poise/host/poise"
)

// SecretKey makes signatures.
type SecretKey struct{ key minisign.PrivateKey }

// ParseSecretKey reads a secret key of the minisign tool. password is asked only
// where the key is encrypted; opening such a key takes 1 GiB of memory and some
// seconds, by the tool's choice. A wrong password is of the kind Denied, what
// else can be wrong is Invalid.
func ParseSecretKey(text []byte, password func() (string, error)) (SecretKey, error) {
	const op = "read secret key"
	if err := bound(op, text, mostKey); err != nil {
		return SecretKey{}, err
	}
	text = bytes.TrimSpace(text)
	if minisign.IsEncrypted(text) {
		word, err := password()
		if err != nil {
			return SecretKey{}, err
		}
		key, err := minisign.DecryptKey(word, text)
		if err != nil {
			return SecretKey{}, &poise.Error{Kind: poise.Denied, Op: op, Detail: "wrong password, or the file is damaged", Err: err}
		}
		return SecretKey{key}, nil
	}
	var k SecretKey
	if err := k.key.UnmarshalText(text); err != nil {
		return SecretKey{}, &poise.Error{Kind: poise.Invalid, Op: op, Detail: "expected a .key file of minisign", Err: err}
	}
	return k, nil
}

// Public gives the key that checks what k signs.
func (k SecretKey) Public() PublicKey { return PublicKey{k.key.Public().(minisign.PublicKey)} }
