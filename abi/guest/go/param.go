package poise

import "strconv"

// param is a parameter of the manifest; fallback, min and max are JSON values.
type param struct {
	name, kind, fallback, min, max string
	values                         []string
}

func (p *Plugin) param(name, kind string, values ...string) paramOf {
	p.params = append(p.params, param{name: name, kind: kind, values: values})
	return paramOf{p, len(p.params) - 1}
}

// paramOf is a declared parameter.
type paramOf struct {
	plugin *Plugin
	index  int
}

func (p paramOf) declared() *param { return &p.plugin.params[p.index] }

func (p paramOf) bits(c *Call) *uint64 { return c.word64(c.params, 8*p.index) }

// F64 is a parameter of type f64. Without a default a tenant must give it.
type F64 struct{ paramOf }

// F64 declares a parameter of type f64.
func (p *Plugin) F64(name string) F64 { return F64{p.param(name, "f64")} }

// Default gives the parameter a default.
func (p F64) Default(v float64) F64 { p.declared().fallback = string(number(nil, v)); return p }

// Min bounds the parameter from below.
func (p F64) Min(v float64) F64 { p.declared().min = string(number(nil, v)); return p }

// Max bounds the parameter from above.
func (p F64) Max(v float64) F64 { p.declared().max = string(number(nil, v)); return p }

// Of gives the value in force.
func (p F64) Of(c *Call) float64 { return *c.double(c.params, 8*p.index) }

// I64 is a parameter of type i64. Without a default a tenant must give it.
type I64 struct{ paramOf }

// I64 declares a parameter of type i64.
func (p *Plugin) I64(name string) I64 { return I64{p.param(name, "i64")} }

// Default gives the parameter a default.
func (p I64) Default(v int64) I64 { p.declared().fallback = strconv.FormatInt(v, 10); return p }

// Min bounds the parameter from below.
func (p I64) Min(v int64) I64 { p.declared().min = strconv.FormatInt(v, 10); return p }

// Max bounds the parameter from above.
func (p I64) Max(v int64) I64 { p.declared().max = strconv.FormatInt(v, 10); return p }

// Of gives the value in force.
func (p I64) Of(c *Call) int64 { return int64(*p.bits(c)) }

// Bool is a parameter of type bool. Without a default a tenant must give it.
type Bool struct{ paramOf }

// Bool declares a parameter of type bool.
func (p *Plugin) Bool(name string) Bool { return Bool{p.param(name, "bool")} }

// Default gives the parameter a default.
func (p Bool) Default(v bool) Bool { p.declared().fallback = strconv.FormatBool(v); return p }

// Of gives the value in force.
func (p Bool) Of(c *Call) bool { return *p.bits(c) != 0 }

// SymbolParam is a parameter of type symbol: a text as the host's number for it.
// Without a default a tenant must give it.
type SymbolParam struct{ paramOf }

// Symbol declares a parameter of type symbol.
func (p *Plugin) Symbol(name string) SymbolParam { return SymbolParam{p.param(name, "symbol")} }

// Default gives the parameter a default; the empty text is the absent symbol.
func (p SymbolParam) Default(v string) SymbolParam {
	p.declared().fallback = string(text(nil, v))
	return p
}

// Of gives the value in force.
func (p SymbolParam) Of(c *Call) Symbol { return Symbol(*p.bits(c)) }

// Enum is a parameter of type enum: one of its values.
type Enum struct{ paramOf }

// Enum declares a parameter of type enum. The first of its values is the default.
func (p *Plugin) Enum(name string, values ...string) Enum {
	e := Enum{p.param(name, "enum", values...)}
	e.declared().fallback = string(text(nil, values[0]))
	return e
}

// Of gives the value in force.
func (p Enum) Of(c *Call) string { return p.declared().values[*p.bits(c)] }
