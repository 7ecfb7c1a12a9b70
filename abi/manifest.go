package abi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Manifest is what a plugin says of itself: a JSON object that poise_describe
// points to. Name and version are required; an unknown key is refused.
type Manifest struct {
	Name           string            `json:"name"`
	Version        string            `json:"version"`
	Description    string            `json:"description,omitempty"`
	Columns        []string          `json:"columns,omitempty"`         // see ParseColumn
	Labels         []string          `json:"labels,omitempty"`          // label keys wanted as columns
	Domains        []string          `json:"domains,omitempty"`         // label keys wanted with counts
	Params         []Param           `json:"params,omitempty"`          // in the order of the block
	Reasons        map[string]string `json:"reasons,omitempty"`         // code "1".."255" to text
	JobFields      []string          `json:"job_fields,omitempty"`      // see JobFields, in the order of the block
	RowPure        bool              `json:"row_pure,omitempty"`        // an answer depends on row, job and blocks only
	ChoosesDevices bool              `json:"chooses_devices,omitempty"` // score writes device masks
	WantsProfile   bool              `json:"wants_profile,omitempty"`
	LossRange      []float64         `json:"loss_range,omitempty"` // [lo, hi]; needed to be combined with other losses
	Tie            string            `json:"tie,omitempty"`        // "name" (also "") or "seeded"
}

// ParamType is the type of a parameter.
type ParamType string

// The types of parameter. Each takes 8 bytes in the block: f64, i64, bool as 0
// or 1, symbol as its id, enum as its index in Values.
const (
	ParamF64    ParamType = "f64"
	ParamI64    ParamType = "i64"
	ParamBool   ParamType = "bool"
	ParamSymbol ParamType = "symbol"
	ParamEnum   ParamType = "enum"
)

// Param is one parameter. A parameter without a default must be given.
type Param struct {
	Name    string          `json:"name"`
	Type    ParamType       `json:"type"`
	Default json.RawMessage `json:"default,omitempty"`
	Min     *float64        `json:"min,omitempty"` // f64 and i64
	Max     *float64        `json:"max,omitempty"`
	Values  []string        `json:"values,omitempty"` // enum
}

// Job fields, each 8 bytes in the block of the job.
const (
	FieldPriority  = "priority"   // i64
	FieldTasks     = "tasks"      // i64: tasks of the job
	FieldTaskIndex = "task_index" // i64: which of them this is, from 0
	FieldTenant    = "tenant"     // symbol
	FieldRunTime   = "run_time"   // i64: milliseconds, 0 = not declared
	FieldSeed      = "seed"       // u64: the same for every attempt at this job
)

var jobFields = []string{FieldPriority, FieldTasks, FieldTaskIndex, FieldTenant, FieldRunTime, FieldSeed}

