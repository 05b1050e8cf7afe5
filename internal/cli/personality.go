package cli

import (
	"path/filepath"
	"slices"
	"strings"
)

// A linkName is a name that the program can be called by, and what it means then.
type linkName struct {
	name string
	// before stands before the words of the command line.
	before []string
	// first lists what the first word may be, where there is one; nil means anything.
	first []string
	// group gives, for a first word, the one that durward wants before it.
	group map[string]string
}

// mainName is what the program is called.
const mainName = "durward"

// configurator is the name under which policies are kept where that program keeps them.
const configurator = "mdmcpcfg"

// configuratorDir is what the folders of that program are called, and policyServer the server
// that it configures.
const (
	configuratorDir = "mdmcp"
	policyServer    = "mdmcpsrvr"
)

// linkNames lists the names of the programs that durward stands in for.
var linkNames = []linkName{
	{name: "codex-exec-server", before: []string{"exec-server"}},
	{
		name:  configurator,
		first: []string{"install", "update", "policy", "cmd", "doctor", "run", "explain"},
		group: map[string]string{"explain": "policy"},
	},
	{name: policyServer, before: []string{"mcp"}},
	{name: "statespace", first: []string{"serve"}},
}

// personality gives the words that a command line means under the name it was called by.
func personality(args []string) ([]string, error) {
	if len(args) == 0 {
		return []string{}, nil
	}
	name, words := calledBy(args), args[1:]
	i := slices.IndexFunc(linkNames, func(l linkName) bool { return l.name == name })
	if i < 0 {
		return words, present(words)
	}
	link := linkNames[i]
	if first := firstWord(words); first != "" && link.first != nil && !slices.Contains(link.first, first) {
		return nil, usageError("use "+name+" with "+strings.Join(link.first, ", ")+"; all other commands are durward's own",
			"%s has no command %q", name, first)
	}
	if i := slices.Index(words, firstWord(words)); i >= 0 && link.group[words[i]] != "" {
		words = slices.Insert(slices.Clone(words), i, link.group[words[i]])
	}
	words = slices.Concat(link.before, words)
	return words, present(words)
}

// calledBy gives the name that the program was called by.
func calledBy(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return programName(args[0])
}

// programName is what the program of a file is called, wherever it is.
func programName(file string) string { return strings.TrimSuffix(filepath.Base(file), ".exe") }

func firstWord(words []string) string {
	for _, w := range words {
		if !strings.HasPrefix(w, "-") {
			return w
		}
	}
	return ""
}

// absent lists the commands that other builds have and this one does not.
var absent = []string{
	"call", "config", "console", "up",
}

// present refuses the words of a command that this build does not have.
func present(words []string) error {
	if first := firstWord(words); slices.Contains(absent, first) {
		return usageError("durward help lists what it has", "this build has no durward %s", first)
	}
	return nil
}
