package abi

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Setting is the value of one parameter: 8 bytes of the block, or the text of a
// symbol, which the host turns into an id.
type Setting struct {
	Bits     uint64
	Symbol   string
	IsSymbol bool
}

// maxExact is the largest whole number up to which float64 has every one: the
// bounds of an i64 parameter are written as JSON numbers.
const maxExact = 1 << 53

func (p *Param) validate() error {
	if err := plainName("name", p.Name); err != nil {
		return err
	}
	numeric := p.Type == ParamF64 || p.Type == ParamI64
	switch {
	case !numeric && p.Type != ParamBool && p.Type != ParamSymbol && p.Type != ParamEnum:
		return fmt.Errorf("%s: type %q, expected f64, i64, bool, symbol or enum", p.Name, p.Type)
	case !numeric && (p.Min != nil || p.Max != nil):
		return fmt.Errorf("%s: min or max on a %s, expected them on f64 and i64 only", p.Name, p.Type)
	case p.Min != nil && p.Max != nil && *p.Min > *p.Max:
		return fmt.Errorf("%s: min %v above max %v", p.Name, *p.Min, *p.Max)
	case (p.Type == ParamEnum) != (len(p.Values) > 0):
		return fmt.Errorf("%s: values: %d, expected at least one on an enum and none elsewhere", p.Name, len(p.Values))
	}
	if err := distinct(p.Name+": values", p.Values, MaxReason); err != nil {
		return err
	}
	if p.Default == nil {
		return nil
	}
	if _, err := p.Parse(p.DefaultText()); err != nil {
		return fmt.Errorf("default: %w", err)
	}
	return nil
}

// DefaultText is the default as a person would write it, "" where there is none.
func (p *Param) DefaultText() string {
	var text string
	if json.Unmarshal(p.Default, &text) == nil {
		return text
	}
	return string(p.Default)
}

// Parse reads a value given as text. Its errors name the parameter, the value
// and what was expected.
func (p *Param) Parse(text string) (Setting, error) {
	wrong := func(expected string) (Setting, error) {
		return Setting{}, fmt.Errorf("%s: %s, expected %s", p.Name, quoted(text), expected)
	}
	switch p.Type {
	case ParamF64:
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || !p.within(v) {
			return wrong("a finite number" + p.bounds())
		}
		return Setting{Bits: math.Float64bits(v + 0)}, nil
	case ParamI64:
		v, err := strconv.ParseInt(text, 10, 64)
		switch {
		case errors.Is(err, strconv.ErrRange) || v > maxExact || v < -maxExact:
			return wrong("a whole number, at most 2^53 either way")
		case err != nil || !p.within(float64(v)):
			return wrong("a whole number" + p.bounds())
		}
		return Setting{Bits: uint64(v)}, nil
	case ParamBool:
		switch text {
		case "true":
			return Setting{Bits: 1}, nil
		case "false":
			return Setting{}, nil
		}
		return wrong("true or false")
	case ParamEnum:
		i := slices.Index(p.Values, text)
		if i < 0 {
			return wrong("one of " + strings.Join(p.Values, ", "))
		}
		return Setting{Bits: uint64(i)}, nil
	}
	if len(text) > 253 {
		return wrong("a text of at most 253 bytes")
	}
	return Setting{Symbol: text, IsSymbol: true}, nil
}

func (p *Param) within(v float64) bool {
	return (p.Min == nil || v >= *p.Min) && (p.Max == nil || v <= *p.Max)
}

func (p *Param) bounds() string {
	switch {
	case p.Min != nil && p.Max != nil:
		return fmt.Sprintf(" from %v to %v", *p.Min, *p.Max)
	case p.Min != nil:
		return fmt.Sprintf(", at least %v", *p.Min)
	case p.Max != nil:
		return fmt.Sprintf(", at most %v", *p.Max)
	}
	return ""
}

// Settings gives the values of all parameters in order: those of given, else the
// defaults. A name that the manifest does not declare, a value that is not
// allowed, and a missing one without a default are refused.
func (m *Manifest) Settings(given map[string]string) ([]Setting, error) {
	names := make([]string, len(m.Params))
	all := make([]Setting, len(m.Params))
	for i := range m.Params {
		p := &m.Params[i]
		names[i] = p.Name
		text, ok := given[p.Name]
		switch {
		case ok:
		case p.Default != nil:
			text = p.DefaultText()
		default:
			return nil, fmt.Errorf("%s: not given, expected a value of type %s", p.Name, p.Type)
		}
		v, err := p.Parse(text)
		if err != nil {
			return nil, err
		}
		all[i] = v
	}
	unknown := make([]string, 0, len(given))
	for name := range given {
		if !slices.Contains(names, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		expected := "none: the plugin has no parameters"
		if len(names) > 0 {
			expected = "one of " + strings.Join(names, ", ")
		}
		return nil, fmt.Errorf("%s: unknown parameter, expected %s", unknown[0], expected)
	}
	return all, nil
}
