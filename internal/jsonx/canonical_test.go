package jsonx_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
)

func TestCanonical(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"white space", " { \"b\" : [ 1 , 2 ] , \"a\" : null } ", `{"a":null,"b":[1,2]}`},
		{"words", `[null,true,false]`, `[null,true,false]`},
		{"nested members", `{"b":{"d":1,"c":2},"a":{}}`, `{"a":{},"b":{"c":2,"d":1}}`},
		{"a prefix stands first", `{"aa":1,"a":2,"":3}`, `{"":3,"a":2,"aa":1}`},
		{"digits are text", `{"10":1,"9":2,"1":3}`, `{"1":3,"10":1,"9":2}`},
		{"lists keep their order", `[3,1,2]`, `[3,1,2]`},
		// 😀 begins with the unit D83D and so stands before U+FB33, although its code
		// point is the greater one.
		{
			"UTF-16 order", `{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`,
			"{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\ufb33\":3}",
		},
		{"same first unit", `{"\ud83d\ude01":1,"\ud83d\ude00":2}`, `{"😀":2,"😁":1}`},
		{"short escapes", `"\u0008\u0009\u000a\u000c\u000d\u0022\u005c\/"`, `"\b\t\n\f\r\"\\/"`},
		{"long escapes in lower case", `"\u000F\u001f\u0000"`, `"\u000f\u001f\u0000"`},
		{"the rest as it is", `"\u003c\u2028\u007f\u20AC"`, "\"<\u2028\x7f€\""},
		{"no normalisation", `["\u00c5","A\u030a"]`, "[\"Å\",\"A\u030a\"]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := jsonx.Canonical([]byte(tt.text))
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
		})
	}
}

// The pairs follow from the IEEE 754 bits on the left, as ECMAScript writes them.
func TestCanonicalNumbersByBits(t *testing.T) {
	tests := []struct {
		bits uint64
		want string
	}{
		{0x0000000000000000, "0"},
		{0x8000000000000000, "0"},
		{0x0000000000000001, "5e-324"},
		{0x8000000000000001, "-5e-324"},
		{0x7fefffffffffffff, "1.7976931348623157e+308"},
		{0xffefffffffffffff, "-1.7976931348623157e+308"},
		{0x4340000000000000, "9007199254740992"},
		{0xc340000000000000, "-9007199254740992"},
		{0x4430000000000000, "295147905179352830000"},
		{0x44b52d02c7e14af5, "9.999999999999997e+22"},
		{0x44b52d02c7e14af6, "1e+23"},
		{0x44b52d02c7e14af7, "1.0000000000000001e+23"},
		{0x444b1ae4d6e2ef4e, "999999999999999700000"},
		{0x444b1ae4d6e2ef4f, "999999999999999900000"},
		{0x444b1ae4d6e2ef50, "1e+21"},
		{0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
		{0x3eb0c6f7a0b5ed8d, "0.000001"},
		{0x41b3de4355555553, "333333333.3333332"},
		{0x41b3de4355555555, "333333333.3333333"},
		{0x41b3de4355555557, "333333333.33333343"},
		{0xbecbf647612f3696, "-0.0000033333333333333333"},
		{0x43143ff3c1cb0959, "1424953923781206.2"},
	}
	for _, tt := range tests {
		text := strconv.FormatFloat(math.Float64frombits(tt.bits), 'e', 20, 64)
		got, err := jsonx.Canonical([]byte(text))
		if err != nil || string(got) != tt.want {
			t.Errorf("%016x: got %s, %v; want %s", tt.bits, got, err, tt.want)
		}
	}
}

func TestCanonicalNumbersByText(t *testing.T) {
	tests := []struct{ text, want string }{
		{"4.50", "4.5"},
		{"2e-3", "0.002"},
		{"1E30", "1e+30"},
		{"333333333.33333329", "333333333.3333333"},
		{"-0", "0"},
		{"-0.0e5", "0"},
		{"1.0", "1"},
		{"100e-2", "1"},
		{"0.0000001", "1e-7"},
		{"1e-400", "0"},
		{"0.000000000000000000000000001", "1e-27"},
		{"123456789012345680000", "123456789012345680000"},
	}
	for _, tt := range tests {
		got, err := jsonx.Canonical([]byte(tt.text))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, %v; want %s", tt.text, got, err, tt.want)
		}
	}
}

func TestCanonicalRefusesWhatHasNoForm(t *testing.T) {
	for _, text := range []string{"", "1e309", "[-1e400]", `{"x":{"y":[1e999999]}}`, `{"a":1,"a":1}`, `"\ud800"`, "{} 1"} {
		if got, err := jsonx.Canonical([]byte(text)); durward.ReasonOf(err) != durward.BadJSON {
			t.Errorf("Canonical(%s) = %s, %v; want BadJSON", text, got, err)
		}
	}
}
