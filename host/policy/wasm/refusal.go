package wasm

import (
	"fmt"
	"strings"
)

// Rule names what a module must keep. The names are part of what `poise plugin
// check` prints; tools match on them.
const (
	RuleFormat       = "format"        // not a well-formed core 2.0 binary
	RuleOpcode       = "opcode"        // an instruction that is unknown here
	RuleIndex        = "index"         // an index beyond what the module has
	RuleBytes        = "bytes"         // module too long
	RuleFunctions    = "functions"     // too many functions
	RuleBody         = "body"          // function too long
	RuleTargets      = "targets"       // too many control targets in a function, or times locals, or in sum
	RuleLocals       = "locals"        // too many locals
	RuleArity        = "arity"         // type with too many parameters and results
	RuleMemory       = "memory"        // not exactly one memory, own and exported, within the cap
	RuleTable        = "table"         // imported or too large a table
	RuleTableWrite   = "table-write"   // an instruction that changes a table
	RuleSegmentDrop  = "segment-drop"  // an instruction that drops a segment
	RuleGlobals      = "globals"       // too many globals, or one that cannot be restored
	RuleStart        = "start"         // a start section
	RuleImport       = "import"        // an import that the contract does not offer
	RuleImportByRef  = "import-by-ref" // an import that can be called other than by call
	RuleExport       = "export"        // an export with the wrong kind or signature, or a missing one
	RuleReservedName = "reserved-name" // an export whose name is the host's
)

// Refusal says why a module is not accepted.
type Refusal struct {
	Rule   string
	Func   int    // index of the function, imports included; -1 if none
	Name   string // of that function, if it is exported or has one in the name section
	Offset int    // into the module, of the offending byte
	Detail string // field, value and what was expected
}

// Error gives rule, function, offset and detail in one line.
func (r *Refusal) Error() string {
	var s strings.Builder
	s.WriteString(r.Rule)
	if r.Func >= 0 {
		fmt.Fprintf(&s, ", function %d", r.Func)
		if r.Name != "" {
			fmt.Fprintf(&s, " (%s)", printable(r.Name))
		}
	}
	fmt.Fprintf(&s, ", offset %#x: %s", r.Offset, r.Detail)
	return s.String()
}

// printable keeps what a guest chose to call itself from writing to a terminal
// at length or in control characters.
func printable(name string) string {
	const most = 64
	short := name
	if len(short) > most {
		short = strings.ToValidUTF8(short[:most], "") + "…"
	}
	quoted := fmt.Sprintf("%q", short)
	return quoted[1 : len(quoted)-1]
}
