package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/safetext"
)

const (
	// versionTime bounds the wait for a program to say its version.
	versionTime = 10 * time.Second
	maxVersion  = 4 << 10
)

// installedVersion gives what an installed program says its version is, or "". A program that
// others could have written is not asked.
func (p *program) installedVersion(ctx context.Context, file string) string {
	info, err := os.Stat(file)
	if err != nil || p.untrusted(file, info) != nil {
		return ""
	}
	version, err := versionOf(ctx, file)
	if err != nil {
		return "" // then it is time for another one
	}
	return version
}

// isFit refuses a program that does not start here, or is not of this version.
func isFit(ctx context.Context, file, want string) error {
	version, err := versionOf(ctx, file)
	if err == nil && version != want {
		err = unfit(fmt.Errorf("the program says it is %q, and its release that it is %s", version, want))
	}
	return err
}

// versionOf starts a program to have it say its version.
func versionOf(ctx context.Context, file string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	c := exec.CommandContext(ctx, file, "version", "--json")
	c.Args[0], c.WaitDelay = mainName, time.Second
	said := &headOf{most: maxVersion}
	c.Stdout = said
	if err := c.Run(); err != nil {
		return "", unfit(fmt.Errorf("%s version: %w", file, err))
	}
	var answer struct{ Data versionData }
	if err := json.Unmarshal(said.Bytes(), &answer); err != nil || answer.Data.Version == "" {
		return "", unfit(fmt.Errorf("%s does not say its version", file))
	}
	return safetext.Line(answer.Data.Version), nil
}

func unfit(err error) error {
	return &durward.Error{
		Reason: durward.ProgramUnfit, Op: "try the program", Err: err,
		Hint: "nothing was changed; see that programs may be started from its folder, or name another with --dest DIR",
	}
}

// A headOf keeps the beginning of what is written to it, and takes all of it.
type headOf struct {
	bytes.Buffer
	most int
}

func (h *headOf) Write(text []byte) (int, error) {
	h.Buffer.Write(text[:min(len(text), h.most-h.Len())])
	return len(text), nil
}

// packaged lists the folders in which package managers put programs.
var packaged = []string{"/bin/", "/sbin/", "/usr/", "/lib/", "/nix/store/", "/gnu/store/", "/snap/", "/opt/local/"}

// isPackaged reports whether a file lies where a package manager puts programs.
func isPackaged(file string) bool {
	switch {
	case strings.Contains(file, "/Cellar/"): // Homebrew's, wherever that is
		return true
	case strings.HasPrefix(file, "/usr/local/"):
		return false
	}
	return slices.ContainsFunc(packaged, func(dir string) bool { return strings.HasPrefix(file, dir) })
}

// mayReplace refuses to put a program where a package manager does.
func mayReplace(file string) error {
	if !isPackaged(file) {
		return nil
	}
	return &durward.Error{
		Reason: durward.ProgramForeign, Op: "replace the program", Err: fmt.Errorf("%s is where the system's package manager puts programs", file),
		Hint: "update it by the package manager, or install one of your own: durward install --dest DIR",
	}
}
