package minisign

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aead.dev/minisign"
	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
)

// newKey makes a pair of keys.
func newKey(t testing.TB) (PublicKey, SecretKey) {
	t.Helper()
	public, secret, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return PublicKey{public}, SecretKey{secret}
}

// refused checks the kind and the words of an error.
func refused(t *testing.T, err error, kind poise.Kind, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("accepted, expected %s: %q", kind, words)
	}
	if got := poise.KindOf(err); got != kind {
		t.Errorf("%v: of the kind %s, expected %s", err, got, kind)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%v: says nothing of %q", err, w)
		}
	}
}

func noPassword() (string, error) { return "", errors.New("asked for a password") }

func TestSignVerify(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		public, secret := newKey(t)
		other, _ := newKey(t)
		module := rapid.SliceOf(rapid.Byte()).Draw(r, "module")
		comment := rapid.StringMatching(`[ -~\t]{0,100}`).Draw(r, "comment")
		text, err := Sign(secret, module, comment)
		if err != nil {
			r.Fatal(err)
		}
		again, _ := Sign(secret, module, comment)
		if !bytes.Equal(text, again) {
			r.Fatal("two signatures of the same differ")
		}
		s, err := Verify(module, text, other, public)
		if err != nil {
			r.Fatal(err)
		}
		if want := (Signature{KeyID: public.ID(), Comment: comment, Hashed: true}); s != want {
			r.Fatalf("%+v, expected %+v", s, want)
		}
	})
}

// Whatever one byte of a signature becomes: it is refused, or it is in what no
// signature covers (the untrusted comment, bits that base64 leaves unused), and
// then says the same.
func TestTampered(t *testing.T) {
	public, secret := newKey(t)
	module := []byte("\x00asm module")
	text, err := Sign(secret, module, "plugin:bestfit")
	if err != nil {
		t.Fatal(err)
	}
	want, _ := Verify(module, text, public)
	first := bytes.IndexByte(text, '\n')
	changed := 0
	for i := range text {
		for _, b := range []byte{text[i] ^ 1, text[i] ^ 0x20, 'A', '\n', 0, 0xff} {
			if b == text[i] {
				continue
			}
			bad := bytes.Clone(text)
			bad[i] = b
			got, err := Verify(module, bad, public)
			if err != nil {
				if k := poise.KindOf(err); k != poise.Denied && k != poise.Invalid {
					t.Errorf("byte %d as %q: of the kind %s: %v", i, b, k, err)
				}
				continue
			}
			if got != want {
				t.Errorf("byte %d as %q: accepted with %+v", i, b, got)
			}
			if i > first {
				changed++
			}
		}
	}
	if changed > 6 {
		t.Errorf("%d changes behind the untrusted comment were accepted, expected those of unused bits only", changed)
	}
}

