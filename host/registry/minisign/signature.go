package minisign

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"aead.dev/minisign"
	"golang.org/x/crypto/blake2b"

	"github.com/poise-sched/poise/host/poise"
)

// MaxSignature bounds the text of a signature, in bytes. The minisign tool reads
// comments of 8,192 and 1,024 bytes.
const MaxSignature = 16 << 10

// mostComment is the longest trusted comment that the minisign tool reads, in
// bytes.
const mostComment = 8192

// Signature is what a signature says of itself. Before Verify none of it is
// proved.
type Signature struct {
	KeyID   string // 16 hexadecimal digits
	Comment string // the trusted comment
	Hashed  bool   // of the module's BLAKE2b-512; false in the older format, of the module itself
}

// ParseSignature reads a .minisig file. Its errors are of the kind Invalid.
func ParseSignature(text []byte) (Signature, error) {
	s, err := parse(text)
	if err != nil {
		return Signature{}, err
	}
	return facts(&s), nil
}

func parse(text []byte) (minisign.Signature, error) {
	const op = "read signature"
	var s minisign.Signature
	if err := bound(op, text, MaxSignature); err != nil {
		return s, err
	}
	if err := s.UnmarshalText(text); err != nil {
		return s, &poise.Error{Kind: poise.Invalid, Op: op, Detail: "expected the four lines of a .minisig file", Err: err}
	}
	return s, nil
}

func facts(s *minisign.Signature) Signature {
	return Signature{KeyID: keyID(s.KeyID), Comment: s.TrustedComment, Hashed: s.Algorithm == minisign.HashEdDSA}
}

// Sign makes a signature in the present format (hashed). The same key, module
// and comment give the same bytes. The comment is one line of at most 8,192
// bytes.
func Sign(key SecretKey, module []byte, comment string) ([]byte, error) {
	const op = "sign module"
	if len(comment) > mostComment || !utf8.ValidString(comment) || strings.ContainsFunc(comment, control) {
		return nil, &poise.Error{Kind: poise.Invalid, Op: op, Detail: fmt.Sprintf("comment: %.100q, expected one line of at most %d bytes", comment, mostComment)}
	}
	public := key.Public()
	r := minisign.NewReader(bytes.NewReader(module))
	if _, err := io.Copy(io.Discard, r); err != nil {
		return nil, &poise.Error{Op: op, Err: err}
	}
	text := r.SignWithComments(key.key, comment, "signature of key "+public.ID())
	// A key that is not encrypted has no checksum: one that was damaged would
	// sign, and nothing would tell until somebody verifies.
	if !minisign.Verify(public.key, module, text) {
		return nil, &poise.Error{Kind: poise.Invalid, Op: op, Detail: fmt.Sprintf("secret key %s: its public half is of another key, expected a pair", public.ID())}
	}
	return text, nil
}

// control says whether a rune would end the line or do something to a terminal.
// The tool itself puts tabs between the parts of a comment.
func control(r rune) bool { return unicode.IsControl(r) && r != '\t' }

// Verify checks the signature of a module. One of the keys must have made it.
// A signature that is not one is of the kind Invalid; one that does not hold is
// Denied, with what differs: the key, the module or the trusted comment.
func Verify(module, signature []byte, keys ...PublicKey) (Signature, error) {
	s, err := parse(signature)
	if err != nil {
		return Signature{}, err
	}
	wrong := otherKey(s.KeyID, keys)
	for _, k := range keys {
		if k.key.ID() != s.KeyID {
			continue
		}
		if minisign.Verify(k.key, module, signature) {
			return facts(&s), nil
		}
		wrong = blame(k, module, &s)
	}
	return Signature{}, &poise.Error{Kind: poise.Denied, Op: "verify signature", Detail: wrong}
}

func otherKey(id uint64, keys []PublicKey) string {
	ids := make([]string, len(keys))
	for i, k := range keys {
		ids[i] = k.ID()
	}
	if len(ids) == 0 {
		ids = []string{"a key, and none is given"}
	}
	return fmt.Sprintf("key: made by %s, expected %s", keyID(id), strings.Join(ids, " or "))
}

// blame says which part of a signature that does not hold is wrong.
func blame(k PublicKey, module []byte, s *minisign.Signature) string {
	message := module
	if s.Algorithm == minisign.HashEdDSA {
		sum := blake2b.Sum512(module)
		message = sum[:]
	}
	if !ed25519.Verify(k.raw(), message, s.Signature[:]) {
		return fmt.Sprintf("module: is not what key %s signed, or the key only has that one's id", k.ID())
	}
	return fmt.Sprintf("trusted comment: is not what key %s signed", k.ID())
}
