package config_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/poise-sched/poise/host/config"
)

// FuzzLoad: no file and no environment panics, and what loads can be given again,
// each setting by its variable, with the same outcome.
func FuzzLoad(f *testing.F) {
	for _, name := range []string{"good.yaml", "bad.yaml", "conflict.yaml"} {
		content, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content, "POISE_LOG_LEVEL=debug")
	}
	f.Add([]byte("a: &a [*a]\n? {b: c}\n: d\n<<: {log: }"), "POISE_=")
	f.Add([]byte("policy: {path: p, params: {a: 0x10, b: 1e3, c: 2001-01-01}}"), "POISE_POLICY_PARAMS=a=b,=c")
	name := filepath.Join(f.TempDir(), "poise.yaml")
	f.Fuzz(func(t *testing.T, content []byte, variable string) {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := config.Load(config.Options{File: name, Env: []string{variable}})
		if err != nil {
			if err.Error() == "" || len(err.(config.Problems)) == 0 {
				t.Fatal("refused without a reason")
			}
			return
		}
		var env []string
		for _, v := range l.Values() {
			env = append(env, v.Variable+"="+v.Text)
		}
		again, err := config.Load(config.Options{Env: env})
		if err != nil {
			t.Fatalf("%v\nof %q", err, env)
		}
		if !reflect.DeepEqual(again.Config, l.Config) {
			t.Fatalf("got  %+v\nwant %+v", again.Config, l.Config)
		}
	})
}
