package jsonx

import (
	"math"
	"strconv"
	"strings"
)

// Integer gives the value of a JSON number, and whether that is whole, however it is written: 5,
// 5.0 and 50e-1 are the same. One that no int64 holds counts as the nearest that one does.
func Integer(number string) (n int64, whole bool) {
	rest, negative := strings.CutPrefix(number, "-")
	mantissa, exponent, _ := strings.Cut(strings.ToLower(rest), "e")
	before, behind, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(before+behind, "0")
	ending := strings.TrimRight(digits, "0")
	zeros := exponentOf(exponent) - int64(len(behind)) + int64(len(digits)-len(ending))
	const most = 19 // digits of an int64
	switch {
	case ending == "":
		return 0, true
	case zeros < 0:
		return 0, false
	case negative:
		ending = "-" + ending
	}
	n, _ = strconv.ParseInt(ending+strings.Repeat("0", int(min(zeros, most))), 10, 64) // out of range it gives the nearest
	return n, true
}

// exponentOf reads an exponent. One that is out of all proportion counts as some that is, too.
func exponentOf(text string) int64 {
	if text == "" {
		return 0
	}
	const most = math.MaxInt64 / 2
	n, _ := strconv.ParseInt(text, 10, 64)
	return max(-most, min(n, most))
}
