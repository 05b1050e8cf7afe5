package jsonx

import (
	"bytes"
	"encoding/json"
)

// Marshal gives v as one line of compact JSON that ends in exactly one newline.
//
// It escapes no HTML. A json.RawMessage or json.Number inside v keeps its text but for
// white space between tokens: numbers are not rounded, members are neither sorted nor
// dropped. Bytes of a string that are not UTF-8 become U+FFFD.
func Marshal(v any) ([]byte, error) {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return line.Bytes(), nil
}

// AppendString appends s as Marshal writes it, the quotes included.
func AppendString(text []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := Marshal(s) // a string is never refused
			return append(text, bytes.TrimSuffix(quoted, []byte("\n"))...)
		}
	}
	return append(append(append(text, '"'), s...), '"')
}
