package resource

import (
	"math/bits"
	"strconv"
)

// plainLimit is where amounts of milli-unit dimensions start to carry a suffix:
// nobody has a million cores, and 2,000 of them read better than 2k.
const plainLimit = 1_000_000

// Format prints an amount in the dimension's base unit so that a person can
// read it and ParseRequest and ParseCapacity give it back exactly.
//
// Bytes take the shortest exact text with at most three decimals, and of two
// equally short ones the larger suffix, binary before decimal: 512Mi, 1.5Gi,
// 500M, 1k, and 2254857831 where no suffix is exact. Milli-units print as 500m
// below one and as 1.5 or 64 above; whole amounts from a million on take the
// shortest text as bytes do. A negative amount, such as the idle part of a node
// that shrank, prints with a minus, which the parsers refuse.
func Format(name string, amount int64) string {
	return format(amount, UnitOf(name))
}

func format(amount int64, unit Unit) string {
	sign, n := "", uint64(amount)
	if amount < 0 {
		sign, n = "-", -n
	}
	if unit == Bytes {
		return sign + shortest(n)
	}
	whole, thousandths := n/1000, n%1000
	switch {
	case thousandths == 0 && whole >= plainLimit:
		return sign + shortest(whole)
	case whole == 0 && thousandths > 0:
		return sign + strconv.FormatUint(thousandths, 10) + "m"
	}
	return sign + decimal(whole, thousandths)
}

func shortest(n uint64) string {
	best := strconv.FormatUint(n, 10)
	for _, s := range suffixes[1:] {
		size := uint64(1) << s.twos
		for range s.tens {
			size *= 10
		}
		if n < size {
			continue
		}
		hi, lo := bits.Mul64(n%size, 1000)
		thousandths, rest := bits.Div64(hi, lo, size)
		if rest != 0 {
			continue
		}
		if text := decimal(n/size, thousandths) + s.text; len(text) <= len(best) {
			best = text
		}
	}
	return best
}

// decimal prints whole + thousandths/1000 without trailing zeros.
func decimal(whole, thousandths uint64) string {
	text := strconv.FormatUint(whole, 10)
	if thousandths == 0 {
		return text
	}
	digits := 3
	for thousandths%10 == 0 {
		thousandths /= 10
		digits--
	}
	fraction := strconv.FormatUint(thousandths, 10)
	return text + "." + "000"[:digits-len(fraction)] + fraction
}
