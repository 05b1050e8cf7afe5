//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durward/durward/internal/dirlock"
)

// A home is a cgroup of ours that holds no process itself, but the cgroups of calls.
type home struct {
	path string
	name string // what the kernel calls it in /proc/PID/cgroup
	lock *os.File
}

const homePrefix = "durward-"

// makeHome makes a home below parent, a cgroup of the tree, locks it, and removes those
// that runtimes which were killed have left there.
func makeHome(tree hierarchy, parent string) (home, error) {
	sweepHomes(parent)
	path := filepath.Join(parent, homePrefix+rand.Text())
	if err := os.Mkdir(path, 0o755); err != nil {
		return home{}, err
	}
	lock, err := dirlock.Lock(path)
	if err != nil {
		_ = os.Remove(path)
	}
	return home{path, tree.name(path), lock}, err
}

// remove removes the home of calls that have all ended, whatever they have made in it,
// and lets go of the lock.
func (h home) remove() error {
	var err error
	for range 100 {
		if err = removeCgroup(h.path); err == nil {
			break
		}
		time.Sleep(time.Millisecond) // the kernel may still be busy with the dead
	}
	return errors.Join(err, h.lock.Close())
}

// mostRemoved bounds the work of one removal: a command may have made any number of
// cgroups inside its own, in any depth.
const mostRemoved = 4096

// removeCgroup removes a cgroup and all that lie in it, the deepest first. One in which
// somebody lives stays, and so do those around it; that is an error. One that does not
// exist is none.
func removeCgroup(path string) error {
	left := mostRemoved
	return removeBelow(path, &left)
}

func removeBelow(path string, left *int) error {
	err := unix.Rmdir(path)
	if *left--; err == unix.EBUSY && *left > 0 && !childless(path) {
		entries, _ := os.ReadDir(path) // what cannot be read stays
		for _, e := range entries {
			if e.IsDir() && *left > 0 {
				_ = removeBelow(filepath.Join(path, e.Name()), left)
			}
		}
		err = unix.Rmdir(path)
	}
	if err != nil && err != unix.ENOENT {
		return &os.PathError{Op: "remove", Path: path, Err: err}
	}
	return nil
}

// childless reports whether a cgroup has no other in it. The kernel counts those in the
// links of the directory.
func childless(path string) bool {
	var st unix.Stat_t
	return unix.Stat(path, &st) == nil && links(st) == 0
}

// links counts the cgroups in one.
func links(st unix.Stat_t) int { return int(st.Nlink) - 2 }

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
		_ = removeCgroup(home) // one in which somebody lives stays
		lock.Close()
	}
}

// A hierarchy is a mounted tree of cgroups.
type hierarchy struct {
	mount string // where it is mounted
	root  string // what the kernel calls the cgroup that is mounted there
	own   string // the directory of the cgroup that we live in
}

// name is what the kernel calls the cgroup of a directory.
func (h hierarchy) name(path string) string {
	return filepath.Join(h.root, strings.TrimPrefix(path, h.mount))
}

// unified is the hierarchy of version 2, which has no controller in its name.
const unified = ""

// findHierarchy finds the hierarchy of a controller of version 1, or the [unified] one.
func findHierarchy(controller string) (hierarchy, error) {
	path, err := cgroupOf("self", controller)
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
	return hierarchy{mount, root, filepath.Join(mount, path)}, nil
}

// cgroupOf reads /proc/PID/cgroup: "ID:CONTROLLER,…:PATH" to a line.
func cgroupOf(pid, controller string) (string, error) {
	text, err := os.ReadFile(filepath.Join("/proc", pid, "cgroup"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) == 3 && (controller != unified || f[0] == "0") && slices.Contains(strings.Split(f[1], ","), controller) {
			return f[2], nil
		}
	}
	return "", fmt.Errorf("process %s lives in no cgroup of %s", pid, hierarchyName(controller))
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
