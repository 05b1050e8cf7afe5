package jsonx

import (
	"bytes"
	"encoding/json"
	"strings"
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
func AppendString[T string | []byte](text []byte, s T) []byte {
	begun := len(text)
	text = append(text, '"')
	for rest := s; ; {
		n := plain([]byte(rest)) // which is no copy
		text = append(text, rest[:n]...)
		if rest = rest[n:]; len(rest) == 0 {
			return append(text, '"')
		}
		if rest[0] > '~' {
			quoted, _ := Marshal(string(s)) // a string is never refused
			return append(text[:begun], bytes.TrimSuffix(quoted, []byte("\n"))...)
		}
		text, rest = appendEscape(text, rest[0]), rest[1:]
	}
}

// appendEscape writes an ASCII character that cannot stand in a string as it is.
func appendEscape(text []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	if at := strings.IndexByte("\b\f\n\r\t\"\\", c); at >= 0 {
		return append(text, '\\', `bfnrt"\`[at])
	}
	return append(text, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
}
