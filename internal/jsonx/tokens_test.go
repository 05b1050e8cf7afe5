package jsonx

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTokens(t *testing.T) {
	const text = ` {"a\"" : [ -1.5e3 ,"b,]" , {}, [], null], "":true,"c":{"d" : false} } `
	var got []string
	for token := range Tokens([]byte(text)) {
		got = append(got, string(token.Kind)+" "+text[token.From:token.To])
	}
	want := []string{
		`{ {`, `k "a\""`, `[ [`, `0 -1.5e3`, `" "b,]"`, `{ {`, `} }`, `[ [`, `] ]`, `n null`, `] ]`, `k ""`, `t true`, `k "c"`, `{ {`, `k "d"`, `f false`, `} }`, `} }`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for range Tokens([]byte(text)) {
		break // and nothing comes after
	}
}

// What is left out between two tokens is white space and punctuation, and the tokens are those
// that encoding/json finds.
func FuzzTokens(f *testing.F) {
	f.Add([]byte(` {"a" : [ -1.5e3 ,"b" , {}, [], null], "":true } `))
	f.Add([]byte(`"x"`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if Check(text, Limits{}) != nil {
			return
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		end := 0
		for token := range Tokens(text) {
			if between := text[end:token.From]; len(bytes.Trim(between, " \t\r\n,:")) > 0 {
				t.Fatalf("%q is passed over", between)
			}
			end = token.To
			want, err := dec.Token()
			if err != nil {
				t.Fatal(err)
			}
			raw := text[token.From:token.To]
			switch w := want.(type) {
			case string:
				if said, ok := Text(raw); !ok || said != w || !strings.ContainsRune(`"k`, rune(token.Kind)) {
					t.Errorf("%c %s, want %q", token.Kind, raw, w)
				}
			case json.Number:
				if w.String() != string(raw) || token.Kind != '0' {
					t.Errorf("%c %s, want %s", token.Kind, raw, w)
				}
			case json.Delim:
				if rune(token.Kind) != rune(w) {
					t.Errorf("%c, want %c", token.Kind, w)
				}
			default:
				if !slices.Contains([]string{"n null", "t true", "f false"}, string(token.Kind)+" "+string(raw)) {
					t.Errorf("%c %s", token.Kind, raw)
				}
			}
		}
		if dec.More() || len(bytes.TrimSpace(text[end:])) > 0 {
			t.Errorf("%s is not read to its end", text)
		}
	})
}
