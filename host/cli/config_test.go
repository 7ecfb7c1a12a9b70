package cli

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/config"
)

const configFile = "testdata/poise.yaml"

// noHome keeps the user's folders and variables out of what is printed.
func noHome(t *testing.T) {
	t.Helper()
	t.Setenv("HOME", "/home/ann")
	t.Setenv("XDG_DATA_HOME", "")
}

func TestConfigShow(t *testing.T) {
	noHome(t)
	t.Setenv("POISE_API_RATE", "200")
	f := func(name, output string) {
		t.Helper()
		out, errs, code := runPoise("config", "show", "--file", configFile, "--log.level=warn", "-o", output)
		if code != 0 {
			t.Fatalf("exit %d: %s", code, errs)
		}
		golden(t, name, out)
	}
	f("config_show_table", "table")
	f("config_show_json", "json")
	f("config_show_yaml", "yaml")
}

// What is printed as YAML is a file that sets the same.
func TestConfigShowReadsAgain(t *testing.T) {
	noHome(t)
	out, errs, code := runPoise("config", "show", "--file", configFile, "-o", "yaml")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	first, err := config.Load(config.Options{File: configFile, Env: []string{"HOME=/home/ann"}})
	if err != nil {
		t.Fatal(err)
	}
	again, err := config.Load(config.Options{File: put(t, "printed.yaml", out)})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(first.Config, again.Config) {
		t.Errorf("got  %+v\nwant %+v", again.Config, first.Config)
	}
	for _, v := range again.Values() {
		if v.Origin.Line == 0 {
			t.Errorf("%s is not in the file:\n%s", v.Key, out)
		}
	}
}

func TestConfigCheck(t *testing.T) {
	noHome(t)
	bad := put(t, "poise.yaml", "api:\n  lisen: :80\nlog:\n  level: loud\n")
	f := func(code int, wantOut, wantErr string, args ...string) {
		t.Helper()
		out, errs, got := runPoise(append([]string{"config", "check"}, args...)...)
		out, errs = strings.ReplaceAll(out, bad, "FILE"), strings.ReplaceAll(errs, bad, "FILE")
		if got != code || out != wantOut || !strings.HasPrefix(errs, wantErr) {
			t.Errorf("%v: exit %d\n%s%s\nwant exit %d\n%s%s", args, got, out, errs, code, wantOut, wantErr)
		}
	}
	f(0, "right: 0 set, the rest at their defaults\n", "")
	f(0, "right: 4 set, the rest at their defaults\n", "", "--file", configFile)
	f(1, "", "poise: configuration: 2 problems\n  FILE:2: api.lisen: \":80\", expected a known setting, the nearest is api.listen\n"+
		"  FILE:4: log.level: \"loud\", expected one of debug, info, warn, error\n", "--file", bad)
	f(1, "", `poise: configuration: --queue.step: queue.step: "soon", expected a duration`, "--queue.step=soon")
	f(2, "", `poise: --output "xml": expected table, json, yaml`, "-o", "xml")
	f(2, "", "poise: unknown flag: --log.levl", "--log.levl=debug")
	f(0, "ok: true\nproblems: []\n", "", "-o", "yaml")
}

func TestConfigCheckJSON(t *testing.T) {
	noHome(t)
	out, _, code := runPoise("config", "check", "--file", put(t, "poise.yaml", "log: {level: loud}\n"), "-o", "json")
	var got checked
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if code != 1 || got.OK || len(got.Problems) != 1 {
		t.Fatalf("exit %d: %s", code, out)
	}
	if p := got.Problems[0]; p.Key != "log.level" || p.Value != "loud" || p.Source != "file" || !strings.HasSuffix(p.Origin, "poise.yaml:1") {
		t.Errorf("problem %+v", p)
	}
}