func TestVerifyNames(t *testing.T) {
	public, secret := newKey(t)
	other, otherSecret := newKey(t)
	module := []byte("module")
	text, err := Sign(secret, module, "plugin:a")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Verify([]byte("modulf"), text, public)
	refused(t, err, poise.Denied, "module: is not what key "+public.ID())
	_, err = Verify(module, text, other)
	refused(t, err, poise.Denied, "key: made by "+public.ID(), "expected "+other.ID())
	_, err = Verify(module, text)
	refused(t, err, poise.Denied, "none is given")
	_, err = Verify(module, text, PublicKey{})
	refused(t, err, poise.Denied, "expected 0000000000000000")
	_, err = Verify(module, bytes.Replace(text, []byte("plugin:a"), []byte("plugin:b"), 1), public)
	refused(t, err, poise.Denied, "trusted comment: is not what key "+public.ID())

	// A key with the id of another: the signature of neither passes for the other.
	raw, _ := base64.StdEncoding.DecodeString(other.String())
	mine, _ := base64.StdEncoding.DecodeString(public.String())
	copy(raw[2:10], mine[2:10])
	twin, err := ParsePublicKey([]byte(base64.StdEncoding.EncodeToString(raw)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Verify(module, text, twin)
	refused(t, err, poise.Denied, "module: is not what key "+public.ID()+" signed, or the key only has that one's id")
	if _, err := Verify(module, text, twin, public); err != nil {
		t.Errorf("a key of the same id hides the right one: %v", err)
	}

	_, err = Sign(otherSecret, module, "two\nlines")
	refused(t, err, poise.Invalid, "comment", "one line")
	_, err = Sign(otherSecret, module, "\x1b[2J")
	refused(t, err, poise.Invalid, "comment")
	_, err = Sign(otherSecret, module, strings.Repeat("x", mostComment+1))
	refused(t, err, poise.Invalid, "at most 8192")
}

func TestParse(t *testing.T) {
	public, secret := newKey(t)
	text, _ := public.key.MarshalText()
	for _, same := range []string{string(text), public.String(), public.String() + "\n", strings.ReplaceAll(string(text), "\n", "\r\n") + "\r\n"} {
		k, err := ParsePublicKey([]byte(same))
		if err != nil || k.String() != public.String() || k.ID() != public.ID() {
			t.Errorf("%q: %v, %v", same, k, err)
		}
	}
	f := func(text, word string) {
		t.Helper()
		_, err := ParsePublicKey([]byte(text))
		refused(t, err, poise.Invalid, "read public key", word)
	}
	f("", "length 0")
	f("no key", "illegal base64")
	f(public.String()[:20], "length")
	f(public.String()+public.String(), "length")
	f(strings.Repeat("A", 56), "algorithm")
	f(strings.Repeat("A", mostKey+1), "at most 4096")

	keyText, _ := secret.key.MarshalText()
	k, err := ParseSecretKey(keyText, noPassword)
	if err != nil || k.Public().String() != public.String() {
		t.Fatalf("%v, %v", k.Public(), err)
	}
	f = func(text, word string) {
		t.Helper()
		_, err := ParseSecretKey([]byte(text), noPassword)
		refused(t, err, poise.Invalid, "read secret key", word)
	}
	f("", "expected a .key file")
	f(public.String(), "expected a .key file")
	f(strings.Repeat("A", mostKey+1), "at most 4096")

	// A key without a password has no checksum: a damaged half is found when it
	// signs, before anything is written.
	lines := strings.SplitN(string(keyText), "\n", 2)
	raw, _ := base64.StdEncoding.DecodeString(lines[1])
	raw[2+2+2+32+8+8+8+40] ^= 1
	k, err = ParseSecretKey([]byte(base64.StdEncoding.EncodeToString(raw)), noPassword)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Sign(k, []byte("m"), "")
	refused(t, err, poise.Invalid, "public half is of another key")

	// One that is encrypted: the error of who was asked for the password stays.
	copy(raw[2:], "Sc")
	_, err = ParseSecretKey([]byte(base64.StdEncoding.EncodeToString(raw)), noPassword)
	if err == nil || err.Error() != "asked for a password" {
		t.Errorf("%v, expected the error of who was asked", err)
	}

	for _, bad := range []string{"", "a\nb\nc\nd\n", strings.Repeat("x", MaxSignature+1)} {
		_, err := ParseSignature([]byte(bad))
		refused(t, err, poise.Invalid, "read signature")
	}
}

// tool runs Debian's minisign in a directory, or skips.
func tool(t *testing.T, dir, input string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("minisign")
	if err != nil {
		t.Skip("minisign: not installed (apt-get install minisign)")
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("minisign %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, dir, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// The tool's keys and signatures are good here, and ours there.
func TestTool(t *testing.T) {
	dir := t.TempDir()
	tool(t, dir, "", "-G", "-W", "-p", "a.pub", "-s", "a.key")
	module := []byte("\x00asm\x01\x00\x00\x00")
	write(t, dir, "m.wasm", module)
	public, err := ParsePublicKey(read(t, dir, "a.pub"))
	if err != nil {
		t.Fatal(err)
	}
	secret, err := ParseSecretKey(read(t, dir, "a.key"), noPassword)
	if err != nil || secret.Public().String() != public.String() {
		t.Fatalf("secret key: %v, public %s, expected %s", err, secret.Public(), public)
	}

	text, err := Sign(secret, module, "plugin:m\tversion:1")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "m.wasm.minisig", text)
	out := tool(t, dir, "", "-V", "-H", "-p", "a.pub", "-m", "m.wasm")
	if !strings.Contains(out, "Comment and signature signature verified") && !strings.Contains(out, "Signature and comment signature verified") || !strings.Contains(out, "plugin:m\tversion:1") {
		t.Errorf("minisign -V: %q", out)
	}
	tool(t, dir, "", "-V", "-P", public.String(), "-m", "m.wasm")

	f := func(hashed bool, args ...string) {
		t.Helper()
		tool(t, dir, "", append([]string{"-S", "-s", "a.key", "-m", "m.wasm", "-x", "x.minisig"}, args...)...)
		s, err := Verify(module, read(t, dir, "x.minisig"), public)
		if err != nil {
			t.Fatal(err)
		}
		if s.Hashed != hashed || s.Comment != "by the tool" {
			t.Errorf("%+v, expected hashed %v, by the tool", s, hashed)
		}
		_, err = Verify(append([]byte("x"), module...), read(t, dir, "x.minisig"), public)
		refused(t, err, poise.Denied, "module: is not")
	}
	f(true, "-t", "by the tool")
	f(false, "-l", "-t", "by the tool", "-c", "not proved")
}
