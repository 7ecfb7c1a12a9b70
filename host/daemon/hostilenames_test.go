package daemon

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/poise-sched/poise/host/access"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// oddTexts would be mistaken for other names, for paths, for commands of a
// terminal or of a database, or fill what keeps them.
var oddTexts = []string{
	strings.Repeat("a", 1<<20-8<<10), strings.Repeat("\u0301", 1<<18), " ", "a\nb", "a\x00b", "\x1b[2J\x1b[31m", "../bolt", "..", ".", "/etc/passwd", "a/../../b", "%2e%2e%2f", "best\u200bfit", "\u202etiftseb", "bestfіt", // a Cyrillic і
	"ＢＥＳＴＦＩＴ", "bestfit ", "-bestfit", "bestfit@", "bestfit@@1.0.0", "bestfit@1.0.0:x", "bestfit:", "sha256:", "bestfit@sha256:zz", "bestfit@sha256:", "e\u0301", "*", "%", "'; DROP TABLE versions; --", "${jndi:x}", "<script>",
	strings.Repeat("a", 65),
}

// tame checks that nonsense is refused, in few words that can be shown.
func (v *town) tame(at string, got *http.Response, text string) {
	v.t.Helper()
	odd := strings.ContainsFunc(strings.TrimRight(text, "\n"), unicode.IsControl)
	if got.StatusCode < 400 || got.StatusCode >= 500 || len(text) > 4<<10 || !utf8.ValidString(text) || odd {
		v.t.Errorf("%s: %d, %d bytes: %.600q", at, got.StatusCode, len(text), text)
	}
}

