package policy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/policy/wasm"
)

var (
	call1  = wasm.Signature{Results: []wasm.ValType{wasm.I32}}
	call21 = wasm.Signature{Params: []wasm.ValType{wasm.I32, wasm.I32}, Results: []wasm.ValType{wasm.I32}}
	call31 = wasm.Signature{Params: []wasm.ValType{wasm.I32, wasm.I32, wasm.I32}, Results: []wasm.ValType{wasm.I32}}
)

// contract is what SPEC.md says of imports and exports, for the verifier. Which
// exports must be there is checked apart, because it has a code of its own.
func contract(log bool) wasm.Contract {
	offer := "none"
	if log {
		offer = "none but " + abi.LogModule + "." + abi.LogName
	}
	return wasm.Contract{
		Offer: offer + " (stock Go: those of " + abi.WASIModule + " that its runtime needs)",
		Imports: func(module, name string) (wasm.Signature, bool) {
			switch {
			case module == abi.WASIModule:
				for i := range wasiFunctions {
					if wasiFunctions[i].name == name {
						return wasm.Signature{Params: wasiFunctions[i].params, Results: wasiFunctions[i].results()}, true
					}
				}
			case log && module == abi.LogModule && name == abi.LogName:
				return wasm.Signature{Params: []wasm.ValType{wasm.I32, wasm.I32}}, true
			}
			return wasm.Signature{}, false
		},
		Exports: map[string]wasm.Signature{
			abi.Marker:     call1,
			abi.Describe:   call1,
			abi.Alloc:      call21,
			abi.Initialize: {},
			abi.Filter:     call31,
			abi.Score:      call31,
		},
		ReservedPrefix: abi.ReservedPrefix,
	}
}

// verify checks a module against limits and contract and names the limits that
// apply to it.
func (s settings) verify(bin []byte) (*wasm.Info, *Fault) {
	// Only its imports say that a module is of stock Go, so the larger memory
	// is allowed at first.
	generous := s.Limits.Module
	generous.MemoryPages = max(generous.MemoryPages, s.Limits.GoMemoryPages)
	info, err := wasm.Verify(bin, generous, contract(s.Log))
	if err == nil && info.MemoryMin > s.limitsFor(info).Module.MemoryPages {
		info, err = wasm.Verify(bin, s.limitsFor(info).Module, contract(s.Log))
	}
	if err != nil {
		return nil, refused(err)
	}
	return info, checkExports(info)
}

// limitsFor gives the limits as they apply to a module.
func (s settings) limitsFor(info *wasm.Info) Limits {
	l := s.Limits
	if info.ImportsWASI {
		l.Module.MemoryPages, l.CallFuel = l.GoMemoryPages, min(l.CallFuel, l.GoCallFuel)
	}
	return l
}

// refused makes a Fault of what the verifier says, with a hint where the usual
// cause is known.
func refused(err error) *Fault {
	f := &Fault{Code: abi.CodeVerify, Err: err}
	var r *wasm.Refusal
	if errors.As(err, &r) && r.Rule == wasm.RuleImport {
		f.Detail = importHint(r.Detail)
	}
	return f
}

// importHint says what to do about an import that is not offered.
func importHint(detail string) string {
	switch {
	case strings.Contains(detail, "import: "+abi.WASIModule+"."):
		return "a stock Go module gets such an import from package os, net or time; expected none of them"
	case strings.Contains(detail, "import: "+abi.LogModule+"."):
		return "poise.log exists under plugin run and test only"
	}
	return ""
}

// markerPrefix begins the marker of any major version.
const markerPrefix = "poise_abi_v"

// checkExports looks for the functions of the contract.
func checkExports(info *wasm.Info) *Fault {
	has := map[string]bool{}
	other := ""
	for _, e := range info.Exports {
		has[e.Name] = true
		if v, ok := strings.CutPrefix(e.Name, markerPrefix); ok && e.Name != abi.Marker {
			if _, err := strconv.ParseUint(v, 10, 16); err == nil {
				other = e.Name
			}
		}
	}
	if !has[abi.Marker] && other != "" {
		return &Fault{Code: abi.CodeABIMismatch, Export: other, Detail: fmt.Sprintf("the plugin is made for %s, expected %s", other, abi.Marker)}
	}
	for _, name := range []string{abi.Marker, abi.Describe, abi.Alloc} {
		if !has[name] {
			return &Fault{Code: abi.CodeMissingExport, Export: name, Detail: "not exported, expected a function"}
		}
	}
	if !has[abi.Filter] && !has[abi.Score] {
		return &Fault{Code: abi.CodeMissingExport, Export: abi.Filter, Detail: "neither " + abi.Filter + " nor " + abi.Score + " is exported, expected at least one"}
	}
	return nil
}
