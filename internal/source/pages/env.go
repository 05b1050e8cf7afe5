package pages

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/durward/durward"
)

// Limits of the variables that a request brings.
const (
	maxEnvEntries    = 64
	maxEnvNameBytes  = 64
	maxEnvValueBytes = 4 << 10
	maxEnvBytes      = 16 << 10
)

var envName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// CheckEnv judges the form of the variables that a request brings. An error has reason
// BadEnvName.
func CheckEnv(env map[string]string) error {
	if len(env) > maxEnvEntries {
		return badEnv("%d variables are more than %d", len(env), maxEnvEntries)
	}
	total := 0
	for _, name := range slices.Sorted(maps.Keys(env)) {
		value := env[name]
		switch {
		case len(name) > maxEnvNameBytes || !envName().MatchString(name):
			return badEnv("%.64q is not a name of a variable", name)
		case len(value) > maxEnvValueBytes:
			return badEnv("the value of %s is longer than %d bytes", name, maxEnvValueBytes)
		case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
			return badEnv("the value of %s holds a control character", name)
		}
		total += len(name) + len(value)
	}
	if total > maxEnvBytes {
		return badEnv("the variables have %d bytes, more than %d", total, maxEnvBytes)
	}
	return nil
}

func badEnv(format string, args ...any) error {
	return &durward.Error{
		Reason: durward.BadEnvName, Op: "read env", Rule: "env",
		Hint: "send few and short variables, named by letters, digits and _", Err: fmt.Errorf(format, args...),
	}
}

// Fixed are the variables that every command of a page gets. Nobody can override
// them.
func Fixed() map[string]string {
	return map[string]string{
		"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8",
	}
}

// dropped are the names that a request cannot set and need not know of. A star ends a
// family of names.
var dropped = []string{
	"PATH", "HOME", "LANG", "LC_ALL", "STATESPACE_SCRATCH", "STATESPACE_WORKSPACE", "AWS_*", "LD_*", "DYLD_*", "_LAMBDA*", "_HANDLER*",
}

// loading are the names that make an interpreter or a common program load or run
// something, or send its traffic elsewhere. They are refused in any spelling unless
// the page or the operator lists them.
var loading = []string{
	"ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "IFS", "PS4", "PROMPT_COMMAND", "BASH_FUNC_*", "PYTHON*", "PERL*", "RUBY*",
	"NODE_*", "JAVA_*", "_JAVA_OPTIONS", "JDK_*", "GIT_*", "GCONV_PATH", "LOCPATH", "NLSPATH", "TERMINFO*", "PAGER", "EDITOR",
	"VISUAL", "BROWSER", "LESS*", "MANPAGER", "SSH_*", "CURL_*", "WGETRC", "*_PROXY", "PG*", "MYSQL_*", "OPENSSL_*", "SSL_*",
	"TMPDIR", "GLIBC_TUNABLES", "MALLOC_*", "RIPGREP_CONFIG_PATH",
}

// among reports whether a name is in a list of names and families.
func among(list []string, name string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		if stem, ok := strings.CutSuffix(entry, "*"); ok {
			return strings.HasPrefix(name, stem)
		}
		if stem, ok := strings.CutPrefix(entry, "*"); ok {
			return strings.HasSuffix(name, stem)
		}
		return name == entry
	})
}

// requested gives the variables of a request that go on, and refuses, with reason
// EnvDenied, those that nobody allowed.
func requested(env map[string]string, allowed []string) (map[string]string, error) {
	kept := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		switch {
		case among(dropped, name):
		case among(loading, strings.ToUpper(name)) && !slices.Contains(allowed, name):
			return nil, &durward.Error{
				Reason: durward.EnvDenied, Op: "read env", Rule: "env." + name,
				Hint: "leave it out, or list it under env in the page's frontmatter",
				Err:  fmt.Errorf("the variable %s could make a program load or run something", name),
			}
		default:
			kept[name] = env[name]
		}
	}
	return kept, nil
}

// merged puts maps on top of each other; later ones win.
func merged(layers ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, layer := range layers {
		maps.Copy(all, layer)
	}
	return all
}
