package hubconfig

import "slices"

// Matches reports whether one of the patterns is that of a whole name: * is any run of
// characters, ? any one, and everything else itself.
func Matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches([]rune(p), []rune(name)) })
}

// matches goes back to the last star only: what an earlier one took is right for all later ones.
func matches(pattern, name []rune) bool {
	p, n := 0, 0
	star, from := -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			from++
			p, n = star+1, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// Allows reports whether the server may offer a tool of its own.
func (s *Server) Allows(tool string) bool {
	return (s.AllowTools == nil || Matches(s.AllowTools, tool)) && !Matches(s.DenyTools, tool)
}
