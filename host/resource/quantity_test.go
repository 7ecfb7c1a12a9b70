package resource

import (
	"math"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	f := func(name, text string, request, capacity int64) {
		t.Helper()
		if got, err := ParseRequest(name, text); err != nil || got != request {
			t.Errorf("ParseRequest(%q, %q) = %d, %v; expected %d", name, text, got, err, request)
		}
		if got, err := ParseCapacity(name, text); err != nil || got != capacity {
			t.Errorf("ParseCapacity(%q, %q) = %d, %v; expected %d", name, text, got, err, capacity)
		}
	}
	// B1: a fraction of a binary unit is not 0.
	f("memory", "0.5Gi", 512<<20, 512<<20)
	f("memory", "256Mi", 256<<20, 256<<20)
	f("memory", "1.5Ti", 3<<39, 3<<39)
	f("memory", "1.5Pi", 3<<49, 3<<49)
	f("memory", "1.5Ei", 3<<59, 3<<59)
	f("memory", "0.25Ei", 1<<58, 1<<58)
	f("storage", "0.5Ki", 512, 512)
	f("hugepages-2Mi", "1Gi", 1<<30, 1<<30)
	f("ephemeral-storage", "1.5G", 1_500_000_000, 1_500_000_000)
	f("vendor.example/vram", "1.5Gi", 3<<29*1000, 3<<29*1000)

	// B2: whole bytes, up for requests and down for capacity.
	f("memory", "2.1Gi", 2254857831, 2254857830)
	f("memory", "0.001Mi", 1049, 1048)
	f("memory", "1e3", 1000, 1000)
	f("memory", "1E", 1e18, 1e18)
	f("memory", ".5G", 500_000_000, 500_000_000)
	f("memory", "2254857830400m", 2254857831, 2254857830)
	f("memory", "1500m", 2, 1)
	f("memory", "1.5E-2", 1, 0)
	f("cpu", "1e3", 1_000_000, 1_000_000)
	f("cpu", "1.5E-2", 15, 15)
	f("cpu", ".5", 500, 500)
	f("cpu", "1.", 1000, 1000)
	f("cpu", "1.5", 1500, 1500)
	f("cpu", "1500m", 1500, 1500)
	f("cpu", "+2k", 2_000_000, 2_000_000)
	f("cpu", "1Ki", 1_024_000, 1_024_000)
	f("cpu", "1E0", 1000, 1000)
	f("cpu", "1e+2", 100_000, 100_000)
	f("cpu", "0.001Ki", 1024, 1024)
	f("cpu", "0.0001Ki", 103, 102)
	f("cpu", "007", 7000, 7000)

	// Nothing that is asked for is 0; an offer below one base unit is.
	f("cpu", "0.0001m", 1, 0)
	f("cpu", "1e-999999999", 1, 0)
	f("memory", "1m", 1, 0)
	f("memory", "0.0000000000000000000000001Ei", 1, 0)
	f("memory", "0."+strings.Repeat("0", 120)+"1", 1, 0)
	f("cpu", "0", 0, 0)
	f("cpu", "-0", 0, 0)
	f("cpu", "00.00m", 0, 0)
	f("memory", "0Ei", 0, 0)
	f("memory", "0e999999999", 0, 0)

	// B9: the largest amounts, to the last unit.
	f("memory", "7Ei", 7<<60, 7<<60)
	f("memory", "7.99Ei", 9211842821808707339, 9211842821808707338)
	f("memory", "9223372036854775807", math.MaxInt64, math.MaxInt64)
	f("memory", "9223372036854775806.1", math.MaxInt64, math.MaxInt64-1)
	f("memory", "9.223372036854775807E", math.MaxInt64, math.MaxInt64)
	f("memory", "9223372036854775807000m", math.MaxInt64, math.MaxInt64)
	f("memory", strings.Repeat("0", 100)+"1Ei", 1<<60, 1<<60)
	f("memory", "1"+strings.Repeat("0", 100)+"e-100", 1, 1)
	f("cpu", "9223372036854775.807", math.MaxInt64, math.MaxInt64)
	f("cpu", "9.2e15", 9_200_000_000_000_000_000, 9_200_000_000_000_000_000)

	// 60 decimals: 2^-60 Ei is one byte, and a little more is a second one.
	f("memory", "0.000000000000000000867361737988403547205962240695953369140625Ei", 1, 1)
	f("memory", "0.0000000000000000008673617379884035472059622406959533691406251Ei", 2, 1)
	f("memory", "0.000000000000000000867361737988403547205962240695953369140624Ei", 1, 0)
}

