//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// build makes a program, as releases are made, of a package or a file of this repository.
func build(target, from string) error { return buildIn("", target, from) }

// buildModule makes the program of a module of its own: one that uses what durward does not.
func buildModule(target, dir string) error { return buildIn(dir, target, ".") }

func buildIn(dir, target, from string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", target, from)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", from, err, out)
	}
	return nil
}

// buildDurward makes durward in a folder.
func buildDurward(dir string) (string, error) {
	target := filepath.Join(dir, "durward")
	return target, build(target, "./cmd/durward")
}

// buildEmpty makes a Go program that does nothing in a folder.
func buildEmpty(dir string) (string, error) {
	source, target := filepath.Join(dir, "empty.go"), filepath.Join(dir, "empty")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return "", err
	}
	return target, build(target, source)
}

// buildEcho makes, in a folder, a Go program that answers lines.
func buildEcho(dir string) (string, error) {
	target := filepath.Join(dir, "echo")
	return target, build(target, "./bench/testdata/echo")
}

// buildHTTPFloor makes, in a folder, a Go program that hands requests on.
func buildHTTPFloor(dir string) (string, error) {
	target := filepath.Join(dir, "httpfloor")
	return target, build(target, "./bench/testdata/httpfloor")
}
