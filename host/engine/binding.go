package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// Binding is one task to run: the effect of a Placement.
type Binding struct {
	Placement  string // identifies the task for good
	Job        poise.JobID
	Name       string // the job's
	Tenant     poise.TenantID
	Node       string
	Devices    []uint16 // indexes of the node's devices, ascending
	DeviceKind string
	Command    []string          // program and arguments, no shell; empty = only for an engine that runs none
	Env        map[string]string // beside what the engine sets
	Image      string            // container image that it runs in, "" = none; only for an engine that runs some
	Marks      map[string]string // what the daemon tells the task beside; names begin with POISE_
	Dir        string            // working directory, absolute; "" = one of the task's own
	Amounts    resource.List     // what it may use, base units
	RunTime    poise.Span        // it is ended when it runs longer; 0 = no limit
	Gang       string            // id of the gang that the job is a member of, "" = of none
	TaskIndex  int32             // of the member, from 0
	Tasks      int32             // members of the gang
	Grace      poise.Span        // between TERM and KILL when the run time is over
	Notes      map[string]string // what the decision says, for whoever reads the task; an engine may leave them out
	Labels     []poise.Label     // the job's, for whoever looks for the task; an engine may leave them out
	// Tolerations are the job's, for an engine whose nodes heed taints themselves.
	Tolerations []poise.Toleration
	// Begun: it ran before the daemon started again. An engine of containers that does
	// not know it says that it is lost, and does not start it a second time.
	Begun bool
}

// maxPlacement leaves a file name room for three bytes to one.
const maxPlacement = 80

// Validate checks what an engine relies on and names the first field that is
// wrong.
func (b *Binding) Validate() error {
	op := fmt.Sprintf("bind %q", b.Placement)
	refuse := func(format string, args ...any) error {
		return &poise.Error{Kind: poise.Invalid, Op: op, Detail: fmt.Sprintf(format, args...)}
	}
	if b.Placement == "" || len(b.Placement) > maxPlacement {
		return refuse("placement: %d bytes, expected 1 to %d", len(b.Placement), maxPlacement)
	}
	if len(b.Command) > 0 && b.Command[0] == "" {
		return refuse("command: the program is empty, expected its name or path")
	}
	texts := []struct{ field, text string }{
		{"placement", b.Placement},
		{"job", string(b.Job)},
		{"name", b.Name},
		{"tenant", string(b.Tenant)},
		{"node", b.Node},
		{"device kind", b.DeviceKind},
		{"dir", b.Dir},
		{"image", b.Image},
	}
	for i, arg := range b.Command {
		texts = append(texts, struct{ field, text string }{fmt.Sprintf("command: argument %d", i), arg})
	}
	for _, name := range slices.Sorted(maps.Keys(b.Env)) {
		if name == "" || strings.Contains(name, "=") {
			return refuse("env: name %q, expected a name without =", name)
		}
		if Reserved(name) {
			return refuse("env: %s: set by the job, expected a name that the engine does not set itself", name)
		}
		texts = append(texts, struct{ field, text string }{"env: name", name}, struct{ field, text string }{"env: " + name, b.Env[name]})
	}
	for _, x := range texts {
		if strings.ContainsRune(x.text, 0) {
			return refuse("%s: %q has a zero byte, expected none", x.field, x.text)
		}
		if !utf8.ValidString(x.text) {
			return refuse("%s: %q, expected valid UTF-8", x.field, x.text)
		}
	}
	if b.Dir != "" && !strings.HasPrefix(b.Dir, "/") {
		return refuse("dir: %q, expected an absolute path", b.Dir)
	}
	for i, d := range b.Devices {
		if i > 0 && b.Devices[i-1] >= d {
			return refuse("devices: %d after %d, expected ascending indexes", d, b.Devices[i-1])
		}
	}
	if b.RunTime < 0 {
		return refuse("run_time: %d ms, expected 0 or more", b.RunTime)
	}
	if b.Grace < 0 {
		return refuse("grace: %d ms, expected 0 or more", b.Grace)
	}
	if err := b.Amounts.Validate(); err != nil {
		return &poise.Error{Kind: poise.Invalid, Op: op, Detail: "amounts", Err: err}
	}
	return nil
}

// Reserved says whether the engine alone sets an environment variable: what
// tells a task who it is, and which devices it may see.
func Reserved(name string) bool {
	return strings.HasPrefix(name, "POISE_") || name == "CUDA_VISIBLE_DEVICES" || name == "CUDA_DEVICE_ORDER"
}

// Identity gives the variables that tell a task who it is, with the marks of the
// daemon.
func (b *Binding) Identity() map[string]string {
	env := map[string]string{
		"POISE_JOB_ID":    string(b.Job),
		"POISE_JOB_NAME":  b.Name,
		"POISE_TENANT":    string(b.Tenant),
		"POISE_NODE":      b.Node,
		"POISE_PLACEMENT": b.Placement,
	}
	if b.Gang != "" {
		env["POISE_GANG_ID"] = b.Gang
		env["POISE_TASK_INDEX"] = fmt.Sprint(b.TaskIndex)
		env["POISE_TASKS"] = fmt.Sprint(b.Tasks)
	}
	maps.Copy(env, b.Marks)
	return env
}

// Environ gives the variables of the job and of the daemon.
func (b *Binding) Environ() map[string]string {
	env := maps.Clone(b.Env)
	if env == nil {
		env = make(map[string]string, len(b.Marks))
	}
	maps.Copy(env, b.Marks)
	return env
}
