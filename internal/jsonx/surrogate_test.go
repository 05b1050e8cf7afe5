package jsonx_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/durward/durward/internal/jsonx"
)

// Halves of characters are replaced, and nothing else is.
func TestWholeCharacters(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{``, ``},
		{`{"a":"b"}`, `{"a":"b"}`},
		{`"\ud83d"`, `"\ufffd"`},
		{`"\uDE00x"`, `"\ufffdx"`},
		{`"\ud83d\ude00"`, `"\ud83d\ude00"`},
		{`"\ud83d\ud83d\ude00\ude00"`, `"\ufffd\ud83d\ude00\ufffd"`},
		{`"\ud83d\n\u00e9"`, `"\ufffd\n\u00e9"`},
		{`"\\ud83d"`, `"\\ud83d"`},
		{`"\\\ud83d"`, `"\\\ufffd"`},
		{`"\ud83`, `"\ud83`},
		{`"\`, `"\`},
		{`{"\ud83d":"\udbff\udc00"}`, `{"\ufffd":"\udbff\udc00"}`},
	} {
		if got := string(jsonx.WholeCharacters([]byte(tt.text))); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.text, got, tt.want)
		}
	}
	text := []byte(`{"n":1.0}`)
	if got := jsonx.WholeCharacters(text); &got[0] != &text[0] {
		t.Error("a text without halves was copied")
	}
}

// What encoding/json takes means the same afterwards, and the given text stays as it is.
func FuzzWholeCharacters(f *testing.F) {
	for _, text := range []string{`"\ud83d\ude00"`, `"\ud83d\\\ud83d\ude00"`, `{"\udc00":1}`, `"\u`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		whole := jsonx.WholeCharacters(text)
		if !bytes.Equal(text, before) {
			t.Fatalf("%q became %q", before, text)
		}
		var want, got any
		if json.Unmarshal(text, &want) != nil {
			return
		}
		if err := json.Unmarshal(whole, &got); err != nil {
			t.Fatalf("%q became %q: %v", text, whole, err)
		}
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(got)
		if !bytes.Equal(a, b) {
			t.Fatalf("%q became %q", text, whole)
		}
		if !bytes.Equal(jsonx.WholeCharacters(whole), whole) {
			t.Fatalf("%q is not whole", whole)
		}
	})
}
