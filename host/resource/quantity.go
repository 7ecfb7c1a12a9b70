package resource

import (
	"fmt"
	"math"
)

// ParseRequest gives an amount that is asked for, in the dimension's base
// unit, rounded up: 0.0001m of cpu is 1 milli-core, so nothing that is asked
// for becomes 0. The result is 0 or more. The grammar is the Kubernetes one:
//
//	quantity = [ "+" | "-" ] number [ suffix | exponent ]
//	number   = digits [ "." [ digits ] ] | "." digits
//	suffix   = "m" | "k" | "M" | "G" | "T" | "P" | "E"
//	         | "Ki" | "Mi" | "Gi" | "Ti" | "Pi" | "Ei"
//	exponent = ( "e" | "E" ) [ "+" | "-" ] digits
//
// m is a thousandth, k to E are powers of 1000, Ki to Ei powers of 1024; "1E"
// is the suffix and "1E0" an exponent. The suffixes n and u are refused: no
// dimension is finer than a thousandth, and the Kubernetes API itself rounds
// what it stores for nodes and pods up to thousandths. A negative amount, an
// amount beyond an int64 of base units, and a text over 128 bytes are errors.
func ParseRequest(name, text string) (int64, error) {
	unit := UnitOf(name)
	return parse(name, text, unit, unit.digits(), true)
}

// ParseCapacity gives an amount that is offered, in the dimension's base unit,
// rounded down: an offer is never more than what is there, so less than one
// base unit is 0. Grammar and errors are those of ParseRequest.
func ParseCapacity(name, text string) (int64, error) {
	unit := UnitOf(name)
	return parse(name, text, unit, unit.digits(), false)
}

// ParseDevices gives what is asked of a device kind: count whole devices with
// milli 1000 each, or a share of one device as count 1 and milli 1 to 999, or
// 0 and 0 for none. A share is rounded to the nearest thousandth of a device and
// is at least one: rounded up, nine shares of 0.111111 would not fit on a device
// (field case B4). More than one device with a part of another is an error;
// grammar and other errors are those of ParseRequest.
func ParseDevices(kind, text string) (count, milli int32, err error) {
	const whole = 1000
	amount, err := parse(kind, text, Milli, 3, true)
	switch {
	case err != nil || amount == 0:
		return 0, 0, err
	case amount <= whole:
		tenths, err := parse(kind, text, Milli, 4, false)
		return 1, int32(max((tenths+5)/10, 1)), err
	case amount%whole != 0:
		return 0, 0, fmt.Errorf("%s: %q, expected whole devices or a share of one, such as 2, 0.5 or 500m", kind, text)
	case amount/whole > math.MaxInt32:
		return 0, 0, fmt.Errorf("%s: %q is too large, expected at most %d devices", kind, text, math.MaxInt32)
	}
	return int32(amount / whole), whole, nil
}

// parse reads an amount in units of 10^-digits, rounded up or down.
func parse(name, text string, unit Unit, digits int, up bool) (int64, error) {
	example := "500m, 2 or 0.25"
	if unit == Bytes {
		example = "512Mi, 1.5Gi or 2G"
	}
	switch {
	case text == "":
		return 0, fmt.Errorf("%s: empty, expected an amount such as %s", name, example)
	case len(text) > maxText:
		return 0, fmt.Errorf("%s: %q… is %d bytes long, expected an amount of at most %d bytes, such as %s", name, text[:16], len(text), maxText, example)
	}
	var n number
	if err := n.scan(text); err != nil {
		return 0, fmt.Errorf("%s: %q %w, such as %s", name, text, err, example)
	}
	if n.negative && !n.zero() {
		return 0, fmt.Errorf("%s: %q is negative, expected 0 or more", name, text)
	}
	n.point += digits
	amount, ok := n.round(up)
	if !ok {
		return 0, fmt.Errorf("%s: %q is too large, expected at most %s", name, text, format(math.MaxInt64, unit))
	}
	return amount, nil
}
