package workload

import (
	"math"
	"strings"
	"testing"
)

// Any line is a record within the bounds of the format, which reads back as it is
// written, or a fault that names value and what was expected.
func FuzzParseRecord(f *testing.F) {
	f.Add(plain)
	f.Add("1 0 -1 -1.0 9223372036854775807 -1 . 1. .5 +1 -0 0x1 1e9 ٣ -1 -1 -1 -1")
	f.Fuzz(func(t *testing.T, line string) {
		r, fault := ParseRecord(line)
		if fault != nil {
			if fault.Value == "" || fault.Want == "" {
				t.Fatalf("%+v", *fault)
			}
			return
		}
		again, fault := ParseRecord(strings.TrimSuffix(string(r.Append(nil)), "\n"))
		if fault != nil || again != r {
			t.Fatalf("%+v and %+v, want %+v", again, fault, r)
		}
		if r.Ran() {
			if n, memory, ok := r.Ask(); ok && (n < 1 || memory < 0 || memory > math.MaxInt64/n) {
				t.Fatalf("%d processors, %d bytes", n, memory)
			}
		}
	})
}
