package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/durward/durward/internal/release"
)

// A source is what a release is made of.
type source struct {
	version string
	time    time.Time // of all that is in the release; whole seconds, UTC
	dirty   bool      // it has changes that are in no commit
}

// lookAtSource says what the working directory holds. Where git does not know, the version
// has to be named, and the time by SOURCE_DATE_EPOCH.
func lookAtSource(ctx context.Context, version string) (source, error) {
	changes, err := git(ctx, "status", "--porcelain")
	s := source{version: strings.TrimPrefix(version, "v"), dirty: err != nil || changes != ""}
	if s.version == "" {
		if s.version, err = versionOfCommit(ctx, s.dirty); err != nil {
			return source{}, err
		}
	}
	if _, err := release.ParseVersion(s.version); err != nil {
		return source{}, err
	}
	s.time, err = timeOfSource(ctx)
	return s, err
}

// versionOfCommit is that of the commit's tag. What has none is no release that anybody
// should be given, and gets a version that is older than all others.
func versionOfCommit(ctx context.Context, dirty bool) (string, error) {
	if tag, err := git(ctx, "describe", "--tags", "--exact-match", "--match", "v[0-9]*"); err == nil && !dirty {
		return strings.TrimPrefix(tag, "v"), nil
	}
	commit, err := git(ctx, "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "", fmt.Errorf("no version is known, name one with VERSION: %w", err)
	}
	version := "0.0.0-dev.g" + commit
	if dirty {
		version += ".dirty"
	}
	return version, nil
}

func timeOfSource(ctx context.Context) (time.Time, error) {
	text, named := os.LookupEnv("SOURCE_DATE_EPOCH")
	if !named {
		var err error
		if text, err = git(ctx, "log", "-1", "--format=%ct"); err != nil {
			return time.Time{}, fmt.Errorf("the time of the source is not known, name it with SOURCE_DATE_EPOCH: %w", err)
		}
	}
	seconds, err := strconv.ParseInt(text, 10, 32) // rpm has no room for more
	if err != nil || seconds < 0 {
		return time.Time{}, fmt.Errorf("%q is no time in seconds", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

func git(ctx context.Context, args ...string) (string, error) {
	out, err := output(exec.CommandContext(ctx, "git", args...))
	return strings.TrimSpace(string(out)), err
}

// output runs a command and gives what it prints. What it says of a failure is in the error.
func output(cmd *exec.Cmd) ([]byte, error) {
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args[:min(len(cmd.Args), 3)], " "), err, said.String())
	}
	return out, nil
}
