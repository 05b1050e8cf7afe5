package mcppolicy

import (
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"sync"
)

// A form is what the text of a member must look like.
type form struct {
	pattern string // of RE2 and of JSON Schema alike
	want    string
	matches func(string) bool
}

func newForm(pattern, want string) *form {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
	return &form{pattern: pattern, want: want, matches: func(s string) bool { return compiled().MatchString(s) }}
}

// The forms. A path may be that of any system; which one it is, compiling tells.
var (
	pathForm = newForm(`^(~$|~/|/|[A-Za-z]:[/\\]|\\\\)`, "an absolute path, or begin with ~/")
	execForm = newForm(`^(/|[A-Za-z]:[/\\]|\\\\|[^/\\:]+$)`, "an absolute path or a bare name")
	idForm   = newForm(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`, "1 to 64 letters, digits, dots, hyphens or underscores, and begin with a letter or digit")
	envForm  = newForm(`^[A-Za-z_][A-Za-z0-9_]*$`, "a name of letters, digits and underscores that begins with no digit")
)

const maxPatternBytes = 1000

// refusePattern says why a text is no pattern of RE2, or gives "".
func refusePattern(text string) string {
	if _, err := compilePattern(text); err != nil {
		return "is no pattern of RE2: " + strings.TrimPrefix(err.Error(), "error parsing regexp: ")
	}
	return ""
}

// compilePattern makes a pattern match the whole of an argument. It is read by itself
// first: what is around it neither changes what it means, nor stands in its error.
func compilePattern(text string) (*regexp.Regexp, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	return regexp.Compile(`\A(?:` + tree.String() + `)\z`)
}

// refuseLoader says why a variable may be nobody's to set, or gives "".
func refuseLoader(name string) string {
	if upper := strings.ToUpper(name); strings.HasPrefix(upper, "LD_") || strings.HasPrefix(upper, "DYLD_") {
		return "names " + strconv.Quote(name) + ", by which a program can be made to load other code; no policy may allow that"
	}
	return ""
}

// plants reports whether a variable can make a program run something else, so that
// whoever may set it may do more than the arguments say.
func plants(name string) bool {
	switch strings.ToUpper(name) {
	case "BASH_ENV", "ENV", "PYTHONSTARTUP", "NODE_OPTIONS", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "PERL5OPT", "RUBYOPT", "JAVA_TOOL_OPTIONS":
		return true
	}
	return false
}
