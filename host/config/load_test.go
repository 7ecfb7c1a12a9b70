package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/poise-sched/poise/host/config"
)

func write(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "poise.yaml")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func flags(t *testing.T, args ...string) *pflag.FlagSet {
	t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	fs.String("output", "", "a flag that is no setting")
	config.AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return fs
}

func absolute(t *testing.T, name string) string {
	t.Helper()
	full, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return full
}

func TestLoadDefaults(t *testing.T) {
	f := func(dir string, env ...string) {
		t.Helper()
		l, err := config.Load(config.Options{Env: env, Flags: flags(t, "--output=json")})
		if err != nil {
			t.Fatal(err)
		}
		want := config.Defaults()
		want.DataDir, want.API.Socket = dir, dir+"/poise.sock"
		if !reflect.DeepEqual(l.Config, want) {
			t.Errorf("got %+v, want %+v", l.Config, want)
		}
		for _, v := range l.Values() {
			if v.Origin.String() != "default" {
				t.Errorf("%s: origin %s, want default", v.Key, v.Origin)
			}
		}
	}
	f("/var/lib/poise")
	f("/var/lib/poise", "HOME=/")
	f("/home/a/.local/share/poise", "HOME=/home/a")
	f("/data/poise", "HOME=/home/a", "XDG_DATA_HOME=/elsewhere", "XDG_DATA_HOME=/data")
	f("/var/lib/poise", "POISE_TOKEN=x", "POISE_PORT=tcp://10.0.0.1:7433", "POISE_API_SERVICE_HOST=10.0.0.1", "POISE_API_PORT_7433_TCP_ADDR=10.0.0.1")
}

