package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/policy"
)

// pluginInspectOptions are the flags of plugin inspect.
type pluginInspectOptions struct {
	file   string
	output string
}

func newPluginInspect(s Streams) *cobra.Command {
	o := pluginInspectOptions{}
	cmd := &cobra.Command{
		Use:   "inspect FILE [flags]",
		Short: "Print what a plugin declares, how large it is, and the limits in force",
		Long: "Print the manifest of a plugin, its exports, imports and sizes, and next to each size the\n" +
			"limit that is in force for it. Exit code 4 if the module is not accepted.",
		Example: "  poise plugin inspect plugins/bestfit/bestfit.wasm",
		Args:    oneFile(&o.file),
		RunE:    func(*cobra.Command, []string) error { return inspectPlugin(s, &o) },
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", "table", "table or json")
	return cmd
}

// pluginFacts is what plugin inspect says, as JSON has it.
type pluginFacts struct {
	File     string          `json:"file"`
	Digest   string          `json:"digest"`
	Bytes    int             `json:"bytes"`
	Accepted bool            `json:"accepted"`
	Refusal  *policy.Refusal `json:"refusal,omitempty"`
	ABI      string          `json:"abi,omitempty"`
	HostABI  string          `json:"host_abi"`
	Manifest *abi.Manifest   `json:"manifest,omitempty"`
	Exports  []wasmExport    `json:"exports,omitempty"`
	Imports  []string        `json:"imports,omitempty"`
	Sizes    *pluginSizes    `json:"sizes,omitempty"`
	Limits   []pluginLimit   `json:"limits,omitempty"`
}

type wasmExport struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// pluginSizes are figures that no limit of their own stands against.
type pluginSizes struct {
	Code           int    `json:"code_bytes"`
	Data           int    `json:"data_bytes"`
	MemoryMin      uint32 `json:"memory_min_pages"`
	MemoryMax      uint32 `json:"memory_max_pages,omitempty"` // as declared
	MutableGlobals int    `json:"mutable_globals"`
}

// pluginLimit is a limit in force and the module's own figure. A limit that is a
// sum of several has its formula in words.
type pluginLimit struct {
	Name    string `json:"name"`
	Own     *int64 `json:"own,omitempty"`
	Limit   int64  `json:"limit"`
	Formula string `json:"formula,omitempty"`
}

// inspectPlugin does what plugin inspect says.
func inspectPlugin(s Streams, o *pluginInspectOptions) error {
	if err := oneOf("output", o.output, "table", "json"); err != nil {
		return err
	}
	w, err := openWorkshop(nil)
	if err != nil {
		return err
	}
	defer w.close()
	bin, err := readModule(o.file, int64(w.limits.Module.Bytes))
	if err != nil {
		return err
	}
	facts := pluginFacts{File: o.file, Bytes: len(bin), HostABI: version(abi.Minor)}
	m, wrong := w.load(o.file)
	refusal := refusalOf(wrong)
	switch {
	case refusal != nil:
		facts.Refusal, facts.Digest = refusal, refusal.Digest
	case wrong != nil:
		return wrong
	default:
		if err := facts.tell(m); err != nil {
			return err
		}
	}
	if o.output == "json" {
		err = writeJSON(s.Out, &facts)
	} else {
		err = facts.table(s.Out)
	}
	if err == nil && refusal != nil {
		return refused(o.file, wrong)
	}
	return err
}

func version(minor int) string { return fmt.Sprintf("%d.%d", abi.Major, minor) }

// tell fills in what an accepted module says.
func (f *pluginFacts) tell(m *policy.Module) error {
	i := m.Info
	f.Digest, f.Accepted, f.ABI, f.Manifest = m.Digest, true, version(m.Minor), m.Manifest
	for _, e := range i.Exports {
		f.Exports = append(f.Exports, wasmExport{e.Name, []string{"function", "table", "memory", "global"}[e.Kind]})
	}
	for _, e := range i.Imports {
		f.Imports = append(f.Imports, e.Module+"."+e.Name)
	}
	f.Sizes = &pluginSizes{Code: i.Code, Data: i.Data, MemoryMin: i.MemoryMin, MutableGlobals: i.Globals}
	if i.HasMax {
		f.Sizes.MemoryMax = i.MemoryMax
	}
	setup, err := m.SetupFuel()
	if err != nil {
		return err
	}
	l := m.Limits()
	f.limit("module, bytes", f.Bytes, l.Module.Bytes)
	f.limit("functions, imported ones included", i.Functions+len(i.Imports), l.Module.Functions)
	f.limit("largest function body, bytes", i.LargestBody, l.Module.Body)
	f.limit("control targets of a function", i.Targets, l.Module.Targets)
	f.limit("control targets x locals of a function", i.TargetsByLocals, l.Module.TargetsByLocals)
	f.limit("control targets x locals of all functions", i.TotalTargetsByLocals, l.Module.TotalTargetsByLocals)
	// What the module asks for as its maximum is lowered to the cap, so its
	// beginning is what counts.
	f.limit("memory, pages of 64 KiB", int(i.MemoryMin), int(l.Module.MemoryPages))
	f.limit("fuel of set-up", int(setup), int(l.SetupFuel))
	f.bound("call depth", int64(l.Module.Depth), "")
	f.bound("rows of a call", abi.MaxRows, "")
	f.bound("fuel of a call", l.CallFuel, "")
	job := fmt.Sprintf("%d + rows x %d", l.JobFuel, l.RowFuel)
	if m.Manifest.WantsProfile {
		job = fmt.Sprintf("%d + rows x (%d + %d x shapes of the profile x device slots)", l.JobFuel, l.RowFuel, l.ShapeFuel)
	}
	f.bound("fuel of a job", l.JobFuel, job)
	f.bound("compile, CPU milliseconds", l.Compile.Milliseconds(), "")
	f.bound("compile, bytes of memory", l.CompileMemory, "")
	return nil
}

func (f *pluginFacts) limit(name string, own, limit int) {
	value := int64(own)
	f.Limits = append(f.Limits, pluginLimit{Name: name, Own: &value, Limit: int64(limit)})
}

func (f *pluginFacts) bound(name string, limit int64, formula string) {
	f.Limits = append(f.Limits, pluginLimit{Name: name, Limit: limit, Formula: formula})
}

// flags are the words for what a manifest switches on.
func flags(m *abi.Manifest) string {
	var on []string
	for _, flag := range []struct {
		name string
		on   bool
	}{{"row_pure", m.RowPure}, {"chooses_devices", m.ChoosesDevices}, {"wants_profile", m.WantsProfile}} {
		if flag.on {
			on = append(on, flag.name)
		}
	}
	return strings.Join(on, ", ")
}
