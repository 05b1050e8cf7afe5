package pages

import "strings"

// Expand replaces each $NAME by its value. A name is the longest run of letters,
// digits and _ that begins with no digit; one that vars does not hold stays as it is,
// and so does "${NAME}". Values are not expanded again.
func Expand(text string, vars map[string]string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name := rest[:nameLength(rest)]
		if value, known := vars[name]; known && name != "" {
			b.WriteString(value)
		} else {
			b.WriteString("$" + name)
		}
		text = rest[len(name):]
	}
}

func nameLength(s string) int {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(s)
}

// expand gives the command as it is run: the words that the author wrote as literals
// with a variable in them are expanded, those of the caller never.
func (s ToolSpec) expand(command []string, vars map[string]string) []string {
	run := append([]string{}, command...)
	for i, part := range s.Parts {
		if part.Kind == Literal && strings.Contains(part.Text, "$") {
			run[i] = Expand(part.Text, vars)
		}
	}
	return run
}