func TestParseRefuses(t *testing.T) {
	f := func(name, text, want string) {
		t.Helper()
		for _, parse := range []func(name, text string) (int64, error){ParseRequest, ParseCapacity} {
			got, err := parse(name, text)
			if err == nil {
				t.Errorf("%s: %q parsed as %d, expected an error", name, text, got)
			} else if got != 0 || err.Error() != want {
				t.Errorf("%s: %q = %d and\n  %s\nexpected 0 and\n  %s", name, text, got, err, want)
			}
		}
	}
	const (
		cpu    = ", such as 500m, 2 or 0.25"
		memory = ", such as 512Mi, 1.5Gi or 2G"
	)
	f("cpu", "", "cpu: empty, expected an amount such as 500m, 2 or 0.25")
	f("memory", "", "memory: empty, expected an amount such as 512Mi, 1.5Gi or 2G")

	noNumber := func(text string) {
		t.Helper()
		f("cpu", text, `cpu: "`+text+`" does not start with a number, expected an amount`+cpu)
	}
	noNumber("NaN")
	noNumber("Inf")
	noNumber("+Inf")
	noNumber("-Inf")
	noNumber(" 1")
	noNumber(".")
	noNumber("+")
	noNumber("-")
	noNumber("+-1")
	noNumber("m")
	noNumber("e3")
	noNumber("Gi")
	noNumber(".Gi")

	points := func(text string) {
		t.Helper()
		f("memory", text, `memory: "`+text+`" has two decimal points, expected an amount`+memory)
	}
	points("1.5.2Gi")
	points("1..5")
	points("1..")

	ending := func(text, end string) {
		t.Helper()
		f("memory", text, `memory: "`+text+`" ends in "`+end+`", expected nothing, an exponent or one of m k M G T P E Ki Mi Gi Ti Pi Ei after the number`+memory)
	}
	ending("1 ", " ")
	ending("1 Gi", " Gi")
	ending("1,5Gi", ",5Gi")
	ending("1_000", "_000")
	ending("0x10", "x10")
	ending("1e", "e")
	ending("1e+", "e+")
	ending("1E-", "E-")
	ending("1e3.5", "e3.5")
	ending("1.5e3m", "e3m")
	ending("1e3Ki", "e3Ki")
	ending("1Ei3", "Ei3")
	ending("1e1e1", "e1e1")
	ending("1K", "K")
	ending("1ki", "ki")
	ending("1mi", "mi")
	ending("1Gi ", "Gi ")
	ending("1GB", "GB")
	ending("1GiB", "GiB")
	ending("100n", "n")
	ending("100u", "u")
	ending("1٣", "٣")
	ending("1inf", "inf")
	ending("5-3", "-3")

	f("cpu", "-1", `cpu: "-1" is negative, expected 0 or more`)
	f("cpu", "-0.0001m", `cpu: "-0.0001m" is negative, expected 0 or more`)
	f("memory", "-9Ei", `memory: "-9Ei" is negative, expected 0 or more`)
	f("memory", "-1e999999999", `memory: "-1e999999999" is negative, expected 0 or more`)

	large := func(name, text string) {
		t.Helper()
		limit := "9223372036854775807"
		if UnitOf(name) == Milli {
			limit = "9223372036854775.807"
		}
		f(name, text, name+`: "`+text+`" is too large, expected at most `+limit)
	}
	large("memory", "8Ei") // B9
	large("memory", "9223372036854775808")
	large("memory", "10E")
	large("memory", "9.3E")
	large("memory", "1e19")
	large("memory", "1e999999999")
	large("memory", "1e99999999999999999999999999")
	large("memory", strings.Repeat("9", maxText))
	large("memory", "20000000Ti")
	large("cpu", "9.3e15")
	large("cpu", "9223372036854775.808")
	large("cpu", "1E")
	large("cpu", "9Pi")

	long := strings.Repeat("9", maxText+1)
	f("cpu", long, `cpu: "9999999999999999"… is 129 bytes long, expected an amount of at most 128 bytes`+cpu)
}

