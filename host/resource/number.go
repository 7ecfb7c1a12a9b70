package resource

import (
	"errors"
	"fmt"
	"math"
)

// maxText is the longest quantity in bytes. It leaves room for the 60 decimals
// that a fraction of an Ei can need beside the digits of the largest amount.
const maxText = 128

// exponentLimit is where reading an exponent stops: with at most maxText
// digits, any exponent beyond it is far too large or far below one base unit.
const exponentLimit = 1000

// suffixes are the multipliers of the grammar: 10^tens * 2^twos. Format tries
// them in this order.
var suffixes = [...]struct {
	text       string
	tens, twos int
}{
	{"m", -3, 0},
	{"k", 3, 0},
	{"M", 6, 0},
	{"G", 9, 0},
	{"T", 12, 0},
	{"P", 15, 0},
	{"E", 18, 0},
	{"Ki", 0, 10},
	{"Mi", 0, 20},
	{"Gi", 0, 30},
	{"Ti", 0, 40},
	{"Pi", 0, 50},
	{"Ei", 0, 60},
}

// number is a scanned quantity: the digits with the decimal point in front of
// digits[point], times 2^shift. The point may lie outside the digits, but only
// to their right where shift is not 0.
type number struct {
	digits   [maxText]byte // 0 to 9, not ASCII
	len      int
	point    int
	shift    int
	negative bool
}

// scan reads a text of 1 to maxText bytes; an error completes the sentence
// that starts with the text.
func (n *number) scan(text string) error {
	if text[0] == '+' || text[0] == '-' {
		n.negative = text[0] == '-'
		text = text[1:]
	}
	dot := false
	i := 0
	for ; i < len(text); i++ {
		c := text[i]
		if c == '.' && !dot {
			dot = true
			n.point = n.len
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		n.digits[n.len] = c - '0'
		n.len++
	}
	if !dot {
		n.point = n.len
	}
	switch {
	case n.len == 0:
		return errors.New("does not start with a number, expected an amount")
	case i < len(text) && text[i] == '.':
		return errors.New("has two decimal points, expected an amount")
	case !n.scale(text[i:]):
		return fmt.Errorf("ends in %q, expected nothing, an exponent or one of m k M G T P E Ki Mi Gi Ti Pi Ei after the number", text[i:])
	}
	return nil
}

// scale multiplies by a suffix or an exponent; false where it is neither.
func (n *number) scale(end string) bool {
	if end == "" {
		return true
	}
	for i := range suffixes {
		if suffixes[i].text == end {
			n.point += suffixes[i].tens
			n.shift = suffixes[i].twos
			return true
		}
	}
	if end[0] != 'e' && end[0] != 'E' {
		return false
	}
	end = end[1:]
	negative := false
	if end != "" && (end[0] == '+' || end[0] == '-') {
		negative = end[0] == '-'
		end = end[1:]
	}
	exponent := 0
	for i := range len(end) {
		if end[i] < '0' || end[i] > '9' {
			return false
		}
		if exponent < exponentLimit {
			exponent = exponent*10 + int(end[i]-'0')
		}
	}
	if negative {
		exponent = -exponent
	}
	n.point += exponent
	return end != ""
}

func (n *number) zero() bool {
	for _, d := range n.digits[:n.len] {
		if d != 0 {
			return false
		}
	}
	return true
}

// round gives the number as an integer, up or down, or false where it does not
// fit in an int64. It changes the digits. The work is exact: the digits behind
// the point are doubled in decimal, with the carry going into the integer.
func (n *number) round(up bool) (int64, bool) {
	whole := int64(0)
	for i := 0; i < n.point && (i < n.len || whole > 0); i++ {
		d := int64(0)
		if i < n.len {
			d = int64(n.digits[i])
		}
		if whole > (math.MaxInt64-d)/10 {
			return 0, false
		}
		whole = whole*10 + d
	}
	fraction := n.digits[min(max(n.point, 0), n.len):n.len]
	for range n.shift {
		carry := byte(0)
		for i := len(fraction) - 1; i >= 0; i-- {
			d := fraction[i]*2 + carry
			carry, fraction[i] = d/10, d%10
		}
		if whole > (math.MaxInt64-int64(carry))/2 {
			return 0, false
		}
		whole = whole*2 + int64(carry)
	}
	if up {
		for _, d := range fraction {
			if d == 0 {
				continue
			}
			if whole == math.MaxInt64 {
				return 0, false
			}
			return whole + 1, true
		}
	}
	return whole, true
}
