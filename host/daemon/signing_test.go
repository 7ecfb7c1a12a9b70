package daemon

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// signer makes a key as the minisign tool does, in its older form, which signs the
// module itself.
func signer(t *testing.T) (public string, sign func(module []byte) string) {
	t.Helper()
	key, secret, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	head := append([]byte("Ed"), "8 digits"...)
	text := base64.StdEncoding.EncodeToString
	return text(append(head[:len(head):len(head)], key...)), func(module []byte) string {
		signature := ed25519.Sign(secret, module)
		return fmt.Sprintf("untrusted comment: a test\n%s\ntrusted comment: t\n%s\n",
			text(append(head[:len(head):len(head)], signature...)), text(ed25519.Sign(secret, append(signature, 't'))))
	}
}

// A tenant that requires signatures takes a plugin with a good one only.
func TestSigning(t *testing.T) {
	w := serve(t, folder(t), nil)
	w.join("c", nodes("n", 2, "4"))
	if _, err := w.CreateTenant(t.Context(), "red"); err != nil {
		t.Fatal(err)
	}
	public, sign := signer(t)
	for _, bad := range []client.Signing{{Required: true}, {Keys: []string{"RWno"}}, {Keys: make([]string, 17)}} {
		if _, err := w.SetSigning(t.Context(), "red", bad); poise.KindOf(err) != poise.Invalid {
			t.Errorf("%+v: %v, expected it to be invalid", bad, err)
		}
	}
	if _, err := w.SetSigning(t.Context(), "nobody", client.Signing{}); poise.KindOf(err) != poise.NotFound {
		t.Errorf("%v, expected no such tenant", err)
	}
	want := client.Signing{Required: true, Keys: []string{public}}
	if got, err := w.SetSigning(t.Context(), "red", want); err != nil || !got.Required || len(got.Keys) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := w.SetShare(t.Context(), "red", client.ShareSpec{Weight: 2}); err != nil { // it leaves the keys alone
		t.Fatal(err)
	}
	w = w.again(nil)
	if got, err := w.Signing(t.Context(), "red"); err != nil || !got.Required || len(got.Keys) != 1 || got.Keys[0] != public {
		t.Errorf("%+v, %v after a restart, expected %+v", got, err, want)
	}
	bin, err := os.ReadFile(plugin)
	if err != nil {
		t.Fatal(err)
	}
	red := w.As("", "red")
	if _, err := red.PushPlugin(t.Context(), false, client.PluginPush{Module: bin}); err == nil || !strings.Contains(err.Error(), "signature") {
		t.Errorf("%v, expected a signature to be asked for", err)
	}
	if _, err := red.PushPlugin(t.Context(), false, client.PluginPush{Module: bin, Signature: sign(append([]byte{0}, bin...))}); err == nil || !strings.Contains(err.Error(), "signature") {
		t.Errorf("%v, expected a signature of something else to be refused", err)
	}
	if _, err := red.PushPlugin(t.Context(), false, client.PluginPush{Module: bin, Signature: sign(bin)}); err != nil {
		t.Error(err)
	}
}
