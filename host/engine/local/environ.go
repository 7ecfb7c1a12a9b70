//go:build linux

package local

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/poise-sched/poise/host/engine"
)

// searchPath is where a task's programs are looked for unless the job says.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// taskMark is the variable by which leftovers of a task are known.
func taskMark(dir string) string { return "POISE_TASK_DIR=" + dir }

// environ gives the whole environment of a task, sorted: nothing of the
// daemon's is in it. A job's own variables may replace PATH, HOME, LANG and
// TMPDIR; Validate has refused the others.
func environ(b *engine.Binding, dir string) []string {
	var devices []string
	for _, d := range b.Devices {
		devices = append(devices, fmt.Sprint(d))
	}
	env := map[string]string{
		"PATH":          searchPath,
		"HOME":          taskDir(b, dir),
		"LANG":          "C.UTF-8",
		"TMPDIR":        filepath.Join(dir, tmpDir),
		"POISE_DEVICES": strings.Join(devices, ","),
		// Empty and not unset: CUDA shows all GPUs to a program that is not told.
		"CUDA_VISIBLE_DEVICES": "",
	}
	if b.DeviceKind == "gpu" && len(devices) > 0 {
		env["CUDA_VISIBLE_DEVICES"] = strings.Join(devices, ",")
		// Else CUDA numbers the fastest first, unlike nvidia-smi and so the node.
		env["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
	}
	maps.Copy(env, b.Identity())
	maps.Copy(env, b.Env)
	list := []string{taskMark(dir)}
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

// taskDir gives the working directory of a task.
func taskDir(b *engine.Binding, dir string) string {
	if b.Dir != "" {
		return b.Dir
	}
	return filepath.Join(dir, workDir)
}
