package sandbox

import (
	"os"
	"path/filepath"
	"strings"
)

// dirMarks are the characters by which a name says where a program lies.
const dirMarks = `/\:`

// programName gives the name of the file that holds a program: ".exe" goes without saying.
func programName(name string) string {
	if filepath.Ext(name) == "" {
		return name + ".exe"
	}
	return name
}

// mayExecute reports whether a file is a program. A batch file is none: Windows would
// hand it to a shell, which takes its arguments for commands.
func mayExecute(path string, _ os.FileInfo) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".exe" || ext == ".com"
}
