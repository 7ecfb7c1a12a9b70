package resource

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The grammar of ParseRequest written a second time, with rationals.
var grammar = regexp.MustCompile(`^([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)|[eE]([+-]?[0-9]+))?$`)

var factors = map[string]*big.Rat{
	"": big.NewRat(1, 1), "m": big.NewRat(1, 1000),
	"k": big.NewRat(1e3, 1), "M": big.NewRat(1e6, 1), "G": big.NewRat(1e9, 1),
	"T": big.NewRat(1e12, 1), "P": big.NewRat(1e15, 1), "E": big.NewRat(1e18, 1),
	"Ki": big.NewRat(1<<10, 1), "Mi": big.NewRat(1<<20, 1), "Gi": big.NewRat(1<<30, 1),
	"Ti": big.NewRat(1<<40, 1), "Pi": big.NewRat(1<<50, 1), "Ei": big.NewRat(1<<60, 1),
}

// exactly gives the text's exact value in base units, or false where it is not
// in the grammar.
func exactly(unit Unit, text string) (*big.Rat, bool) {
	m := grammar.FindStringSubmatch(text)
	if m == nil || len(text) > maxText {
		return nil, false
	}
	mantissa, suffix, exponent := m[1], m[2], m[3]
	if strings.HasPrefix(strings.TrimLeft(mantissa, "+-"), ".") {
		mantissa = strings.Replace(mantissa, ".", "0.", 1)
	}
	value, ok := new(big.Rat).SetString(strings.TrimSuffix(mantissa, "."))
	if !ok {
		return nil, false
	}
	value.Mul(value, factors[suffix])
	if exponent != "" {
		e, err := strconv.ParseInt(exponent, 10, 64)
		if err != nil && strings.HasPrefix(exponent, "-") {
			e = -2000
		} else if err != nil {
			e = 2000
		}
		e = min(max(e, -2000), 2000)
		power := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(max(e, -e)), nil))
		if e < 0 {
			power.Inv(power)
		}
		value.Mul(value, power)
	}
	if unit == Milli {
		value.Mul(value, big.NewRat(1000, 1))
	}
	return value, true
}

// rounded gives a value of 0 or more as an int64, rounded down and up, each
// with whether it fits.
func rounded(value *big.Rat) (floor, ceil int64, floorFits, ceilFits bool) {
	f, rest := new(big.Int).QuoRem(value.Num(), value.Denom(), new(big.Int))
	c := new(big.Int).Set(f)
	if rest.Sign() > 0 {
		c.Add(c, big.NewInt(1))
	}
	return f.Int64(), c.Int64(), f.IsInt64(), c.IsInt64()
}

type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkParse holds both parsers against the exact value.
func checkParse(t fatal, name, text string) {
	t.Helper()
	request, requestErr := ParseRequest(name, text)
	capacity, capacityErr := ParseCapacity(name, text)
	var floor, ceil int64
	var floorFits, ceilFits bool
	if value, ok := exactly(UnitOf(name), text); ok && value.Sign() >= 0 {
		floor, ceil, floorFits, ceilFits = rounded(value)
	}
	check := func(what string, got int64, err error, want int64, fits bool) {
		t.Helper()
		switch {
		case fits != (err == nil):
			t.Fatalf("%s(%q, %q) = %d, %v; the grammar and the range accept it: %v", what, name, text, got, err, fits)
		case err == nil && got != want:
			t.Fatalf("%s(%q, %q) = %d, expected %d", what, name, text, got, want)
		case err != nil && (got != 0 || !strings.HasPrefix(err.Error(), name+": ")):
			t.Fatalf("%s(%q, %q) = %d, %q; expected 0 and an error that starts with the dimension", what, name, text, got, err)
		}
	}
	check("ParseRequest", request, requestErr, ceil, ceilFits)
	check("ParseCapacity", capacity, capacityErr, floor, floorFits)
	if requestErr == nil {
		checkRoundTrip(t, name, request)
		checkRoundTrip(t, name, capacity)
	}
}

func checkRoundTrip(t fatal, name string, amount int64) {
	t.Helper()
	text := Format(name, amount)
	if got, err := ParseRequest(name, text); err != nil || got != amount {
		t.Fatalf("ParseRequest(%q, %q) = %d, %v; expected %d, which printed so", name, text, got, err, amount)
	}
	if got, err := ParseCapacity(name, text); err != nil || got != amount {
		t.Fatalf("ParseCapacity(%q, %q) = %d, %v; expected %d, which printed so", name, text, got, err, amount)
	}
}

