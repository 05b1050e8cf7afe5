//go:build !windows

package sandbox

import "os"

// dirMarks are the characters by which a name says where a program lies.
const dirMarks = "/"

// programName gives the name of the file that holds a program.
func programName(name string) string { return name }

// mayExecute reports whether anybody may execute a file.
func mayExecute(_ string, info os.FileInfo) bool { return info.Mode()&0o111 != 0 }
