package hubconfig

import (
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
)

// ParseEnvFile reads the variables of an environment file; file stands in every place. No
// message repeats a value.
//
//	# a comment
//	NAME=as it is, without the spaces around it   # and a comment behind a space
//	export OTHER='as it is, # and all'
//	THIRD="with \n, \" and \\"
func ParseEnvFile(file string, data []byte) (map[string]string, config.Problems) {
	var found config.Problems
	values := map[string]string{}
	if !utf8.Valid(data) || strings.IndexByte(string(data), 0) >= 0 {
		found.Add(durward.Position{File: file}, "it is not text")
		return nil, found
	}
	for i, text := range strings.Split(strings.TrimPrefix(string(data), "\ufeff"), "\n") {
		text = strings.TrimSpace(text)
		if text == "" || text[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(text, "export "), "=")
		name = strings.TrimSpace(name)
		if ok && variableForm().MatchString(name) {
			values[name], ok = unquote(strings.TrimSpace(value))
		} else {
			ok = false
		}
		if !ok {
			found.Add(durward.Position{File: file, Line: i + 1}, "this is not NAME=value")
		}
	}
	return values, found
}

// unquote gives what a value says.
func unquote(text string) (string, bool) {
	if text == "" {
		return "", true
	}
	switch text[0] {
	case '\'':
		inner, rest, ok := strings.Cut(text[1:], "'")
		return inner, ok && isComment(rest)
	case '"':
		return unescape(text[1:])
	}
	for i := 1; i < len(text); i++ {
		if text[i] == '#' && (text[i-1] == ' ' || text[i-1] == '\t') {
			return strings.TrimSpace(text[:i]), true
		}
	}
	return text, true
}

// unescape reads up to the closing quote.
func unescape(text string) (string, bool) {
	var value strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return value.String(), isComment(text[i+1:])
		case c != '\\':
			value.WriteByte(c)
		default:
			i++
			if i == len(text) {
				return "", false
			}
			if at := strings.IndexByte("nrt", text[i]); at >= 0 {
				value.WriteByte("\n\r\t"[at])
			} else {
				value.WriteByte(text[i])
			}
		}
	}
	return "", false
}

func isComment(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || text[0] == '#'
}

// AddEnv adds the variables of the server's environment file; those of the configuration win.
func (s *Server) AddEnv(values map[string]string) {
	all := make(map[string]string, len(values)+len(s.Env))
	maps.Copy(all, values)
	maps.Copy(all, s.Env)
	s.Env = all
}
