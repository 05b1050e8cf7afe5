package seatbelt

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A list is an expression in parentheses; a word is an atom or a string, "#" a raw one.
type (
	list []any
	word struct{ kind, text string }
)

// read reads a profile as the language defines it, with nothing of the writer's code.
func read(text string) (list, error) {
	stack := []list{nil}
	for i := 0; i < len(text); i++ {
		top := &stack[len(stack)-1]
		switch c := text[i]; {
		case c == ' ' || c == '\n' || c == '\t':
		case c == '(':
			stack = append(stack, nil)
		case c == ')':
			if len(stack) == 1 {
				return nil, fmt.Errorf("a ) too many at %d", i)
			}
			closed := *top
			stack = stack[:len(stack)-1]
			stack[len(stack)-1] = append(stack[len(stack)-1], closed)
		case c == '"', c == '#':
			raw := c == '#'
			if raw {
				i++
			}
			var b strings.Builder
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' && !raw {
					i++
				}
				b.WriteByte(text[i])
			}
			*top = append(*top, word{map[bool]string{true: "#", false: `"`}[raw], b.String()})
		default:
			end := i
			for end < len(text) && !strings.ContainsRune(" \n\t()\"#", rune(text[end])) {
				end++
			}
			*top = append(*top, word{"", text[i:end]})
			i = end - 1
		}
	}
	if len(stack) != 1 {
		return nil, fmt.Errorf("%d ) are missing", len(stack)-1)
	}
	return stack[0], nil
}

// allows says what a profile decides of an operation on a path: the last rule that
// matches does.
func allows(t *testing.T, profile, operation, path string) bool {
	t.Helper()
	rules, err := read(profile)
	if err != nil {
		t.Fatalf("%v:\n%s", err, profile)
	}
	verdict := false
	for _, r := range rules[1:] {
		rule := r.(list)
		var operations []string
		var filters []list
		for _, part := range rule[1:] {
			if w, ok := part.(word); ok {
				operations = append(operations, w.text)
			} else {
				filters = append(filters, part.(list))
			}
		}
		named := slices.ContainsFunc(operations, func(o string) bool {
			stem, family := strings.CutSuffix(o, "*")
			return o == operation || o == "default" || family && strings.HasPrefix(operation, stem)
		})
		if named && (len(filters) == 0 || slices.ContainsFunc(filters, func(f list) bool { return matches(f, path) })) {
			verdict = rule[0].(word).text == "allow"
		}
	}
	return verdict
}

func matches(f list, path string) bool {
	value, ok := f[1].(word)
	if !ok {
		return false // it is not about paths
	}
	switch f[0].(word).text {
	case "literal":
		return path == value.text
	case "subpath":
		return around([]string{value.text}, path)
	case "regex":
		return regexp.MustCompile(value.text).MatchString(path)
	}
	return false
}
