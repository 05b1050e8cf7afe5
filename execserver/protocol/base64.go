package protocol

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// Base64 is bytes that stand in a message as standard base64, padded to whole groups of
// four. Nil is written as an empty string.
type Base64 []byte

// ErrBase64 is what the text of a [Base64] is refused for.
var ErrBase64 = errors.New("not standard base64 with padding")

var strict = base64.StdEncoding.Strict()

// DecodeBase64 reads standard base64. The text is refused, with an error that wraps
// [ErrBase64], unless it is the one that the bytes are written as: padding is needed,
// the bits that padding leaves over are 0, and nothing else stands in between, newlines
// included.
func DecodeBase64(text []byte) ([]byte, error) {
	out := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := strict.Decode(out, text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBase64, err)
	}
	if len(text)%4 != 0 || n != len(out)-padding(text) {
		return nil, fmt.Errorf("%w: a newline in it", ErrBase64) // the decoder passes over them
	}
	return out[:n], nil
}

func padding(text []byte) int {
	return len(text) - len(bytes.TrimRight(text, "="))
}

// MarshalText writes the bytes as base64.
func (b Base64) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, b), nil
}

// UnmarshalText reads what [DecodeBase64] accepts.
func (b *Base64) UnmarshalText(text []byte) error {
	data, err := DecodeBase64(text)
	if err == nil {
		*b = data
	}
	return err
}

// unquote decodes a JSON string. Base64 needs no escapes, and the usual text is decoded
// from where it stands.
func (b *Base64) unquote(quoted []byte) error {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return b.UnmarshalText(quoted[1 : len(quoted)-1])
	}
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		return err
	}
	return b.UnmarshalText([]byte(text))
}
