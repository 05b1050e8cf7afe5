package pages

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/durward/durward"
)

// guard refuses, with reason ArgDenied, words that a caller chose and that lead out of
// the page's directory by their spelling. Literals are the author's own, and a pattern
// anchored on both sides is the author's word on what may stand there. The program may
// judge URLs by itself.
func (s ToolSpec) guard(command []string, judgesURLs bool) error {
	for i, word := range command {
		if i < len(s.Parts) && (s.Parts[i].Kind == Literal || s.Parts[i].bounded) || judgesURLs && scheme().MatchString(word) {
			continue
		}
		if why := barred(word); why != "" {
			return s.argDenied(i, why)
		}
	}
	return nil
}

// guardVariables refuses, with reason ArgDenied, values of a caller that would lead out
// of the page's directory where the author's literals place them.
func (s ToolSpec) guardVariables(caller, server map[string]string) error {
	for i, part := range s.Parts {
		if i == 0 || part.Kind != Literal {
			continue
		}
		var values []string
		written := expand(part.Text, func(name string) (string, bool) {
			if value, known := server[name]; known {
				return value, true
			}
			value, known := caller[name]
			if known {
				values = append(values, value)
			}
			return "", known
		})
		if len(values) == 0 {
			continue // the author's own word
		}
		if why := barredWith(written, Expand(part.Text, merged(caller, server)), values); why != "" {
			return s.argDenied(i, why)
		}
	}
	return nil
}

// barredWith says why a word may not be passed on that has values of a caller in it.
// Where the author's part alone leads out already, only the values count.
func barredWith(written, word string, values []string) string {
	if barred(written) == "" {
		return barred(word)
	}
	for _, value := range values {
		if why := barred(value); why != "" {
			return why
		}
	}
	return ""
}

func (s ToolSpec) argDenied(i int, why string) error {
	return &durward.Error{
		Reason: durward.ArgDenied, Op: "match", Rule: "argument_guard", Where: s.Where,
		Hint: "name files below the page's directory", Err: fmt.Errorf("argument %d %s", i, why),
	}
}

// barred says why a word may not be passed on, or "". A path may hide in an option.
func barred(word string) string {
	if why := barredPath(word); why != "" || !strings.HasPrefix(word, "-") {
		return why
	}
	if _, value, ok := strings.Cut(word, "="); ok {
		if why := barredPath(value); why != "" {
			return why
		}
	}
	if len(word) > 2 && word[1] != '-' {
		return barredPath(word[2:])
	}
	return ""
}

var (
	scheme = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+://`) })
	drive  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z]:`) })
)

func barredPath(word string) string {
	switch {
	case strings.HasPrefix(word, "/"), strings.HasPrefix(word, `\`):
		return "is an absolute path"
	case strings.HasPrefix(word, "~"):
		return "names a home directory"
	case drive().MatchString(word):
		return "names a drive"
	case strings.HasPrefix(strings.ToLower(word), "file:"):
		return "is a path in the form of a URL"
	case scheme().MatchString(word):
		return ""
	}
	for segment := range strings.FieldsFuncSeq(word, func(r rune) bool { return r == '/' || r == '\\' }) {
		if segment == ".." {
			return `has a ".." in its path`
		}
	}
	return ""
}
