package jsonx_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
)

func TestCheckAcceptsWhatTheGrammarAllows(t *testing.T) {
	for _, text := range []string{
		`null`, ` true `, `false`, `""`, `0`, `-0`, `-0.0`, `1E+2`, `1e-2`, `0.10`, `{}`, `[]`,
		"\t\r\n [ 1 , 2 ] \n", `{"":{"":[]}}`, `{"a":1,"A":2}`, `"\"\\\/\b\f\n\r\t\u00e9"`,
		`"\ud83d\ude00"`, `"\uDBFF\uDFFF"`, `"😀 é"`, `"\u0000"`, "\"\u2028\x7f\"", `123456789012345678901234567890`,
		`1e999999`, `[{"a":1},{"a":1}]`,
	} {
		if err := jsonx.Check([]byte(text), jsonx.Limits{}); err != nil {
			t.Errorf("Check(%s) = %v, want nil", text, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name, text   string
		line, column int
		problem      string
	}{
		{"nothing", "", 1, 1, "the text ends where a value should be"},
		{"only white space", " \n ", 2, 2, "the text ends where a value should be"},
		{"byte order mark", "\ufeff{}", 1, 1, "expected a value"},
		{"second value", "{} {}", 1, 4, "data after the value"},
		{"NUL behind the value", "1\x00", 1, 2, "data after the value"},
		{"NUL for a value", "\x00", 1, 1, "expected a value"},
		{"no-break space", "\u00a01", 1, 1, "expected a value"},
		{"NaN", `[NaN]`, 1, 2, "expected a value"},
		{"Infinity", `-Infinity`, 1, 2, "expected a digit"},
		{"plus sign", `+1`, 1, 1, "expected a value"},
		{"leading zero", `01`, 1, 2, "data after the value"},
		{"no digit before the point", `.5`, 1, 1, "expected a value"},
		{"no digit behind the point", `1.`, 1, 3, "the text ends where a digit should be"},
		{"empty exponent", `1e+`, 1, 4, "the text ends where a digit should be"},
		{"hexadecimal", `0x10`, 1, 2, "data after the value"},
		{"upper case word", `True`, 1, 1, "expected a value"},
		{"half a word", `nul`, 1, 1, "expected a value"},
		{"comment", `/* */ 1`, 1, 1, "expected a value"},
		{"single quotes", `'a'`, 1, 1, "expected a value"},
		{"bare name", `{a:1}`, 1, 2, "expected a member name in double quotes"},
		{"comma at the end of an object", `{"a":1,}`, 1, 8, "expected a member name in double quotes"},
		{"comma at the end of an array", `[1,]`, 1, 4, "expected a value"},
		{"comma missing", `[1 2]`, 1, 4, "expected ',' or ']'"},
		{"colon missing", `{"a" 1}`, 1, 6, "expected ':'"},
		{"member without a value", `{"a"}`, 1, 5, "expected ':'"},
		{"object left open", "{\"a\":1\n", 2, 1, "the text ends where ',' or '}' should be"},
		{"string left open", `"abc`, 1, 5, "the text ends inside a string"},
		{"newline in a string", "\"a\nb\"", 1, 3, "a control character in a string"},
		{"not UTF-8", "[\"a\xff\"]", 1, 4, "a string that is not UTF-8"},
		{"overlong UTF-8", "\"\xc0\xaf\"", 1, 2, "a string that is not UTF-8"},
		{"surrogate in UTF-8", "\"\xed\xa0\x80\"", 1, 2, "a string that is not UTF-8"},
		{"high surrogate alone", `"\ud800"`, 1, 2, "half a surrogate pair"},
		{"low surrogate alone", `"x\udc00"`, 1, 3, "half a surrogate pair"},
		{"high surrogate twice", `"\ud800\ud800"`, 1, 2, "half a surrogate pair"},
		{"high surrogate, then text", `"\ud800\n"`, 1, 2, "half a surrogate pair"},
		{"high surrogate in a name", `{"\ud800":1}`, 1, 3, "half a surrogate pair"},
		{"short \\u", `"\u12"`, 1, 2, `\u without four hexadecimal digits`},
		{"bad \\u", `"\u12g4"`, 1, 2, `\u without four hexadecimal digits`},
		{"unknown escape", `"\x41"`, 1, 2, "an unknown escape in a string"},
		{"backslash at the end", `"\`, 1, 2, "an unknown escape in a string"},
		{"member twice", "{\"a\":1,\n \"a\":2}", 2, 2, `the member "a" stands twice in one object`},
		{"member twice, spelt apart", `{"a":1,"\u0061":2}`, 1, 8, `the member "a" stands twice in one object`},
		{"member twice, deep down", `[{"é":{"b":1,"b":1}}]`, 1, 14, `the member "b" stands twice in one object`},
		{
			"long name", `{"` + strings.Repeat("k", 100) + `":1,"` + strings.Repeat("k", 100) + `":1}`, 1, 107,
			`the member "` + strings.Repeat("k", 64) + `"… stands twice in one object`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := jsonx.Check([]byte(tt.text), jsonx.Limits{})
			if got := durward.ReasonOf(err); got != durward.BadJSON {
				t.Fatalf("reason of %v is %q, want %q", err, got, durward.BadJSON)
			}
			var at *jsonx.SyntaxError
			if !errors.As(err, &at) {
				t.Fatalf("%v has no SyntaxError", err)
			}
			if at.Line != tt.line || at.Column != tt.column || at.Problem != tt.problem || at.Over {
				t.Errorf("got %v, want %d:%d: %s", at, tt.line, tt.column, tt.problem)
			}
			var e *durward.Error
			if errors.As(err, &e); e.Where.Line != tt.line || e.Where.Column != tt.column {
				t.Errorf("Where is %v, want %d:%d", e.Where, tt.line, tt.column)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	list := func(n int) string { return "[" + strings.Repeat("0,", n-2) + "0]" }
	tests := []struct {
		name, text string
		limits     jsonx.Limits
		want       durward.Reason
	}{
		{"depth by default", nested(128), jsonx.Limits{}, ""},
		{"one deeper", nested(129), jsonx.Limits{}, durward.BadJSON},
		{"objects count as depth", strings.Repeat(`{"a":`, 129) + "1" + strings.Repeat("}", 129), jsonx.Limits{}, durward.BadJSON},
		{"own depth", nested(3), jsonx.Limits{Depth: 2}, durward.BadJSON},
		{"depth has a ceiling", nested(10_001), jsonx.Limits{Depth: 1 << 30}, durward.BadJSON},
		{"values by default", list(262_144), jsonx.Limits{}, ""},
		{"one value more", list(262_145), jsonx.Limits{}, durward.BadJSON},
		{"own number of values", `{"a":1}`, jsonx.Limits{Values: 1}, durward.BadJSON},
		{"names are no values", `{"a":1}`, jsonx.Limits{Values: 2}, ""},
		{"bytes by default", `"` + strings.Repeat("x", 1<<20-2) + `"`, jsonx.Limits{}, ""},
		{"one byte more", `"` + strings.Repeat("x", 1<<20-1) + `"`, jsonx.Limits{}, durward.BodyTooLarge},
		{"own number of bytes", `123`, jsonx.Limits{Bytes: 2}, durward.BodyTooLarge},
		{"negative means the default", `[1]`, jsonx.Limits{Bytes: -1, Depth: -1, Values: -1}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := jsonx.Check([]byte(tt.text), tt.limits)
			if got := durward.ReasonOf(err); got != tt.want || (err == nil) != (tt.want == "") {
				t.Errorf("Check = %v, want reason %q", err, tt.want)
			}
			if at := new(jsonx.SyntaxError); errors.As(err, &at) && !at.Over {
				t.Errorf("%v is said to be no JSON", err)
			}
		})
	}
}

// A reader that never ends is read to the limit and one byte more.
func TestReadStopsAtTheLimit(t *testing.T) {
	endless := &counter{}
	_, err := jsonx.Read(endless, jsonx.Limits{Bytes: 1000})
	if durward.KindOf(err) != durward.TooLarge || endless.read > 1001 {
		t.Errorf("Read = %v after %d bytes, want too large after 1001", err, endless.read)
	}
	data, err := jsonx.Read(strings.NewReader("[1]"), jsonx.Limits{Bytes: 3})
	if err != nil || string(data) != "[1]" {
		t.Errorf("Read = %q, %v", data, err)
	}
	if _, err := jsonx.Read(io.MultiReader(strings.NewReader("["), broken{}), jsonx.Limits{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Read = %v, want the reader's own error", err)
	}
}

type counter struct{ read int }

func (c *counter) Read(p []byte) (int, error) { c.read += len(p); return len(p), nil }

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

type inner struct {
	Deep string `json:"deep"`
}

type Promoted struct {
	From string `json:"from"`
}

type request struct {
	Promoted
	Command []string          `json:"command"`
	Env     map[string]string `json:"env,omitempty"`
	Nested  *inner            `json:"nested"`
	List    []inner           `json:"list"`
	ByName  map[string]inner  `json:"byName"`
	Raw     json.RawMessage   `json:"raw"`
	Any     any               `json:"any"`
	Count   int               `json:"count"`
	Plain   bool
	Hidden  string `json:"-"`
}

func TestDecode(t *testing.T) {
	text := `{"command":["ls","-la"],"env":{"A":"b","a":"c"},"from":"x","nested":{"deep":"d"},
		"list":[{"deep":"1"},{}],"byName":{"Any Name":{"deep":"2"}},"raw":{ "Deep":1.00, "x": 12345678901234567890 },
		"any":1.10,"count":3,"Plain":true}`
	want := request{
		Promoted: Promoted{From: "x"}, Command: []string{"ls", "-la"}, Env: map[string]string{"A": "b", "a": "c"},
		Nested: &inner{"d"}, List: []inner{{"1"}, {}}, ByName: map[string]inner{"Any Name": {"2"}},
		Raw: json.RawMessage(`{ "Deep":1.00, "x": 12345678901234567890 }`), Any: json.Number("1.10"), Count: 3, Plain: true,
	}
	var got request
	if err := jsonx.Decode([]byte(text), &got, jsonx.Options{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeRefusesOrPassesOverUnknownMembers(t *testing.T) {
	for _, text := range []string{
		`{"Command":["rm"]}`, `{"COMMAND":["rm"]}`, `{"\u0043ommand":["rm"]}`, `{"other":{"command":["rm"]}}`,
		`{"nested":{"Deep":"rm"}}`, `{"list":[{"DEEP":"rm"}]}`, `{"byName":{"n":{"Deep":"rm"}}}`, `{"plain":true}`,
		`{"Hidden":"rm"}`, `{"-":"rm"}`, `{"hidden":"rm"}`, `{"":1}`, `{"From":"rm"}`, `{"Promoted":{"from":"rm"}}`,
		"{\"\u212aommand\":[\"rm\"]}", // the Kelvin sign, which folds to k
	} {
		var got request
		err := jsonx.Decode([]byte(text), &got, jsonx.Options{})
		if durward.ReasonOf(err) != durward.BadJSON || !strings.Contains(err.Error(), "unknown member") {
			t.Errorf("Decode(%s) = %v, want unknown member", text, err)
		}
		got = request{}
		if err := jsonx.Decode([]byte(text), &got, jsonx.Options{IgnoreUnknown: true}); err != nil {
			t.Errorf("Decode(%s) ignoring unknown members = %v", text, err)
		}
		if got.Plain || got.Command != nil || got.Hidden != "" || strings.Contains(string(mustMarshal(t, got)), "rm") {
			t.Errorf("Decode(%s) set a field: %+v", text, got)
		}
	}
}

// Kelvin-sign folding is what encoding/json does: this keeps the reason for masking.
func TestDecodeIsExactWhereTheStandardLibraryFolds(t *testing.T) {
	type keyed struct {
		Kind string `json:"kind"`
	}
	var std, ours keyed
	text := []byte("{\"\u212aind\":\"folded\"}")
	if err := json.Unmarshal(text, &std); err != nil || std.Kind != "folded" {
		t.Fatalf("encoding/json no longer folds: %+v, %v", std, err)
	}
	if err := jsonx.Decode(text, &ours, jsonx.Options{IgnoreUnknown: true}); err != nil || ours.Kind != "" {
		t.Errorf("Decode = %+v, %v; want nothing set", ours, err)
	}
}

func TestDecodeKeepsTheExactMemberBesideItsLookalikes(t *testing.T) {
	for _, text := range []string{`{"command":["ls"],"Command":["rm"]}`, `{"Command":["rm"],"command":["ls"]}`} {
		var got request
		if err := jsonx.Decode([]byte(text), &got, jsonx.Options{IgnoreUnknown: true}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"ls"}, got.Command); diff != "" {
			t.Errorf("Decode(%s): %s", text, diff)
		}
	}
}

func TestDecodeTellsWhereATypeDoesNotFit(t *testing.T) {
	tests := []struct{ text, want string }{
		{"{\n \"command\": \"ls\"}", `2:17: string does not fit in "command"`},
		{`{"unknown":1, "count": 1.5}`, `1:27: number 1.5 does not fit in "count"`},
		{`[]`, `1:2: array does not fit`},
	}
	for _, tt := range tests {
		var got request
		err := jsonx.Decode([]byte(tt.text), &got, jsonx.Options{IgnoreUnknown: true})
		if durward.ReasonOf(err) != durward.BadJSON || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("Decode(%s) = %v, want %s", tt.text, err, tt.want)
		}
	}
}

func TestDecodeIntoNothingIsOurMistakeNotTheCallers(t *testing.T) {
	for _, into := range []any{nil, request{}, (*request)(nil)} {
		err := jsonx.Decode([]byte(`{}`), into, jsonx.Options{})
		if err == nil || durward.KindOf(err) != durward.Internal {
			t.Errorf("Decode into %T = %v, want an internal error", into, err)
		}
	}
}

func TestMarshal(t *testing.T) {
	tests := []struct {
		name string
		v    any
		want string
	}{
		{"no HTML escapes", map[string]string{"a": "<b>&</b>"}, `{"a":"<b>&</b>"}`},
		{"raw numbers and order", json.RawMessage("{\n\"z\": 1.00, \"a\": 12345678901234567890, \"h\":\"<\"\n}"), `{"z":1.00,"a":12345678901234567890,"h":"<"}`},
		{"number", json.Number("1.0"), `1.0`},
		{"newline inside", "a\nb", `"a\nb"`},
		{"not UTF-8", "a\xff", `"a\ufffd"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(mustMarshal(t, tt.v)); got != tt.want+"\n" {
				t.Errorf("got %q, want %q", got, tt.want+"\n")
			}
		})
	}
	if _, err := jsonx.Marshal(json.RawMessage(`{`)); err == nil {
		t.Error("half a raw message was written")
	}
}

func mustMarshal(t *testing.T, v any) []byte {
	t.Helper()
	line, err := jsonx.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return line
}
