package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licenseFiles are the names of files that have to go wherever a module goes.
var licenseFiles = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)([.-].*)?$`)

// licenses gives the text of our own license and of those of all that is linked into the
// programs, Go itself included: whoever gives programs out has to give these, too.
func licenses(ctx context.Context, targets []target) ([]byte, error) {
	text, err := os.ReadFile("LICENSE")
	if err != nil {
		return nil, err
	}
	goRoot, err := output(exec.CommandContext(ctx, "go", "env", "GOROOT"))
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{"Go": strings.TrimSpace(string(goRoot))}
	for _, t := range targets {
		if err := addModules(ctx, t, dirs); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(dirs)) {
		part, err := licenseOf(dirs[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		text = fmt.Appendf(text, "\n%s\n%s is part of the program, under these terms:\n\n%s", strings.Repeat("=", 80), name, part)
	}
	return text, nil
}

// addModules adds the folder of each module that the program for a system is made of.
func addModules(ctx context.Context, t target, dirs map[string]string) error {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-json=Module", "./cmd/durward")
	cmd.Env = buildEnvironment(os.Environ(), t)
	out, err := output(cmd)
	if err != nil {
		return err
	}
	packages := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p struct {
			Module *struct {
				Path, Dir string
				Main      bool
			}
		}
		err := packages.Decode(&p)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if p.Module != nil && !p.Module.Main {
			dirs[p.Module.Path] = p.Module.Dir
		}
	}
}

func licenseOf(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, e := range entries {
		if e.IsDir() || !licenseFiles.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", err
		}
		all.Write(text)
	}
	if all.Len() == 0 {
		return "", errors.New("it has no license, so it cannot be given out")
	}
	return all.String(), nil
}
