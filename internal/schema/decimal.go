package schema

import (
	"bytes"
	"cmp"
	"math"
	"math/big"
	"strconv"
)

// A decimal is the exact value of a JSON number: digits · 10^exp. There are no zeros at either
// end of the digits, and none at all in zero itself.
type decimal struct {
	negative bool
	digits   []byte
	exp      int64
}

// maxExp bounds exponents: what is written beyond it counts as it. Nothing that is added to an
// exponent here brings it near the end of its type.
const maxExp = 1 << 60

func parseDecimal(raw []byte) decimal {
	d := decimal{}
	if raw[0] == '-' {
		d.negative = true
		raw = raw[1:]
	}
	if e := bytes.IndexAny(raw, "eE"); e >= 0 {
		d.exp = parseExp(raw[e+1:])
		raw = raw[:e]
	}
	if dot := bytes.IndexByte(raw, '.'); dot >= 0 {
		d.exp -= int64(len(raw) - dot - 1)
		raw = append(append(make([]byte, 0, len(raw)), raw[:dot]...), raw[dot+1:]...)
	}
	d.digits = bytes.TrimLeft(raw, "0")
	short := bytes.TrimRight(d.digits, "0")
	d.exp += int64(len(d.digits) - len(short))
	if d.digits = short; len(short) == 0 {
		return decimal{}
	}
	return d
}

func parseExp(text []byte) int64 {
	e, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil { // too large: the text is known to be a number
		e = math.MaxInt64
		if text[0] == '-' {
			e = math.MinInt64
		}
	}
	return min(max(e, -maxExp), maxExp)
}

func (d decimal) isInteger() bool { return d.exp >= 0 }

func (d decimal) equals(o decimal) bool {
	return d.negative == o.negative && d.exp == o.exp && bytes.Equal(d.digits, o.digits)
}

// compare gives -1, 0 or 1 as d is less than, the same as, or more than o.
func (d decimal) compare(o decimal) int {
	if s := cmp.Compare(d.sign(), o.sign()); s != 0 || d.sign() == 0 {
		return s
	}
	s := cmp.Compare(d.exp+int64(len(d.digits)), o.exp+int64(len(o.digits))) // how far left they begin
	if s == 0 {
		s = bytes.Compare(d.digits, o.digits)
	}
	if d.negative {
		return -s
	}
	return s
}

func (d decimal) sign() int {
	switch {
	case len(d.digits) == 0:
		return 0
	case d.negative:
		return -1
	}
	return 1
}

// A divisor is a decimal that others are to be multiples of.
type divisor struct {
	digits *big.Int
	exp    int64
	says   string
}

func newDivisor(l *limit) *divisor {
	digits, _ := new(big.Int).SetString("0"+string(l.digits), 10)
	return &divisor{digits, l.exp, l.says}
}

// divides reports whether d is a whole multiple. What has more decimal places than the divisor
// is none: its last digit is no zero.
func (v *divisor) divides(d decimal) bool {
	if len(d.digits) == 0 {
		return true
	}
	if d.exp < v.exp || v.digits.Sign() == 0 {
		return false
	}
	rest := new(big.Int).Exp(big.NewInt(10), big.NewInt(d.exp-v.exp), v.digits)
	rest.Mul(rest, v.remainder(d.digits))
	return rest.Mod(rest, v.digits).Sign() == 0
}

// remainder divides a few digits at a time: there may be a million of them.
func (v *divisor) remainder(digits []byte) *big.Int {
	const step = 18 // digits that an int64 holds
	rest, part := new(big.Int), new(big.Int)
	for len(digits) > 0 {
		n := min(step, len(digits))
		value, _ := strconv.ParseInt(string(digits[:n]), 10, 64)
		rest.Mul(rest, part.SetInt64(int64(math.Pow10(n))))
		rest.Add(rest, part.SetInt64(value))
		rest.Mod(rest, v.digits)
		digits = digits[n:]
	}
	return rest
}

// whole gives a number as a count. What is larger than any count is the largest.
func (d decimal) whole() int {
	if d.negative || d.exp < 0 || len(d.digits) == 0 {
		return 0
	}
	if d.exp+int64(len(d.digits)) > 9 {
		return math.MaxInt
	}
	value, _ := strconv.Atoi(string(d.digits) + "000000000"[:d.exp])
	return value
}

func appendInt(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }
