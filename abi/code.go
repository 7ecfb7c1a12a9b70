package abi

// Code says what is wrong with a plugin or with one of its calls. The failure
// rule of an activation is the same for every code.
type Code string

// The codes.
const (
	CodeFetch         Code = "fetch"          // the module is not to be had
	CodeDigest        Code = "digest"         // its bytes are not those of its digest
	CodeVerify        Code = "verify"         // the verifier refuses it
	CodeCompile       Code = "compile"        // it does not compile within the limits
	CodeConfigure     Code = "configure"      // manifest, set-up or parameters are wrong
	CodeTrap          Code = "trap"           // unreachable, out of bounds, division by zero, …
	CodeFuel          Code = "fuel"           // it used more than its fuel
	CodeMemory        Code = "memory"         // it asked for more memory than its cap
	CodeDepth         Code = "depth"          // its calls nest too deep
	CodeBadOutput     Code = "bad-output"     // a loss, reason, mask or pointer that is not allowed
	CodeStatus        Code = "status"         // the call gave a result other than 0
	CodeMissingExport Code = "missing-export" // an export of the contract is not there
	CodeABIMismatch   Code = "abi-mismatch"   // it is made for another version of the contract
)

// Codes lists all codes, in the order in which tables show them.
func Codes() []Code {
	return []Code{
		CodeFetch, CodeDigest, CodeVerify, CodeCompile, CodeConfigure, CodeTrap, CodeFuel,
		CodeMemory, CodeDepth, CodeBadOutput, CodeStatus, CodeMissingExport, CodeABIMismatch,
	}
}
