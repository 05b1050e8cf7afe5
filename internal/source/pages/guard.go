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
			return &durward.Error{
				Reason: durward.ArgDenied, Op: "match", Rule: "argument_guard", Where: s.Where,
				Hint: "name files below the page's directory", Err: fmt.Errorf("argument %d %s", i, why),
			}
		}
	}
	return nil
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
