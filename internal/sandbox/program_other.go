//go:build !linux

package sandbox

import "os"

func openForExec(path string) (*os.File, error) { return os.Open(path) }
