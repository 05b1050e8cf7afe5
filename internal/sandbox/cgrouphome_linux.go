//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/durward/durward/internal/dirlock"
)

const homePrefix = "durward-"

// makeHome makes a directory for our cgroups below parent, locks it, and removes the
// homes that runtimes which were killed have left there.
func makeHome(parent string) (path string, lock *os.File, err error) {
	sweepHomes(parent)
	path = filepath.Join(parent, homePrefix+rand.Text())
	if err := os.Mkdir(path, 0o755); err != nil {
		return "", nil, err
	}
	if lock, err = dirlock.Lock(path); err != nil {
		_ = os.Remove(path)
	}
	return path, lock, err
}

func sweepHomes(parent string) {
	homes, _ := filepath.Glob(filepath.Join(parent, homePrefix+"*"))
	for _, home := range homes {
		if !dirlock.Settled(home) {
			continue
		}
		lock, err := dirlock.Lock(home)
		if err != nil {
			continue
		}
		calls, _ := filepath.Glob(filepath.Join(home, "*/"))
		for _, c := range calls {
			_ = unix.Rmdir(c) // one that is not empty stays, and so does its home
		}
		_ = unix.Rmdir(home)
		lock.Close()
	}
}

// A hierarchy is a mounted tree of cgroups.
type hierarchy struct {
	mount string // where it is mounted
	own   string // the directory of the cgroup that we live in
}

// unified is the hierarchy of version 2, which has no controller in its name.
const unified = ""

// findHierarchy finds the hierarchy of a controller of version 1, or the [unified] one.
func findHierarchy(controller string) (hierarchy, error) {
	path, err := ownPath(controller)
	if err != nil {
		return hierarchy{}, err
	}
	mount, root, err := mountOf(controller)
	if err != nil {
		return hierarchy{}, err
	}
	if below, ok := strings.CutPrefix(path, root); ok && root != "/" {
		path = below // only this part of the tree is mounted
	}
	return hierarchy{mount, filepath.Join(mount, path)}, nil
}

// ownPath reads /proc/self/cgroup: "ID:CONTROLLER,…:PATH" to a line.
func ownPath(controller string) (string, error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) == 3 && (controller != unified || f[0] == "0") && slices.Contains(strings.Split(f[1], ","), controller) {
			return f[2], nil
		}
	}
	return "", fmt.Errorf("we live in no cgroup of %s", hierarchyName(controller))
}

// mountOf reads /proc/self/mountinfo: the fourth field is the mounted part of the
// tree, the fifth is the mount point; behind a lone dash stand the type, the source
// and the options of the tree, its controllers among them.
func mountOf(controller string) (mount, root string, err error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		before, after, _ := strings.Cut(s.Text(), " - ")
		field, tree := strings.Fields(before), strings.Fields(after)
		if len(field) < 5 || len(tree) < 3 {
			continue
		}
		version2 := tree[0] == "cgroup2"
		version1 := tree[0] == "cgroup" && slices.Contains(strings.Split(tree[2], ","), controller)
		if controller == unified && version2 || controller != unified && version1 {
			return field[4], field[3], nil
		}
	}
	return "", "", fmt.Errorf("%s is not mounted", hierarchyName(controller))
}

func hierarchyName(controller string) string {
	if controller == unified {
		return "cgroup version 2"
	}
	return "the " + controller + " controller of cgroup version 1"
}