// The last base unit is where the two roundings part: one is too large.
func TestParseRoundsAtTheLimit(t *testing.T) {
	const text = "9223372036854775807.1"
	if got, err := ParseRequest("memory", text); err == nil {
		t.Errorf("ParseRequest(memory, %q) = %d, expected an error", text, got)
	}
	if got, err := ParseCapacity("memory", text); err != nil || got != math.MaxInt64 {
		t.Errorf("ParseCapacity(memory, %q) = %d, %v; expected %d", text, got, err, math.MaxInt64)
	}
}

func TestParseDoesNotAllocate(t *testing.T) {
	for _, text := range []string{"2", "1.5Gi", "1e-999999999", "0.000000000000000000867361737988403547205962240695953369140625Ei"} {
		if n := testing.AllocsPerRun(100, func() { _, _ = ParseRequest("memory", text) }); n != 0 {
			t.Errorf("ParseRequest(memory, %q) allocates %v times, expected none", text, n)
		}
	}
}

func TestParseDevices(t *testing.T) {
	f := func(text string, count, milli int32) {
		t.Helper()
		if c, m, err := ParseDevices("gpu", text); err != nil || c != count || m != milli {
			t.Errorf("ParseDevices(gpu, %q) = %d, %d, %v; expected %d, %d", text, c, m, err, count, milli)
		}
	}
	f("0", 0, 0)
	f("0m", 0, 0)
	f("1", 1, 1000)
	f("1000m", 1, 1000)
	f("2", 2, 1000)
	f("2.000", 2, 1000)
	f("2e0", 2, 1000)
	f("8000m", 8, 1000)
	f("2147483647", math.MaxInt32, 1000)
	f("0.5", 1, 500)
	f("500m", 1, 500)
	f("0.25", 1, 250) // B6
	f("0.111111", 1, 111)
	f("0.0001", 1, 1)
	f("0.9999", 1, 1000)

	bad := func(text, want string) {
		t.Helper()
		c, m, err := ParseDevices("gpu", text)
		if err == nil {
			t.Errorf("ParseDevices(gpu, %q) = %d, %d, expected an error", text, c, m)
		} else if c != 0 || m != 0 || !strings.HasPrefix(err.Error(), "gpu: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseDevices(gpu, %q) = %d, %d and\n  %s\nexpected 0, 0 and an error that says %q", text, c, m, err, want)
		}
	}
	bad("1.5", `gpu: "1.5", expected whole devices or a share of one`)
	bad("1.0000001", "expected whole devices or a share of one")
	bad("2147483648", `"2147483648" is too large, expected at most 2147483647 devices`)
	bad("1e30", `"1e30" is too large, expected at most`)
	bad("-1", "negative")
	bad("", "empty")
	bad("all", "does not start with a number")

	// A kind is counted in milli-devices whatever its name.
	if c, m, err := ParseDevices("memory", "0.5"); err != nil || c != 1 || m != 500 {
		t.Errorf("ParseDevices(memory, 0.5) = %d, %d, %v; expected 1, 500", c, m, err)
	}
}

func TestUnitOf(t *testing.T) {
	for name, want := range map[string]Unit{
		"memory": Bytes, "storage": Bytes, "ephemeral-storage": Bytes, "hugepages-2Mi": Bytes, "hugepages-1Gi": Bytes,
		"memory@cpu-highmem": Bytes, "cpu@cpu-highmem": Milli, "cpu": Milli, "gpu": Milli, "pods": Milli, "hugepages": Milli, "Memory": Milli, "nvidia.com/gpu": Milli, "": Milli,
	} {
		if got := UnitOf(name); got != want {
			t.Errorf("UnitOf(%q) = %d, expected %d", name, got, want)
		}
	}
}
