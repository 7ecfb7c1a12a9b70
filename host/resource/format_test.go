package resource

import (
	"math"
	"strings"
	"testing"
)

func TestFormat(t *testing.T) {
	f := func(name string, amount int64, want string) {
		t.Helper()
		if got := Format(name, amount); got != want {
			t.Errorf("Format(%q, %d) = %q, expected %q", name, amount, got, want)
		}
		if strings.HasPrefix(want, "-") {
			return
		}
		if got, err := ParseRequest(name, want); err != nil || got != amount {
			t.Errorf("ParseRequest(%q, %q) = %d, %v; expected %d", name, want, got, err, amount)
		}
	}
	f("memory", 0, "0")
	f("memory", 1, "1")
	f("memory", 999, "999")
	f("memory", 1000, "1k")
	f("memory", 1023, "1023")
	f("memory", 1024, "1Ki")
	f("memory", 1500, "1.5k")
	f("memory", 1536, "1536")
	f("memory", 512<<20, "512Mi")
	f("memory", 3<<29, "1.5Gi")
	f("memory", 5<<28, "1.25Gi")
	f("memory", 1100<<20, "1100Mi")
	f("memory", 32879684<<10, "32879684Ki")
	f("memory", 500_000_000, "500M")
	f("memory", 64_000_000_000, "64G")
	f("memory", 2254857831, "2254857831") // 2.1Gi rounded up
	f("storage", 3<<39, "1.5Ti")
	f("memory", 7<<60, "7Ei")
	f("memory", math.MaxInt64, "9223372036854775807")
	f("memory", -(512 << 20), "-512Mi")
	f("memory", math.MinInt64, "-8Ei")

	f("cpu", 0, "0")
	f("cpu", 1, "1m")
	f("cpu", 500, "500m")
	f("cpu", 999, "999m")
	f("cpu", 1000, "1")
	f("cpu", 1500, "1.5")
	f("cpu", 1001, "1.001")
	f("cpu", 1010, "1.01")
	f("cpu", 64_000, "64")
	f("cpu", 1_024_000, "1024")
	f("cpu", 2_000_000, "2000")
	f("cpu", 1_234_567_890, "1234567.89")
	f("cpu", 2_000_000_000, "2M")
	f("vendor.example/vram", 3<<29*1000, "1.5Gi")
	f("cpu", math.MaxInt64, "9223372036854775.807")
	f("cpu", -1500, "-1.5")
	f("cpu", math.MinInt64, "-9223372036854775.808")
}
