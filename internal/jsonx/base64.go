package jsonx

import (
	"encoding/base64"
	"errors"
	"strings"
)

// Base64 gives the bytes that a string stands for. It is strict: the standard alphabet, with
// padding, and nothing else.
func Base64(text string) ([]byte, error) {
	content, err := base64.StdEncoding.Strict().DecodeString(text)
	if err == nil && strings.ContainsAny(text, "\r\n") { // which the decoder passes over
		err = errors.New("there is a line break in it")
	}
	if err != nil {
		return nil, err
	}
	return content, nil
}
