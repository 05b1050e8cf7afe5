package jsonx

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestInteger(t *testing.T) {
	for _, tt := range []struct {
		number string
		n      int64
		whole  bool
	}{
		{"0", 0, true},
		{"-0.0e-5", 0, true},
		{"0e999999999999999999999", 0, true},
		{"12", 12, true},
		{"-12", -12, true},
		{"2.0", 2, true},
		{"50e-1", 5, true},
		{"1.5E+1", 15, true},
		{"9223372036854775807", math.MaxInt64, true},
		{"9223372036854775808", math.MaxInt64, true},
		{"-9223372036854775809", math.MinInt64, true},
		{"1e300", math.MaxInt64, true},
		{"-1e99999999999999999999", math.MinInt64, true},
		{"0.5", 0, false},
		{"1e-400", 0, false},
		{"1e-99999999999999999999", 0, false},
		{"0.99999999999999999999", 0, false},
		{"9007199254740992.5", 0, false},
	} {
		if n, whole := Integer(tt.number); n != tt.n || whole != tt.whole {
			t.Errorf("%s: got %d, %t, want %d, %t", tt.number, n, whole, tt.n, tt.whole)
		}
	}
}

// A number is whole if it is to who calculates without bounds.
func TestIntegerIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := fmt.Sprintf("%d.%se%d", rapid.Int64().Draw(t, "before"), rapid.StringMatching(`[0-9]{1,25}`).Draw(t, "behind"), rapid.IntRange(-40, 40).Draw(t, "exponent"))
		exact, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatal(text)
		}
		n, whole := Integer(text)
		if whole != exact.IsInt() || whole && exact.Num().IsInt64() && exact.Num().Int64() != n {
			t.Errorf("%s: got %d, %t", text, n, whole)
		}
	})
}