// ParseManifest reads and checks a manifest. Its errors name the key, the value
// and what was expected.
func ParseManifest(text []byte) (*Manifest, error) {
	switch {
	case len(text) > MaxManifest:
		return nil, fmt.Errorf("manifest: %d bytes, expected at most %d", len(text), MaxManifest)
	case !utf8.Valid(text):
		return nil, errors.New("manifest: not valid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	m := &Manifest{}
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("manifest: %s, expected a JSON object of the known keys", strings.TrimPrefix(err.Error(), "json: "))
	}
	if !json.Valid(text) {
		return nil, errors.New("manifest: more text after the object, expected one JSON object")
	}
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	return m, nil
}

// Validate checks every key and names the first that is wrong.
func (m *Manifest) Validate() error {
	for _, err := range []error{
		plainName("name", m.Name), plainName("version", m.Version),
		distinct("columns", m.Columns, MaxColumns), distinct("labels", m.Labels, MaxLabels), distinct("domains", m.Domains, MaxLabels),
		distinct("job_fields", m.JobFields, len(jobFields)),
		m.checkColumns(), m.checkParams(), m.checkReasons(), m.checkLossRange(),
	} {
		if err != nil {
			return err
		}
	}
	for _, f := range m.JobFields {
		if !slices.Contains(jobFields, f) {
			return fmt.Errorf("job_fields: %q, expected one of %s", f, strings.Join(jobFields, ", "))
		}
		if m.RowPure && (f == FieldSeed || f == FieldTaskIndex) {
			return fmt.Errorf("job_fields: %q with row_pure, expected neither seed nor task_index: its answers are kept for other jobs", f)
		}
	}
	if m.Tie != "" && m.Tie != "name" && m.Tie != "seeded" {
		return fmt.Errorf("tie: %q, expected name or seeded", m.Tie)
	}
	return nil
}

func (m *Manifest) checkColumns() error {
	seen := map[Column]bool{}
	for _, text := range m.Columns {
		c, err := ParseColumn(text)
		if err != nil {
			return fmt.Errorf("columns: %w", err)
		}
		if seen[c] {
			return fmt.Errorf("columns: %q is named twice", text)
		}
		seen[c] = true
		if c.Kind == Age && m.RowPure {
			return errors.New("columns: \"age\" with row_pure: it changes without a change of the row")
		}
	}
	return nil
}

func (m *Manifest) checkParams() error {
	names := make([]string, len(m.Params))
	for i := range m.Params {
		names[i] = m.Params[i].Name
		if err := m.Params[i].validate(); err != nil {
			return fmt.Errorf("params: %w", err)
		}
	}
	return distinct("params", names, MaxParams)
}

func (m *Manifest) checkReasons() error {
	for code, text := range m.Reasons {
		n, err := strconv.Atoi(code)
		if err != nil || n < 1 || n > MaxReason || strconv.Itoa(n) != code {
			return fmt.Errorf("reasons: code %q, expected 1 to %d", code, MaxReason)
		}
		if text == "" || len(text) > 200 || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return fmt.Errorf("reasons: text of %s: %s, expected 1 to 200 bytes without control characters", code, quoted(text))
		}
	}
	return nil
}

func (m *Manifest) checkLossRange() error {
	r := m.LossRange
	if len(r) == 0 {
		return nil
	}
	if len(r) != 2 || !(r[0] < r[1]) || math.IsInf(r[1]-r[0], 0) {
		return fmt.Errorf("loss_range: %v, expected [lo, hi] with lo below hi and a finite distance", r)
	}
	return nil
}

// Reason gives the text of a reason code, and whether the manifest has it.
func (m *Manifest) Reason(code uint32) (string, bool) {
	text, ok := m.Reasons[strconv.FormatUint(uint64(code), 10)]
	return text, ok
}

// AllColumns gives the columns in the order of the table: those of Columns, then
// one per label. The manifest is valid.
func (m *Manifest) AllColumns() []Column {
	all := make([]Column, 0, len(m.Columns)+len(m.Labels))
	for _, text := range m.Columns {
		c, err := ParseColumn(text)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		all = append(all, c)
	}
	for _, key := range m.Labels {
		all = append(all, Column{Kind: Label, Name: key})
	}
	return all
}

// Dims gives the dimensions of the plugin, in the order in which its columns
// first name them with capacity or allocated. Requests, fleet, domains and
// profile have an amount for each.
func (m *Manifest) Dims() []string {
	var dims []string
	for _, c := range m.AllColumns() {
		if (c.Kind == Capacity || c.Kind == Allocated) && !slices.Contains(dims, c.Name) {
			dims = append(dims, c.Name)
		}
	}
	return dims
}

// Wants says whether the manifest has a column of the kind.
func (m *Manifest) Wants(k Kind) bool {
	return slices.ContainsFunc(m.AllColumns(), func(c Column) bool { return c.Kind == k })
}

// plainName checks a name of the manifest's own.
func plainName(key, name string) error {
	if name == "" || len(name) > 100 {
		return fmt.Errorf("%s: %s, expected 1 to 100 bytes", key, quoted(name))
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return fmt.Errorf("%s: %q, expected no space or control character", key, name)
	}
	return nil
}

// quoted gives a text in quotes, of a long one the beginning and its length.
func quoted(text string) string {
	const most = 40
	if len(text) <= most {
		return strconv.Quote(text)
	}
	return fmt.Sprintf("%q… (%d bytes)", strings.ToValidUTF8(text[:most], ""), len(text))
}

func distinct(key string, list []string, most int) error {
	if len(list) > most {
		return fmt.Errorf("%s: %d, expected at most %d", key, len(list), most)
	}
	for i, name := range list {
		if err := plainName(key, name); err != nil {
			return err
		}
		if slices.Contains(list[:i], name) {
			return fmt.Errorf("%s: %q is named twice", key, name)
		}
	}
	return nil
}
