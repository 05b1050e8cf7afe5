//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// startup compares `durward version` with a Go program that does nothing.
func startup(rounds int, quick bool) error {
	dir, err := os.MkdirTemp("", "durward-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, "empty.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return err
	}
	empty, ours := filepath.Join(dir, "empty"), filepath.Join(dir, "durward")
	for target, from := range map[string]string{empty: source, ours: "./cmd/durward"} {
		build := exec.Command("go", "build", "-o", target, from)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("go build %s: %w\n%s", from, err, out)
		}
	}
	m, err := interleaved(max(rounds/3, 5),
		func() error { return exec.Command(empty).Run() },
		func() error { return exec.Command(ours, "version").Run() },
	)
	if err != nil {
		return err
	}
	report("start of durward version", fmt.Sprintf("%.2f ms", float64(m[0])/1e6),
		fmt.Sprintf("%.2f ms = +%.2f ms", float64(m[1])/1e6, float64(m[1]-m[0])/1e6), "<= +15 ms")
	return nil
}
