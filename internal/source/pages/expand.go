package pages

import "strings"

// Expand replaces each $NAME by its value. A name is the longest run of letters,
// digits and _ that begins with no digit; one that vars does not hold stays as it is,
// and so does "${NAME}". Values are not expanded again.
func Expand(text string, vars map[string]string) string {
	return expand(text, func(name string) (string, bool) {
		value, known := vars[name]
		return value, known
	})
}

func expand(text string, lookup func(name string) (string, bool)) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name := rest[:nameLength(rest)]
		if value, known := lookup(name); known && name != "" {
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
// with a variable in them are expanded, those of the caller never. The server's
// variables go before those of the caller, who has no say in what program it is.
func (s ToolSpec) expand(command []string, caller, server map[string]string) []string {
	run := append([]string{}, command...)
	vars := merged(caller, server)
	for i, part := range s.Parts {
		switch {
		case part.Kind != Literal || !strings.Contains(part.Text, "$"):
		case i == 0:
			run[i] = Expand(part.Text, server)
		default:
			run[i] = Expand(part.Text, vars)
		}
	}
	return run
}
