//go:build e2e && linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// buildProgram gives the program, which is built once for all tests.
func buildProgram(t *testing.T) string {
	t.Helper()
	program, err := builtProgram()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

var builtProgram = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "durward-e2e-")
	if err != nil {
		return "", err
	}
	atEnd(func() error { return os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	program := filepath.Join(dir, "durward")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	return program, build.Run()
})
