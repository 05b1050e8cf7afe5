package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// keyVariable is where the program keeps the key that releases are verified with.
const keyVariable = "github.com/durward/durward/internal/release.publicKey"

// build links the program for a system, in a folder of its own.
func build(ctx context.Context, t target, version, publicKey, dir string) ([]byte, error) {
	flags := "-s -w -X main.version=" + version
	if publicKey != "" {
		flags += " -X " + keyVariable + "=" + publicKey
	}
	program := filepath.Join(dir, t.String(), t.program())
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", program, "./cmd/durward")
	cmd.Env = buildEnvironment(os.Environ(), t)
	if _, err := output(cmd); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(program)
	if err == nil && !bytes.Contains(text, []byte(publicKey)) {
		err = fmt.Errorf("the program for %s does not hold the public key: is there a variable %s?", t, keyVariable)
	}
	return text, err
}

// buildEnvironment is the environment for a build, without what would make the same source
// another program. What `go env -w` has written is left out, too.
func buildEnvironment(environ []string, t target) []string {
	var env []string
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		switch name {
		case "GOFLAGS", "GOEXPERIMENT", "GOFIPS140", "GODEBUG":
		default:
			env = append(env, entry)
		}
	}
	return append(env, "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOENV=off", "GOWORK=off")
}
