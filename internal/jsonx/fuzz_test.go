package jsonx_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
)

var seeds = []string{
	`{"a":[1,-0.5e+10,true,null],"b":{"c":"\ud83d\ude00"}}`, `{"a":1,"\u0061":2}`, `{"command":["ls"],"Command":1}`,
	`"\ud800"`, "\"\xff\"", `[[[[]]]]`, `01`, `1.`, "\ufeff{}", `{} {}`, `{"a":1,}`, `1e400`, `{"list":[{"deep":"x","Deep":1}]}`,
}

func FuzzStrict(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var v any
		std := json.Unmarshal(text, &v)
		err := jsonx.Check(text, jsonx.Limits{})
		if err == nil && !json.Valid(text) {
			t.Fatalf("Check accepts %q and encoding/json does not: %v", text, std)
		}
		if err != nil && json.Valid(text) && !strictOnly(err) {
			t.Fatalf("Check refuses %q for its grammar: %v", text, err)
		}
		var into request
		if jsonx.Decode(text, &into, jsonx.Options{IgnoreUnknown: true}) == nil && err != nil {
			t.Fatalf("Decode accepts %q and Check does not: %v", text, err)
		}
	})
}

// An object that is walked over has the members that it is decoded into.
func FuzzObject(f *testing.F) {
	for _, s := range append(seeds, "null", "", " \t{\"a\" : \"\\\"}\" , \"\\u0062\":[{}, 1] ,\"\":-0}\n") {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var want map[string]json.RawMessage
		err := jsonx.Decode(text, &want, jsonx.Options{})
		got, refused := jsonx.Object(text, jsonx.Limits{})
		if (refused == nil) != (err == nil && want != nil) {
			t.Fatalf("Object of %q: %v, want %v", text, refused, err)
		}
		if refused == nil && !maps.EqualFunc(got, want, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Fatalf("Object of %q: %q, want %q", text, got, want)
		}
	})
}

// strictOnly reports whether err is one that encoding/json would not give.
func strictOnly(err error) bool {
	for _, problem := range []string{"stands twice", "half a surrogate", "not UTF-8", "nested deeper", "values", "bytes"} {
		if strings.Contains(err.Error(), problem) {
			return true
		}
	}
	return false
}

func FuzzCanonical(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		once, err := jsonx.Canonical(text)
		if err != nil {
			return
		}
		twice, err := jsonx.Canonical(once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%q is not canonical: %q, %v", once, twice, err)
		}
		var a, b any
		if json.Unmarshal(text, &a) != nil || json.Unmarshal(once, &b) != nil || fmt.Sprint(normal(a)) != fmt.Sprint(normal(b)) {
			t.Fatalf("%q and %q differ in meaning", text, once)
		}
	})
}

// normal takes the sign from zeros, which have one form.
func normal(v any) any {
	switch v := v.(type) {
	case float64:
		return v + 0
	case []any:
		for i := range v {
			v[i] = normal(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = normal(v[k])
		}
	}
	return v
}

var numbers = rapid.StringMatching(`-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,5})?`)

// values draws JSON texts; members of one object are named apart by their index.
func values(depth int) *rapid.Generator[string] {
	leaf := rapid.OneOf(numbers, rapid.SampledFrom([]string{"true", "false", "null"}), rapid.Map(rapid.String(), quote))
	if depth == 0 {
		return leaf
	}
	list := rapid.SliceOfN(values(depth-1), 0, 4)
	return rapid.OneOf(leaf,
		rapid.Map(list, func(v []string) string { return "[" + strings.Join(v, " ,\n") + "]" }),
		rapid.Map(list, func(v []string) string {
			for i := range v {
				v[i] = quote(fmt.Sprint(i)) + " : " + v[i]
			}
			return "{" + strings.Join(v, ",") + "}"
		}))
}

func quote(s string) string {
	line, _ := json.Marshal(s)
	return string(line)
}

func TestNumbersKeepTheirText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := values(4).Draw(t, "text")
		var raw struct {
			V json.RawMessage `json:"v"`
		}
		if err := jsonx.Decode([]byte(`{"v":`+text+`}`), &raw, jsonx.Options{}); err != nil {
			t.Fatal(err)
		}
		if string(raw.V) != text {
			t.Fatalf("raw message is %q, want %q", raw.V, text)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, []byte(text)); err != nil {
			t.Fatal(err)
		}
		line, err := jsonx.Marshal(raw.V)
		if err != nil || string(line) != compact.String()+"\n" {
			t.Fatalf("line is %q, %v; want %q", line, err, compact.String())
		}
		if bytes.Count(line, []byte{'\n'}) != 1 {
			t.Fatalf("%q is more than one line", line)
		}
	})
}

func TestCanonicalNumbersComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Float64().Draw(t, "number")
		text, err := jsonx.Canonical([]byte(fmt.Sprintf("%.25e", want)))
		if err != nil {
			t.Fatal(err)
		}
		var got float64
		if err := json.Unmarshal(text, &got); err != nil || got != want {
			t.Fatalf("%v became %s", want, text)
		}
		if exponent := strings.Contains(string(text), "e"); want != 0 && exponent != (math.Abs(want) < 1e-6 || math.Abs(want) >= 1e21) {
			t.Fatalf("%v became %s", want, text)
		}
	})
}

func TestCanonicalOrdersByUTF16(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfDistinct(rapid.String(), func(s string) string { return s }).Draw(t, "names")
		object := make(map[string]int)
		for _, n := range names {
			object[n] = 0
		}
		text, err := jsonx.Canonical(mustJSON(t, object))
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(names, func(a, b string) int {
			return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		})
		if got := memberNames(t, text); !slices.Equal(got, names) {
			t.Fatalf("order is %q, want %q", got, names)
		}
	})
}

func mustJSON(t *rapid.T, v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func memberNames(t *rapid.T, text []byte) []string {
	dec := json.NewDecoder(bytes.NewReader(text))
	names := []string{}
	for {
		token, err := dec.Token()
		if err != nil {
			return names
		}
		if name, ok := token.(string); ok {
			names = append(names, name)
		}
	}
}

// What is refused, or accepted without a target, costs next to no memory.
func TestHostileTextCostsNoMemory(t *testing.T) {
	const size = 8 << 20
	limits := jsonx.Limits{Bytes: size + 2}
	tests := []struct{ name, text string }{
		{"deep arrays", strings.Repeat("[", size)},
		{"deep objects", strings.Repeat(`{"a":`, size/5)},
		{"many values", "[" + strings.Repeat("0,", size/2-1) + "0]"},
		{"long string", `"` + strings.Repeat("x", size) + `"`},
		{"long string of escapes", `"` + strings.Repeat(`\u0061`, size/6) + `"`},
		{"long number", strings.Repeat("9", size)},
		{"white space", strings.Repeat(" ", size)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := []byte(tt.text)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := jsonx.Check(text, limits)
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
				t.Errorf("Check used %d bytes", used)
			}
			if err != nil && durward.ReasonOf(err) != durward.BadJSON {
				t.Errorf("Check = %v", err)
			}
		})
	}
}
