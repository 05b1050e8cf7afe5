package jsonx

import (
	"encoding/json"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// A scanner walks over one text once, from left to right, and stops at the first thing
// that is wrong. Where it is given a type it also compares the names of members with
// the fields of that type.
type scanner struct {
	data   []byte
	at     int // offset of the next byte
	limits Limits
	values int

	ignoreUnknown bool
	unknown       []span // names of ignored members, without their quotes
}

// A span is a part of the text: data[from:to].
type span struct{ from, to int }

func newScanner(data []byte, l Limits) *scanner {
	return &scanner{data: data, limits: l.withDefaults()}
}

// document scans the whole text: one value with white space around it.
func (s *scanner) document(t reflect.Type) error {
	if int64(len(s.data)) > s.limits.Bytes {
		return tooLarge(s.limits.Bytes)
	}
	s.space()
	if err := s.value(t, 0); err != nil {
		return err
	}
	s.space()
	if s.at < len(s.data) {
		return s.fail("data after the value")
	}
	return nil
}

func (s *scanner) value(t reflect.Type, depth int) error {
	if s.values++; s.values > s.limits.Values {
		return s.tooMuch(fmt.Sprintf("more than %d values", s.limits.Values))
	}
	switch c := s.peek(); {
	case c == '{' || c == '[':
		if depth == s.limits.Depth {
			return s.tooMuch(fmt.Sprintf("nested deeper than %d", s.limits.Depth))
		}
		s.at++
		if c == '{' {
			return s.object(t, depth+1)
		}
		return s.array(elementOf(t), depth+1)
	case c == '"':
		_, err := s.text()
		return err
	case c == '-' || isDigit(c):
		return s.number()
	}
	return s.word()
}

// array scans what follows the opening bracket.
func (s *scanner) array(element reflect.Type, depth int) error {
	if s.space(); s.take(']') {
		return nil
	}
	for {
		s.space()
		if err := s.value(element, depth); err != nil {
			return err
		}
		if s.space(); s.take(']') {
			return nil
		}
		if !s.take(',') {
			return s.unexpected("',' or ']'")
		}
	}
}

// object scans what follows the opening brace.
func (s *scanner) object(t reflect.Type, depth int) error {
	m := members{t: structOf(t), element: elementOf(t)}
	if s.space(); s.take('}') {
		return nil
	}
	for {
		s.space()
		if err := s.member(&m, depth); err != nil {
			return err
		}
		if s.space(); s.take('}') {
			return nil
		}
		if !s.take(',') {
			return s.unexpected("',' or '}'")
		}
	}
}

// members is what is known of the object being scanned.
type members struct {
	t       reflect.Type // the struct it goes into, or nil
	element reflect.Type // the type of all its values, or nil
	names   names
}

// names are those of the members so far. The first of them are looked through one by one:
// most objects have no more.
type names struct {
	few  [8][]byte
	n    int
	many map[string]struct{}
}

// add takes in a name, and reports false for one that is there already.
func (s *names) add(name []byte) bool {
	for _, other := range s.few[:s.n] {
		if string(other) == string(name) {
			return false
		}
	}
	if s.n < len(s.few) {
		s.few[s.n] = name
		s.n++
		return true
	}
	if _, there := s.many[string(name)]; there {
		return false
	}
	if s.many == nil {
		s.many = make(map[string]struct{})
	}
	s.many[string(name)] = struct{}{}
	return true
}

func (s *scanner) member(m *members, depth int) error {
	start := s.at
	if s.peek() != '"' {
		return s.unexpected("a member name in double quotes")
	}
	name, err := s.name()
	if err != nil {
		return err
	}
	if !m.names.add(name) {
		return refusal(s.data, start, "the member "+quoted(string(name))+" stands twice in one object")
	}
	t, err := s.memberType(m, name, start)
	if err != nil {
		return err
	}
	if s.space(); !s.take(':') {
		return s.unexpected("':'")
	}
	s.space()
	return s.value(t, depth)
}

// memberType finds the type that the member's value goes into, or nil for any. The
// name has just been scanned; it starts at the offset start.
func (s *scanner) memberType(m *members, name []byte, start int) (reflect.Type, error) {
	if m.t == nil {
		return m.element, nil
	}
	t, known := fieldsOf(m.t)[string(name)]
	switch {
	case known:
		return t, nil
	case !s.ignoreUnknown:
		return nil, refusal(s.data, start, "unknown member "+quoted(string(name)))
	}
	s.unknown = append(s.unknown, span{start + 1, s.at - 1})
	return nil, nil
}

// name scans a string and gives what it means, in memory of the text if that is the same.
func (s *scanner) name() ([]byte, error) {
	start := s.at
	escaped, err := s.text()
	if err != nil {
		return nil, err
	}
	if !escaped {
		return s.data[start+1 : s.at-1], nil
	}
	var name string
	if err := json.Unmarshal(s.data[start:s.at], &name); err != nil {
		return nil, refusal(s.data, start, err.Error())
	}
	return []byte(name), nil
}

// text scans a string, quotes included, and reports whether it holds an escape.
func (s *scanner) text() (escaped bool, err error) {
	s.at++
	for {
		if s.at += plain(s.data[s.at:]); s.at == len(s.data) {
			return false, s.fail("the text ends inside a string")
		}
		switch c := s.data[s.at]; {
		case c == '"':
			s.at++
			return escaped, nil
		case c == '\\':
			escaped = true
			if err := s.escape(); err != nil {
				return false, err
			}
		case c < ' ':
			return false, s.fail("a control character in a string")
		case c < utf8.RuneSelf:
			s.at++
		default:
			r, n := utf8.DecodeRune(s.data[s.at:])
			if r == utf8.RuneError && n == 1 {
				return false, s.fail("a string that is not UTF-8")
			}
			s.at += n
		}
	}
}

// escape scans one escape, or the two that make up a surrogate pair.
func (s *scanner) escape() error {
	start := s.at
	s.at++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.at++
		return nil
	case 'u':
		return s.unicode(start)
	}
	return refusal(s.data, start, "an unknown escape in a string")
}

