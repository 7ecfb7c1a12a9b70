package cli

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/poise-sched/poise/abi"
)

// table prints the facts in sections of aligned columns.
func (f *pluginFacts) table(out io.Writer) error {
	var page bytes.Buffer
	section := func(title string, fill func(line func(cells ...string))) {
		var text bytes.Buffer
		w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
		fill(func(cells ...string) { fmt.Fprintln(w, strings.Join(cells, "\t")) })
		_ = w.Flush() // into memory
		if text.Len() == 0 {
			return
		}
		if title != "" {
			fmt.Fprintf(&page, "\n%s\n", title)
		}
		for row := range strings.Lines(text.String()) {
			fmt.Fprintln(&page, strings.TrimRight(row, " \n"))
		}
	}
	section("", f.heading)
	if f.Accepted {
		section("TABLE", f.columns)
		section("PARAMETERS", f.params)
		section("REASONS", f.reasons)
		section("EXPORTS AND IMPORTS", f.names)
		section("SIZES", f.sizes)
		section("LIMITS", f.limits)
	}
	_, err := page.WriteTo(out)
	return err
}

func (f *pluginFacts) heading(line func(cells ...string)) {
	m := f.Manifest
	if m != nil {
		line("plugin", m.Name+" "+m.Version)
		optional(line, "description", m.Description)
	}
	line("file", f.File)
	line("digest", f.Digest)
	if f.Refusal != nil {
		line("accepted", "no")
		f.refusal(line)
		return
	}
	line("accepted", "yes")
	line("ABI", f.ABI+", host "+f.HostABI)
	optional(line, "flags", flags(m))
	optional(line, "domains", strings.Join(m.Domains, ", "))
	optional(line, "job fields", strings.Join(m.JobFields, ", "))
	if len(m.LossRange) == 2 {
		line("loss range", fmt.Sprintf("%v to %v", m.LossRange[0], m.LossRange[1]))
	}
	if tie := m.Tie; tie != "" {
		line("ties", tie)
	}
}

func optional(line func(cells ...string), name, text string) {
	if text != "" {
		line(name, text)
	}
}

func (f *pluginFacts) refusal(line func(cells ...string)) {
	r := f.Refusal
	line("code", string(r.Code))
	optional(line, "export", r.Export)
	if r.Rule != "" {
		line("rule", r.Rule)
		if r.Function >= 0 {
			line("function", strings.TrimSpace(strconv.Itoa(r.Function)+" "+r.Name))
		}
		line("offset", fmt.Sprintf("%#x", r.Offset))
	}
	line("detail", r.Detail)
}

// columns gives the index of each column as a guest sees it.
func (f *pluginFacts) columns(line func(cells ...string)) {
	for i, c := range f.Manifest.AllColumns() {
		name, element := "label "+c.Name, "u32 symbol"
		if i < len(f.Manifest.Columns) {
			name = f.Manifest.Columns[i]
		}
		switch c.Kind {
		case abi.Capacity, abi.Allocated, abi.Age:
			element = "f64"
		case abi.Taints, abi.Selectors:
			element = "u64 bits"
		case abi.Devices:
			element = "u16 a device"
		case abi.RunningTasks, abi.TenantTasks, abi.JobTasks:
			element = "u32"
		}
		line(strconv.Itoa(i), name, element)
	}
}

func (f *pluginFacts) params(line func(cells ...string)) {
	for i := range f.Manifest.Params {
		p := &f.Manifest.Params[i]
		value := "must be given"
		if p.Default != nil {
			value = "default " + string(p.Default)
		}
		var bounds []string
		if p.Min != nil {
			bounds = append(bounds, fmt.Sprintf("at least %v", *p.Min))
		}
		if p.Max != nil {
			bounds = append(bounds, fmt.Sprintf("at most %v", *p.Max))
		}
		if len(p.Values) > 0 {
			bounds = append(bounds, "one of "+strings.Join(p.Values, ", "))
		}
		line(p.Name, string(p.Type), value, strings.Join(bounds, ", "))
	}
}

func (f *pluginFacts) reasons(line func(cells ...string)) {
	var codes []int
	for code := range f.Manifest.Reasons {
		n, _ := strconv.Atoi(code) // the manifest is valid
		codes = append(codes, n)
	}
	slices.Sort(codes)
	for _, code := range codes {
		text, _ := f.Manifest.Reason(uint32(code))
		line(strconv.Itoa(code), text)
	}
}

func (f *pluginFacts) names(line func(cells ...string)) {
	for _, e := range f.Exports {
		line("export", e.Kind, e.Name)
	}
	for _, name := range f.Imports {
		line("import", "function", name)
	}
}

func (f *pluginFacts) sizes(line func(cells ...string)) {
	s := f.Sizes
	line("code, bytes", strconv.Itoa(s.Code))
	line("data, bytes", strconv.Itoa(s.Data))
	line("mutable globals", strconv.Itoa(s.MutableGlobals))
	most := "none declared"
	if s.MemoryMax > 0 {
		most = fmt.Sprint(s.MemoryMax)
	}
	line("memory, pages", fmt.Sprintf("%d, maximum %s", s.MemoryMin, most))
}

func (f *pluginFacts) limits(line func(cells ...string)) {
	line("", "OWN", "LIMIT", "SHARE")
	for i := range f.Limits {
		l := &f.Limits[i]
		limit := l.Formula
		if limit == "" {
			limit = strconv.FormatInt(l.Limit, 10)
		}
		if l.Own == nil {
			line(l.Name, "", limit, "")
			continue
		}
		line(l.Name, strconv.FormatInt(*l.Own, 10), limit, fmt.Sprintf("%.1f %%", 100*float64(*l.Own)/float64(l.Limit)))
	}
}