// quantityText draws texts of the grammar, of every magnitude.
func quantityText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		sign := rapid.SampledFrom([]string{"", "", "", "", "+", "-"}).Draw(t, "sign")
		number := rapid.OneOf(
			rapid.StringMatching(`[0-9]{1,20}`),
			rapid.StringMatching(`[0-9]{1,5}\.[0-9]{0,12}`),
			rapid.StringMatching(`0?\.[0-9]{1,70}`),
			rapid.Map(rapid.Int64Range(0, 1<<63-1), func(n int64) string { return strconv.FormatInt(n, 10) }),
		).Draw(t, "number")
		end := rapid.OneOf(
			rapid.SampledFrom([]string{"", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}),
			rapid.StringMatching(`[eE][+-]?[0-9]{1,2}`),
		).Draw(t, "end")
		return sign + number + end
	})
}

// dimension draws a name of either unit.
func dimension() *rapid.Generator[string] { return rapid.SampledFrom([]string{"cpu", "memory"}) }

// amount draws a legal amount; many are round in one system or the other.
func amount() *rapid.Generator[int64] {
	return rapid.Custom(func(t *rapid.T) int64 {
		n := rapid.Int64Range(0, 1<<63-1).Draw(t, "n")
		for range rapid.IntRange(0, 18).Draw(t, "zeros") {
			n = n / 10 / 10 * 10
		}
		shift := rapid.IntRange(0, 60).Draw(t, "shift")
		return n >> shift << rapid.IntRange(0, shift).Draw(t, "back")
	})
}

func TestParseIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkParse(t, dimension().Draw(t, "name"), quantityText().Draw(t, "text"))
	})
}

func TestParseAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkParse(t, dimension().Draw(t, "name"), rapid.StringMatching(`[-+]{0,2}[0-9.]{0,5}[-+.eEinumkKMGTP 0-9]{0,5}`).Draw(t, "text"))
	})
}

func TestParseIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := dimension().Draw(t, "name")
		a, b := quantityText().Draw(t, "a"), quantityText().Draw(t, "b")
		less, _ := exactly(UnitOf(name), a)
		more, _ := exactly(UnitOf(name), b)
		if less.Cmp(more) > 0 {
			a, b = b, a
		}
		for _, parse := range []func(name, text string) (int64, error){ParseRequest, ParseCapacity} {
			low, errLow := parse(name, a)
			high, errHigh := parse(name, b)
			if errLow == nil && errHigh == nil && low > high {
				t.Fatalf("%s: %q is %d and the larger %q is %d", name, a, low, b, high)
			}
		}
	})
}

func TestFormatParsesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkRoundTrip(t, dimension().Draw(t, "name"), amount().Draw(t, "amount"))
	})
}

func FuzzParseRequest(f *testing.F) {
	for _, text := range []string{
		"", "0", "-0", "1", "2.1Gi", "0.001Mi", "1.5e3m", "1e3", "1E", "1e", "1E3", ".5G", "1.", ".", "8Ei", "7Ei",
		"1e999999999", "1e-999999999", "9223372036854775807", "9223372036854775806.5", "NaN", "Inf", "1 Gi", "1.5.2",
		"2254857830400m", "100n", "0.000000000000000000867361737988403547205962240695953369140625Ei", "+-1", "1٣",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkParse(t, "cpu", text)
		checkParse(t, "memory", text)
	})
}

func FuzzParseDevices(f *testing.F) {
	for _, text := range []string{"", "0", "2", "0.5", "500m", "0.0001", "1.5", "2147483648", "1e30", "-1", "0.111111", "2e0", "1Ki"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		count, milli, err := ParseDevices("gpu", text)
		amount, amountErr := ParseRequest("gpu", text)
		switch {
		case err != nil && (count != 0 || milli != 0 || !strings.HasPrefix(err.Error(), "gpu: ")):
			t.Fatalf("ParseDevices(%q) = %d, %d, %q; expected 0, 0 and an error that starts with the kind", text, count, milli, err)
		case err == nil && (amountErr != nil || amount-int64(count)*int64(milli) > 1 || count > 1 && int64(count)*int64(milli) != amount):
			t.Fatalf("ParseDevices(%q) = %d, %d; as an amount it is %d, %v", text, count, milli, amount, amountErr)
		case err == nil && amount > 0 && (count < 1 || milli < 1 || milli > 1000 || count > 1 && milli != 1000):
			t.Fatalf("ParseDevices(%q) = %d, %d; expected whole devices or a share of one", text, count, milli)
		case err != nil && amountErr == nil && (amount <= 1000 || amount%1000 == 0 && amount/1000 <= 1<<31-1):
			t.Fatalf("ParseDevices(%q): %v; expected it to be accepted", text, err)
		}
	})
}
