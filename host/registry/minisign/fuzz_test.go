package minisign

import (
	"errors"
	"testing"

	"aead.dev/minisign"

	"github.com/poise-sched/poise/host/poise"
)

func seeds(f *testing.F) {
	public, secret := newKey(f)
	text, err := Sign(secret, []byte("m"), "plugin:m")
	if err != nil {
		f.Fatal(err)
	}
	key, _ := secret.key.MarshalText()
	f.Add([]byte(public.String()))
	f.Add(key)
	f.Add(text)
	f.Add([]byte("untrusted comment: x\nRW\ntrusted comment: y\nAA==\n"))
}

func FuzzPublicKey(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := ParsePublicKey(text)
		if err != nil {
			if poise.KindOf(err) != poise.Invalid {
				t.Fatal(err)
			}
			return
		}
		again, err := ParsePublicKey([]byte(k.String()))
		if err != nil || again.String() != k.String() || len(k.ID()) != 16 || len(k.raw()) != 32 {
			t.Fatalf("%s printed and read is %s, %v", k, again, err)
		}
	})
}

func FuzzSecretKey(f *testing.F) {
	seeds(f)
	asked := errors.New("asked")
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := ParseSecretKey(text, func() (string, error) { return "", asked })
		if err != nil {
			if poise.KindOf(err) != poise.Invalid && !errors.Is(err, asked) {
				t.Fatal(err)
			}
			return
		}
		signed, err := Sign(k, []byte("m"), "c")
		if err != nil {
			return // halves that are no pair
		}
		if _, err := Verify([]byte("m"), signed, k.Public()); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzSignature(f *testing.F) {
	seeds(f)
	public, _ := newKey(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseSignature(text)
		_, wrong := Verify([]byte("m"), text, public)
		if wrong == nil {
			t.Fatalf("%q: accepted", text)
		}
		if err != nil {
			return
		}
		var raw minisign.Signature
		if err := raw.UnmarshalText(text); err != nil {
			t.Fatal(err)
		}
		printed, err := raw.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseSignature(printed); err != nil || again != s {
			t.Fatalf("%+v printed and read is %+v, %v", s, again, err)
		}
	})
}
