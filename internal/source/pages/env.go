package pages

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/durward/durward"
)

// IsVariableName reports whether a text can name a variable: letters, digits and _, the
// first of which is no digit.
func IsVariableName(text string) bool { return text != "" && nameLength(text) == len(text) }

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
// the page or the operator lists them. A star begins or ends a family of names.
var loading = []string{
	"ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "IFS", "PS4", "PROMPT_COMMAND", "BASH_FUNC_*", "PYTHON*", "PERL*", "RUBY*",
	"NODE_*", "JAVA_*", "_JAVA_OPTIONS", "JDK_*", "GIT_*", "GCONV_PATH", "LOCPATH", "NLSPATH", "TERMINFO*", "PAGER", "EDITOR",
	"VISUAL", "BROWSER", "LESS*", "MANPAGER", "SSH_*", "CURL_*", "WGETRC", "*_PROXY", "PG*", "MYSQL_*", "OPENSSL_*", "SSL_*",
	"TMPDIR", "GLIBC_TUNABLES", "MALLOC_*", "RIPGREP_CONFIG_PATH",

	// Options that a program reads as if its caller had written them, and programs that
	// it runs: "tar" runs what TAR_OPTIONS says.
	"*_OPTIONS", "*_OPTS", "*_PAGER", "*_EDITOR", "*_ASKPASS", "*_RSH", "SVN_SSH", "RSYNC_*", "ZIPOPT", "MANOPT", "MANROFFOPT", "DBUS_*",
	// Files that a program reads first.
	"XDG_*", "PSQLRC", "VIMINIT", "GVIMINIT", "EXINIT", "EMACSLOADPATH", "ZDOTDIR", "INPUTRC", "TERMCAP", "KUBECONFIG", "DOCKER_*",
	"GNUPGHOME", "KRB5*", "ODBC*", "HOSTALIASES", "LOCALDOMAIN",
	// Interpreters.
	"LUA_*", "PHPRC", "PHP_INI_SCAN_DIR", "AWKPATH", "AWKLIBPATH", "CLASSPATH", "TCLLIBPATH", "R_*", "JULIA_*", "GUILE_*", "ERL_*",
	"DOTNET_*", "CORECLR_*", "COMPLUS_*", "PSMODULEPATH", "FPATH", "GEM_*", "BUNDLE_*", "DENO_*", "OCAMLRUNPARAM", "CAML_LD_LIBRARY_PATH",
	// Builds.
	"MAKEFLAGS", "GNUMAKEFLAGS", "MFLAGS", "MAKEFILES", "CARGO_*", "RUSTC*", "RUSTFLAGS", "RUSTUP_*", "GOFLAGS", "GOENV", "GOROOT",
	"GOPROXY", "GOTOOLCHAIN", "GCC_EXEC_PREFIX", "COMPILER_PATH", "CMAKE_*", "PKG_CONFIG*", "NPM_*", "YARN_*", "PIP_*", "UV_*",
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

// listed keeps the variables that a page names.
func listed(env map[string]string, names []string) map[string]string {
	kept := map[string]string{}
	for name, value := range env {
		if slices.Contains(names, name) {
			kept[name] = value
		}
	}
	return kept
}

// merged puts maps on top of each other; later ones win.
func merged(layers ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, layer := range layers {
		maps.Copy(all, layer)
	}
	return all
}