func (s *scanner) unicode(start int) error {
	unit, ok := s.codeUnit()
	switch {
	case !ok:
		return refusal(s.data, start, "\\u without four hexadecimal digits")
	case unit < 0xD800 || unit > 0xDFFF:
		return nil
	case unit > 0xDBFF || !s.take('\\') || s.peek() != 'u':
		return refusal(s.data, start, "half a surrogate pair")
	}
	if low, ok := s.codeUnit(); !ok || low < 0xDC00 || low > 0xDFFF {
		return refusal(s.data, start, "half a surrogate pair")
	}
	return nil
}

// codeUnit scans "uXXXX".
func (s *scanner) codeUnit() (unit int, ok bool) {
	const length = 5
	if len(s.data)-s.at < length {
		return 0, false
	}
	for _, c := range s.data[s.at+1 : s.at+length] {
		digit, ok := hexDigit(c)
		if !ok {
			return 0, false
		}
		unit = unit<<4 | digit
	}
	s.at += length
	return unit, true
}

// number scans -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func (s *scanner) number() error {
	s.take('-')
	if !s.take('0') && !s.digits() {
		return s.unexpected("a digit")
	}
	if s.take('.') && !s.digits() {
		return s.unexpected("a digit")
	}
	if !s.take('e') && !s.take('E') {
		return nil
	}
	if !s.take('+') {
		s.take('-')
	}
	if !s.digits() {
		return s.unexpected("a digit")
	}
	return nil
}

func (s *scanner) digits() (some bool) {
	for isDigit(s.peek()) {
		s.at++
		some = true
	}
	return some
}

func (s *scanner) word() error {
	for _, word := range []string{"true", "false", "null"} {
		if end := s.at + len(word); end <= len(s.data) && string(s.data[s.at:end]) == word {
			s.at = end
			return nil
		}
	}
	return s.unexpected("a value")
}

func (s *scanner) space() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// peek gives the next byte, or 0 at the end; a NUL byte is no part of the grammar.
func (s *scanner) peek() byte {
	if s.at < len(s.data) {
		return s.data[s.at]
	}
	return 0
}

func (s *scanner) take(c byte) bool {
	if s.at < len(s.data) && s.data[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) unexpected(wanted string) error {
	if s.at >= len(s.data) {
		return s.fail("the text ends where " + wanted + " should be")
	}
	return s.fail("expected " + wanted)
}

func (s *scanner) fail(problem string) error { return refusal(s.data, s.at, problem) }

func (s *scanner) tooMuch(problem string) error {
	return refuse(s.data, s.at, SyntaxError{Problem: problem, Over: true})
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func hexDigit(c byte) (int, bool) {
	switch {
	case isDigit(c):
		return int(c - '0'), true
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10, true
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10, true
	}
	return 0, false
}