// body writes a request as JSON.
func body(t testing.TB, fields map[string]any) string {
	t.Helper()
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// No name, tag, parameter or text of a plugin's requests is taken for another,
// and none comes back at length or as it would move a terminal.
func TestOddPlugins(t *testing.T) {
	v := settle(t)
	token := v.give(access.TenantAdmin, "acme")
	acme := v.as(token)
	bin := firstParty(t, "bestfit")
	made, err := acme.PushPlugin(t.Context(), false, client.PluginPush{Module: bin, Tag: "stable"})
	if err != nil {
		t.Fatal(err)
	}
	for i, odd := range oddTexts {
		f := func(what, method, target, body string) {
			t.Helper()
			got, text := v.ask(token, method, target, body)
			v.tame(fmt.Sprintf("text %d %.20q as %s", i, odd, what), got, text)
		}
		f("tag", "POST", "/v1/plugins", body(t, map[string]any{"module": bin, "tag": odd}))
		f("signature", "POST", "/v1/plugins", body(t, map[string]any{"module": bin, "signature": odd}))
		f("plugin", "POST", "/v1/policy", body(t, map[string]any{"plugin": odd}))
		f("rule", "POST", "/v1/policy", body(t, map[string]any{"plugin": "bestfit", "on_failure": odd}))
		f("parameter", "POST", "/v1/policy", body(t, map[string]any{"plugin": "bestfit", "params": map[string]string{odd: "1"}}))
		f("version", "POST", "/v1/policy", body(t, map[string]any{"plugin": "bestfit@" + odd}))
		f("shadow", "POST", "/v1/shadow", body(t, map[string]any{"plugin": odd}))
		f("shadow's parameter", "POST", "/v1/shadow", body(t, map[string]any{"plugin": "bestfit", "params": map[string]string{odd: odd}}))
		f("shadow's rule", "POST", "/v1/shadow", body(t, map[string]any{"plugin": "bestfit", "on_failure": odd}))
		if path := url.PathEscape(odd); len(path) < 1<<13 {
			f("what to pull", "GET", "/v1/plugins/"+path+"/module", "")
			f("what to delete", "DELETE", "/v1/plugins/"+path, "")
			f("case", "GET", "/v1/shadow/cases/1/"+path, "")
		}
	}
	list, err := acme.Plugins(t.Context(), "")
	if err != nil || len(list) != 1 || list[0].Digest != made.Digest || !slices.Equal(list[0].Tags, []string{"stable"}) {
		t.Errorf("%+v, %v, expected the one that was pushed", list, err)
	}
	if stack, err := acme.Policy(t.Context(), false); err != nil || len(stack.Layers) > 0 {
		t.Errorf("%+v, %v, expected no policy", stack, err)
	}
	_, err = acme.Shadow(t.Context(), false)
	refused(t, err, poise.NotFound, "shadow")
	// Nor does it fill the log, or a row of another's.
	log, err := acme.Audit(t.Context(), client.AuditFilter{Limit: 1000})
	if err != nil || len(log.Records) < len(oddTexts) {
		t.Fatalf("%d records, %v", len(log.Records), err)
	}
	for _, r := range log.Records {
		if r.Tenant != "acme" || len(r.Object) > 1000 || len(r.Detail) > 1000 || !utf8.ValidString(r.Object+r.Detail) {
			t.Errorf("%+v", r)
		}
	}
}

// What a module says of itself is refused where it could be mistaken.
func TestOddManifests(t *testing.T) {
	d := open(t, folder(t), nil)
	bin := firstParty(t, "bestfit")
	f := func(was, is string) {
		t.Helper()
		if len(was) != len(is) || bytes.Count(bin, []byte(was)) != 1 {
			t.Fatalf("%q for %q in %d places", is, was, bytes.Count(bin, []byte(was)))
		}
		_, err := d.PushPlugin(t.Context(), "acme", client.PluginPush{Module: bytes.Replace(bin, []byte(was), []byte(is), 1)}, "mallory")
		refused(t, err, poise.Invalid, "")
		if err != nil && strings.ContainsFunc(err.Error(), unicode.IsControl) {
			t.Errorf("%q", err)
		}
	}
	for _, name := range []string{"\x1b[2Jfit", "bestf\nt", "best/..", "../../a", "bestfit"[:5] + "іt"[:2], "BESTFIT", "-estfit", "best it", "best\x00it", "best\xffit", `","n":"`} {
		f(`"name":"bestfit"`, `"name":"`+name+`"`)
	}
	for _, version := range []string{"1\n0.0", "../..", "1 0.0", "@.0.0", "1:0.0", ".0.00", "\x1b[2Jm"} {
		f(`"version":"1.0.0"`, `"version":"`+version+`"`)
	}
	if list := mustList(t, d, ""); len(list) > 0 {
		t.Errorf("%+v", list)
	}
}

// JSON that is small on the wire and large in memory, or deep, is refused before
// it costs anything.
func TestJSONBombs(t *testing.T) {
	v := settle(t)
	token := v.give(access.TenantAdmin, "acme")
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(bytes.Repeat([]byte(" "), 64<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	params := func(n int) map[string]string {
		all := map[string]string{}
		for i := range n {
			all[fmt.Sprint("p", i)] = ""
		}
		return all
	}
	zeros := base64.StdEncoding.EncodeToString(make([]byte, 4<<20))
	for _, route := range []string{"/v1/plugins", "/v1/policy", "/v1/shadow"} {
		bombs := []string{
			strings.Repeat("[", 1<<19), strings.Repeat(`{"plugin":`, 1<<15), `{"params":` + strings.Repeat(`{"a":`, 1<<15), `{"gate":` + strings.Repeat("[", 1<<18),
			body(t, map[string]any{"plugin": "dotproduct", "module": "AA==", "params": params(50_000)}),
			`{"plugin":"x","module":"` + zeros + `"}`, `{"plugin":"x","module":"` + zeros + zeros + `"}`, `{"plugin":"x","weight":1e999}`, `{"plugin":"x","weight":` + strings.Repeat("9", 1<<19) + `}`,
			`{"plugin":"x","plugin":["y"]}`, `{"module":"` + strings.Repeat(`\u0041`, 1<<16) + `"}`, `{"module":"!"}`, `{"gate":{"min_decisions":-1,"agreement":2},"plugin":"x"}`,
		}
		for i, bomb := range bombs {
			got, text := v.ask(token, "POST", route, bomb)
			v.tame(fmt.Sprintf("%s bomb %d", route, i), got, text)
		}
		got, text := v.ask(token, "POST", route, packed.String(), "Content-Encoding", "gzip", "Content-Type", "application/json")
		v.tame(route+" packed", got, text)
	}
	if list, err := v.as(token).Plugins(t.Context(), ""); err != nil || len(list) > 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// A viewer's token that was stolen shows what its tenant may see, changes
// nothing, and shows no more once it is revoked.
func TestStolenViewer(t *testing.T) {
	v := settle(t)
	v.ship()
	stolen, err := v.victim.CreateToken(t.Context(), client.TokenSpec{Role: "viewer", Name: "stolen"})
	if err != nil {
		t.Fatal(err)
	}
	thief := v.as(stolen.Text)
	look := func() string {
		t.Helper()
		plugins, err := thief.Plugins(t.Context(), "")
		stack, err2 := thief.Policy(t.Context(), false)
		if err != nil || err2 != nil || len(plugins) != 1 || len(stack.Layers) != 1 {
			t.Fatalf("%+v, %v, %+v, %v, expected bolt's plugin in force", plugins, err, stack, err2)
		}
		return v.census() + plugins[0].Digest + stack.Layers[0].Digest
	}
	before := look()
	routes, schemas := v.document()
	tried := 0
	for i := range routes {
		r := &routes[i]
		if r.Method == "GET" {
			continue
		}
		tried++
		theirs, _ := v.calls(r, schemas, false)
		if got, text := v.ask(stolen.Text, r.Method, theirs[0], theirs[1]); got.StatusCode != http.StatusForbidden {
			t.Errorf("%s %s: %d %s, expected 403", r.Method, r.Path, got.StatusCode, text)
		}
	}
	if after := look(); after != before || tried < 10 {
		t.Errorf("%d routes tried: bolt has\n%s\nexpected what it had\n%s", tried, after, before)
	}
	if err := v.victim.RevokeToken(t.Context(), stolen.ID); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"/v1/plugins", "/v1/plugins/dotproduct/module", "/v1/policy", "/v1/shadow", "/v1/shadow/cases"} {
		if got, text := v.ask(stolen.Text, "GET", target, ""); got.StatusCode != http.StatusUnauthorized {
			t.Errorf("GET %s: %d %s, expected 401", target, got.StatusCode, text)
		}
	}
}
