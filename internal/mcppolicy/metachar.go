package mcppolicy

import (
	"path"
	"slices"
	"strings"
)

const (
	// shellCharacters mean something to every shell.
	shellCharacters = ";&|<>`$\r\n"
	// interpreterCharacters are refused too where the program is a shell itself.
	interpreterCharacters = "(){}^%!\"'\\*?[]~#"
)

// metacharacters gives the characters that no argument of a program may hold, which goes
// by several names.
func metacharacters(names ...string) string {
	if slices.ContainsFunc(names, interprets) {
		return shellCharacters + interpreterCharacters
	}
	return shellCharacters
}

// interprets reports whether a program runs what its arguments say.
func interprets(program string) bool {
	name := strings.ToLower(path.Base(strings.ReplaceAll(program, `\`, "/")))
	switch strings.TrimSuffix(name, ".exe") {
	case "sh", "bash", "dash", "zsh", "ksh", "fish", "cmd", "powershell", "pwsh":
		return true
	}
	return strings.HasSuffix(name, ".bat") || strings.HasSuffix(name, ".cmd")
}
