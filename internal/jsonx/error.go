package jsonx

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/durward/durward"
)

const op = "json"

// A SyntaxError tells what is wrong with a text, and where.
type SyntaxError struct {
	// Offset counts bytes from 0. Line and Column count from 1; a column is a
	// character, and bytes that are not UTF-8 count one each.
	Offset, Line, Column int
	// Problem says what is wrong. It may quote a name from the text.
	Problem string
	// Over is set where the text holds more than was allowed, whether it is JSON or not. Problem
	// quotes nothing then.
	Over bool
}

// Error gives "line:column: problem".
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Problem)
}

// refusal is the error for a problem at an offset of data.
func refusal(data []byte, offset int, problem string) error {
	return refuse(data, offset, SyntaxError{Problem: problem})
}

// refuse puts the place to an error.
func refuse(data []byte, offset int, e SyntaxError) error {
	offset = min(max(offset, 0), len(data))
	before := data[:offset]
	line := 1 + bytes.Count(before, []byte{'\n'})
	column := 1 + utf8.RuneCount(before[1+bytes.LastIndexByte(before, '\n'):])
	e.Offset, e.Line, e.Column = offset, line, column
	return &durward.Error{
		Reason: durward.BadJSON,
		Op:     op,
		Where:  durward.Position{Line: line, Column: column},
		Err:    &e,
	}
}

func tooLarge(limit int64) error {
	return &durward.Error{
		Reason: durward.BodyTooLarge,
		Op:     op,
		Err:    fmt.Errorf("more than %d bytes", limit),
	}
}

// quoted shows a name from the text on one line, and not all of a long one.
func quoted(name string) string {
	const most = 64
	if len(name) > most {
		return strconv.QuoteToASCII(name[:most]) + "…"
	}
	return strconv.QuoteToASCII(name)
}
