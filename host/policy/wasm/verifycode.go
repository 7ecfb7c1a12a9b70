package wasm

import "fmt"

// code checks every function and notes the largest figures.
func (v *verifier) code(info *Info) {
	var s scan
	calls := newCalls(v.m)
	for i, b := range v.m.bodies {
		if v.err != nil {
			return
		}
		fn := v.m.importedFuncs + i
		if n := b.to - b.from; n > v.l.Body {
			v.refuseIn(fn, b.at, RuleBody, "body: %d bytes, expected at most %d", n, v.l.Body)
			return
		}
		if v.err = v.m.scanBody(i, &s); v.err != nil {
			v.err.Name = v.m.functionName(fn)
			return
		}
		v.body(fn, b, &s, info)
		calls.add(fn, &s)
	}
	sizes := calls.size()
	for i, e := range v.m.exports {
		info.Exports[i].Sizes = e.kind == kindFunc && sizes[e.index]
	}
}

// refuseIn refuses in a function.
func (v *verifier) refuseIn(fn, at int, rule, format string, args ...any) {
	if v.err == nil {
		v.err = &Refusal{Rule: rule, Func: fn, Name: v.m.functionName(fn), Offset: at, Detail: fmt.Sprintf(format, args...)}
	}
}

// body checks one function.
func (v *verifier) body(fn int, b body, s *scan, info *Info) {
	for _, x := range [...]struct {
		at           int
		rule, detail string
	}{
		{s.tableWrite, RuleTableWrite, "instruction: writes to a table, expected tables to stay as they are"},
		{s.segmentDrop, RuleSegmentDrop, "instruction: drops a segment, which cannot be restored, expected none"},
		{s.importRef, RuleImportByRef, "reference: to an imported function, expected imports to be called by name only"},
	} {
		if x.at >= 0 {
			v.refuseIn(fn, x.at, x.rule, "%s", x.detail)
		}
	}
	if s.locals > maxLocals {
		v.refuseIn(fn, b.from, RuleLocals, "locals: %d, expected at most %d", s.locals, maxLocals)
		return
	}
	targets := max(s.targets, 1)
	product := targets * int(s.locals)
	info.LargestBody = max(info.LargestBody, b.to-b.from)
	info.Targets = max(info.Targets, targets)
	info.TargetsByLocals = max(info.TargetsByLocals, product)
	info.TotalTargetsByLocals += product
	for _, x := range [...]struct {
		what      string
		got, most int
	}{
		{"control targets", targets, v.l.Targets},
		{"control targets times locals", product, v.l.TargetsByLocals},
		{"control targets times locals, in sum", info.TotalTargetsByLocals, v.l.TotalTargetsByLocals},
	} {
		if x.got > x.most {
			v.refuseIn(fn, b.from, RuleTargets, "%s: %d, expected at most %d", x.what, x.got, x.most)
		}
	}
}
