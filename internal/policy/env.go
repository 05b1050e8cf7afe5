package policy

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// basePath is the PATH of every command, but for what the command itself could write.
const basePath = "/usr/local/bin:/usr/bin:/bin"

var envName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// reservedNames make a program load code, run a program or send its traffic elsewhere.
// A star ends a family of names. A policy may give some of them a value itself.
var reservedNames = [...]struct {
	name string
	// set is true when the "set" of a policy may hold the name.
	set bool
}{
	{"LD_*", false},
	{"DYLD_*", false},
	{"GLIBC_TUNABLES", false},
	{"GCONV_PATH", false},
	{"BASH_ENV", false},
	{"ENV", false},
	{"BASH_FUNC_*", false},
	{"SHELLOPTS", false},
	{"PROMPT_COMMAND", false},
	{"IFS", false},
	{"PYTHONSTARTUP", false},
	{"PYTHONPATH", false},
	{"NODE_OPTIONS", false},
	{"PERL5OPT", false},
	{"RUBYOPT", false},
	{"JAVA_TOOL_OPTIONS", false},
	{"GIT_SSH*", false},
	{"GIT_EXTERNAL_DIFF", false},
	{"GIT_PAGER", false},
	{"GIT_CONFIG*", true},
	{"RIPGREP_CONFIG_PATH", true},
}

// reserved gives the reserved name or family that name belongs to in any spelling, and
// whether a policy may set it; or "".
func reserved(name string) (family string, settable bool) {
	upper := strings.ToUpper(name)
	for _, r := range reservedNames {
		if stem, open := strings.CutSuffix(r.name, "*"); upper == r.name || open && strings.HasPrefix(upper, stem) {
			return r.name, r.set
		}
	}
	if strings.HasSuffix(upper, "_PROXY") {
		return "*_PROXY", false
	}
	return "", false
}

// harmless reports whether a reserved name may carry value whoever sets it: without a
// configuration file git has nothing to run.
func harmless(family, value string) bool { return family == "GIT_CONFIG*" && value == "/dev/null" }

// neverAllowed reports whether no list of allowed names may hold a family.
func neverAllowed(family string) bool { return slices.Contains([]string{"LD_*", "DYLD_*"}, family) }
