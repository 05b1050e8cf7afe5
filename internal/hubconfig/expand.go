package hubconfig

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// A Setting is what a configuration is read in.
type Setting struct {
	// Dir is the absolute path of the file's directory, to which relative paths are joined.
	Dir string
	// Workspace is the sandbox directory, which ${workspaceFolder} stands for, and Home the
	// directory of the user, for ${userHome}; both are absolute.
	Workspace, Home string
	// Environ is what the other variables are.
	Environ map[string]string
}

// expand puts values in the places of the variables of a text, once: what is put in is not
// looked at again. Where that cannot be done, why says so; it never holds a value.
//
//	${VAR}  ${env:VAR}      the variable, which may be empty but must be set
//	${VAR:-default}         the same, or default where it is empty or not set
//	${workspaceFolder}      the sandbox directory
//	${userHome}             the home directory
//	${input:ID}             what nobody can be asked for
//
// Taken are the values that are of the environment.
func (s Setting) expand(text string) (value string, taken []string, why string) {
	var done strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		done.WriteString(before)
		if !found {
			return done.String(), taken, ""
		}
		inner, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", nil, "a ${ has no }"
		}
		one, own, why := s.variable(inner)
		if why != "" {
			return "", nil, why
		}
		if done.WriteString(one); !own {
			taken = append(taken, one)
		}
		text = after
	}
}

// variable gives a value, and whether the configuration has it, or we do, and no environment.
func (s Setting) variable(inner string) (value string, own bool, why string) {
	switch {
	case inner == "workspaceFolder":
		return s.Workspace, true, ""
	case inner == "userHome":
		return s.Home, true, ""
	case strings.HasPrefix(inner, "input:"):
		return "", false, fmt.Sprintf("${%.64s} would have to be asked for, and here is nobody to ask", inner)
	}
	name, instead, hasDefault := strings.Cut(strings.TrimPrefix(inner, "env:"), ":-")
	if !variableForm().MatchString(name) {
		return "", false, fmt.Sprintf("${%.64s} is no variable that durward knows", name)
	}
	value, set := s.Environ[name]
	switch {
	case hasDefault && value == "":
		return instead, true, ""
	case !set:
		return "", false, "the variable " + name + " is not set"
	}
	return value, false, ""
}

// resolve gives the absolute path that a text names.
func (s Setting) resolve(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(s.Dir, path)
}

// program gives what is started for a command: a bare name is looked up only then.
func (s Setting) program(command string) string {
	if filepath.Base(command) == command {
		return command
	}
	return s.resolve(command)
}

var variableForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`) })
