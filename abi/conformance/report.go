package conformance

import "fmt"

// Outcome is how a check ended.
type Outcome string

// The outcomes. A warning is about something that is allowed and unwise.
const (
	Pass Outcome = "pass"
	Warn Outcome = "warn"
	Skip Outcome = "skip"
	Fail Outcome = "fail"
)

// Result is one demand of the contract and whether the plugin meets it.
type Result struct {
	Name    string  `json:"name"`
	Outcome Outcome `json:"outcome"`
	Detail  string  `json:"detail"`
}

// Report holds all checks in the order in which they were made.
type Report []Result

// Failed counts the checks that failed.
func (r Report) Failed() int {
	n := 0
	for i := range r {
		if r[i].Outcome == Fail {
			n++
		}
	}
	return n
}

// violation is a demand that is not met, as opposed to a kit that does not work.
type violation string

func (v violation) Error() string { return string(v) }

func violates(format string, args ...any) error { return violation(fmt.Sprintf(format, args...)) }