func TestLoadFile(t *testing.T) {
	l, err := config.Load(config.Options{File: "testdata/good.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Defaults()
	want.DataDir, want.API.Socket = absolute(t, "testdata/state"), absolute(t, "testdata/state/poise.sock")
	want.API.Listen, want.API.MaxBody, want.API.Rate = "[::1]:7433", 8<<20, 100
	want.API.TLS = config.TLS{
		SelfSigned: true, Names: []string{"poise.example.org", "10.0.0.7"}, ClientCA: absolute(t, "testdata/ca.pem"),
		Clients: map[string]string{"spiffe://example.org/agent.1": "operator"},
	}
	want.Engine.Kind, want.Engine.SimScale = "sim", 3600
	want.Store.Retention = 90 * 24 * time.Hour
	want.Policy.Path, want.Policy.OnFailure = "/etc/poise/spread.wasm", "last-good"
	want.Policy.Params = map[string]string{"zone": "topology.kubernetes.io/zone", "max": "3"}
	want.Scheduler.Ties, want.Scheduler.Seed, want.Scheduler.Params.Beta = "seeded", 42, 0.4
	want.Queue.RetryBase = 500 * time.Millisecond
	want.Model.Features = []string{"cpu", "memory"}
	want.Log.Level = "debug"
	if !reflect.DeepEqual(l.Config, want) {
		t.Errorf("got  %+v\nwant %+v", l.Config, want)
	}
	f := func(key, origin string) {
		t.Helper()
		if got := l.Origin(key).String(); got != origin {
			t.Errorf("%s: origin %s, want %s", key, got, origin)
		}
	}
	f("data_dir", "testdata/good.yaml:2")
	f("api.rate", "testdata/good.yaml:6")
	f("engine.sim_scale", "testdata/good.yaml:12") // of its section: a flow mapping
	f("policy.params", "testdata/good.yaml:18")
	f("log.level", "testdata/good.yaml:31")
	f("log.format", "default")
}

func TestPrecedence(t *testing.T) {
	f := func(file, env, flag, level, origin string) {
		t.Helper()
		o := config.Options{}
		if file != "" {
			o.File = write(t, "log: {level: "+file+"}")
			origin = strings.Replace(origin, "FILE", o.File, 1)
		}
		if env != "" {
			o.Env = []string{"POISE_LOG_LEVEL=" + env}
		}
		if flag != "" {
			o.Flags = flags(t, "--log.level", flag)
		}
		l, err := config.Load(o)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Origin("log.level").String(); l.Config.Log.Level != level || got != origin {
			t.Errorf("file %q, environment %q, flag %q: %s from %s, want %s from %s", file, env, flag, l.Config.Log.Level, got, level, origin)
		}
	}
	f("", "", "", "info", "default")
	f("debug", "", "", "debug", "FILE:1")
	f("debug", "warn", "", "warn", "POISE_LOG_LEVEL")
	f("debug", "warn", "error", "error", "--log.level")
	f("debug", "", "error", "error", "--log.level")
	f("", "warn", "info", "info", "--log.level")
}

// A list or a mapping is taken from one source as a whole.
func TestWholeValues(t *testing.T) {
	o := config.Options{
		File:  write(t, "policy: {path: p.wasm, params: {a: 1, b: 2}}\nmodel: {features: [cpu]}\n"),
		Env:   []string{"POISE_POLICY_PARAMS=b=3, c=x y", "POISE_MODEL_FEATURES=memory, nvidia.com/gpu"},
		Flags: flags(t, "--scheduler.protect-devices=false", "--data-dir", "here"),
	}
	l, err := config.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	c := &l.Config
	if want := map[string]string{"b": "3", "c": "x y"}; !reflect.DeepEqual(c.Policy.Params, want) {
		t.Errorf("params %v, want %v", c.Policy.Params, want)
	}
	if want := []string{"memory", "nvidia.com/gpu"}; !reflect.DeepEqual(c.Model.Features, want) {
		t.Errorf("features %v, want %v", c.Model.Features, want)
	}
	if c.Scheduler.ProtectDevices || c.DataDir != absolute(t, "here") || c.Policy.Path != filepath.Join(filepath.Dir(o.File), "p.wasm") {
		t.Errorf("protect_devices %v, data_dir %s, path %s", c.Scheduler.ProtectDevices, c.DataDir, c.Policy.Path)
	}
}

// problems loads what is wrong and gives every line of the error.
func problems(t *testing.T, o config.Options) []string {
	t.Helper()
	_, err := config.Load(o)
	var all config.Problems
	if !errors.As(err, &all) {
		t.Fatalf("error %v, want Problems", err)
	}
	var lines []string
	for _, p := range all {
		if p.Origin.Source == config.File {
			p.Origin.Name = "FILE"
		}
		lines = append(lines, p.Error())
	}
	return lines
}

func compare(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d problems, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range got {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("problem %d\n got  %s\n want %s…", i, got[i], want[i])
		}
	}
}

func TestEveryProblemAtOnce(t *testing.T) {
	o := config.Options{
		File:  "testdata/bad.yaml",
		Env:   []string{"POISE_LOG_LEVL=debug", "POISE_DATADIR=x", "POISE_QUEUE_STEP=soon"},
		Flags: flags(t, "--api.burst=0"),
	}
	compare(t, problems(t, o),
		`FILE:3: api.lisen: "127.0.0.1:7433", expected a known setting, the nearest is api.listen`,
		`FILE:4: api.max_body: "8 MB", expected a size from 1Ki to 1Gi`,
		`FILE:5: api.rate: "fast", expected a number from 0.1 to 1e+06`,
		`FILE:6: engine: "sim", expected a section of engine.kind, engine.sim_scale`,
		`FILE:8: store.snapshot_every: "12", expected a whole number from 100 to 1000000000`,
		`FILE:9: store.retention: "3 weeks", expected a duration from 1m to 3650d`,
		`FILE:14: queue.retry_max: expected a duration`,
		`FILE:16: model.features: expected 1 to 16 different names`,
		`FILE:17: log.format: "text", expected a name without a dot`,
		`FILE:19: log.level: "verbose", expected one of debug, info, warn, error`,
		`FILE:20: log.rotate: expected a known setting, the nearest is log.format`,
		`POISE_DATADIR: "x", expected a known variable, the nearest is POISE_DATA_DIR`,
		`POISE_LOG_LEVL: "debug", expected a known variable, the nearest is POISE_LOG_LEVEL`,
		`POISE_QUEUE_STEP: queue.step: "soon", expected a duration`,
		`--api.burst: api.burst: "0", expected a whole number from 1 to 1000000`)
}

func TestConflicts(t *testing.T) {
	compare(t, problems(t, config.Options{File: "testdata/conflict.yaml"}),
		`FILE:2: policy.weight: "0.5", expected nothing, as policy.path is empty`,
		`FILE:3: policy.limits.memory: "100Ki", expected a multiple of 64Ki`,
		`FILE:5: queue.retry_base: "10m", expected at most queue.retry_max, which is 5m`)
	long := strings.Repeat("d", 100)
	compare(t, problems(t, config.Options{Env: []string{"POISE_DATA_DIR=/" + long}}),
		`default: api.socket: "/`+long+`/poise.sock", expected a path of at most 107 bytes`)
}

func TestWrongFiles(t *testing.T) {
	f := func(content, want string) {
		t.Helper()
		compare(t, problems(t, config.Options{File: write(t, content)}), want)
	}
	f("log: [", "FILE: expected YAML, a mapping of settings")
	f("- a\n- b\n", "FILE: expected YAML, a mapping of settings")
	f("log: {level: info}\nlog: {level: warn}\n", "FILE: expected YAML, a mapping of settings")
	f("log: {level: info}\n--- # more\nlog: {level: warn}\n", "FILE:2: expected one YAML document")
	f(strings.Repeat("#", 1<<20+1), "FILE: expected at most 1Mi")
	f("log: {level: \"in\\nfo\"}", "FILE:1: log.level: \"in\\nfo\", expected one of")
	f("cluster: {name: [a]}", "FILE:1: cluster.name: expected a name")
	f("cluster: {in_cluster: a/b}", `FILE:1: cluster.in_cluster: "a/b", expected a name of at most 253 bytes without space and slash, or nothing`)
	f("cluster: {in_cluster: local}", `FILE:1: cluster.in_cluster: "local", expected another name than cluster.name has`)
	f("cluster: {in_cluster_nodes: a=b}", `FILE:1: cluster.in_cluster_nodes: "a=b", expected nothing, as cluster.in_cluster is empty`)
	f("model: {features: []}", "FILE:1: model.features: expected 1 to 16")
	f("api: {oidc: {groups: {staff: acme}}}", "FILE:1: api.oidc.groups: expected at most 1024 names with what they may do")
	f("api: {oidc: {issuer: \"http://example.org\"}}", `FILE:1: api.oidc.issuer: "http://example.org", expected an https URL`)
	f("policy: {path: x, params: {a: {b: 1}}}", "FILE:1: policy.params: expected at most 256 names")
	f("api: {listen: \"\"}", "FILE:1: api.listen: expected host:port")
	f("api: {listen: localhost}", `FILE:1: api.listen: "localhost", expected host:port`)
	f("api: {listen: \"localhost:70000\"}", `FILE:1: api.listen: "localhost:70000", expected host:port`)
	f("12: x", `FILE:1: 12: "x", expected a known setting`)
	o := config.Options{File: filepath.Join(t.TempDir(), "none.yaml")}
	compare(t, problems(t, o), "FILE: expected a file, there is none")
	o.File = t.TempDir()
	compare(t, problems(t, o), "FILE: expected a file that can be read")
}

func TestRightFiles(t *testing.T) {
	f := func(content string) {
		t.Helper()
		if _, err := config.Load(config.Options{File: write(t, content)}); err != nil {
			t.Error(err)
		}
	}
	f("")
	f("# nothing\n")
	f("---\nlog: {level: info}\n")
	f("%YAML 1.1\n---\nlog: {level: info}\n")
	f("policy: {params: {}}\n")
	f("api: {listen: \":7433\"}\nlog: # nothing set\n")
}
