//go:build e2e && linux && (amd64 || arm64)

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// estatePolicy lets read two folders and write one of them, and run a command that ends at
// once and one that never does.
const estatePolicy = `version: 1
allowedRoots: ["%[1]s/root", "%[1]s/zone"]
writeRules:
  - {path: "%[1]s/zone", recursive: true}
commands:
  - {id: say, exec: echo, args: {patterns: [{type: regex, value: '[a-z ]+'}]}}
  - {id: follow, exec: tail, args: {fixed: [-n, '+1', -f, "%[1]s/root/followed.txt"]}, timeoutMs: 600000}
`

// An estate is a folder with a policy, what the policy speaks of, and the program.
type estate struct {
	t   *testing.T
	dir string
}

func newEstate(t *testing.T, program string) estate {
	t.Helper()
	e := estate{t, openDir(t)}
	plant(t, e.path("root/letter.txt"), letter)
	plant(t, e.path("root/followed.txt"), "first\n")
	plant(t, e.path("policy.yaml"), fmt.Sprintf(estatePolicy, e.dir))
	plant(t, e.path("recorded"), fmt.Sprintf("#!/bin/bash\nexec %q mcp --config %q < <(exec tee -a %q)\n", e.path("durward"), e.path("policy.yaml"), e.path("heard")))
	for _, err := range []error{
		os.Mkdir(e.path("zone"), 0o755), os.Mkdir(e.path("home"), 0o755),
		os.Chmod(e.path("recorded"), 0o755), os.Link(program, e.path("durward")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// letter is text that is easily spoilt: it ends without a newline, and has both kinds of it.
const letter = "Dear \"reader\",\r\n\tnaïve 漢字 😀 \\n \u0001\n-- end"

func (e estate) path(name string) string { return filepath.Join(e.dir, name) }

// server is the command that serves the estate.
func (e estate) server() []string {
	return []string{e.path("durward"), "mcp", "--config", e.path("policy.yaml")}
}

// recordedServer is a server of which heard tells afterwards what its client said.
func (e estate) recordedServer() []string { return []string{e.path("recorded")} }

func (e estate) heard() string {
	e.t.Helper()
	said, err := os.ReadFile(e.path("heard"))
	if err != nil {
		e.t.Fatal(err)
	}
	return string(said)
}

// environment is one in which programs keep what they keep within the estate.
func (e estate) environment() []string {
	return append(os.Environ(), "HOME="+e.path("home"), "XDG_CACHE_HOME=", "XDG_CONFIG_HOME=", "XDG_DATA_HOME=", "XDG_STATE_HOME=", "DURWARD_STATE_DIR=")
}

// adds prolongs a file.
func (e estate) adds(name, text string) {
	e.t.Helper()
	f, err := os.OpenFile(e.path(name), os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		e.t.Fatal(err)
	}
}

// has asks for a file with these very bytes.
func (e estate) has(name, want string) {
	e.t.Helper()
	if got, err := os.ReadFile(e.path(name)); err != nil || string(got) != want {
		e.t.Errorf("%s has %q, %v; want %q", name, got, err, want)
	}
}

// hasOnly asks that a folder has these entries, in their order, and no other.
func (e estate) hasOnly(folder string, want ...string) {
	e.t.Helper()
	entries, err := os.ReadDir(e.path(folder))
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if err != nil || !slices.Equal(got, want) {
		e.t.Errorf("%s has %q, %v; want %q", folder, got, err, want)
	}
}

// followers are the processes of the command that never ends.
func (e estate) followers() []int { return processesOf(e.path("root/followed.txt")) }

// unfollowed waits until that command has ended.
func (e estate) unfollowed() {
	e.t.Helper()
	awaitEnds(e.t, e.path("root/followed.txt"))
}

// deserted waits until no process of the estate is left.
func (e estate) deserted() {
	e.t.Helper()
	awaitEnds(e.t, e.dir)
}

// awaitEnds waits until no process has a word in its program or its arguments.
func awaitEnds(t *testing.T, word string) {
	t.Helper()
	late := time.Now().Add(2 * time.Minute)
	for pids := processesOf(word); len(pids) > 0; pids = processesOf(word) {
		for _, pid := range pids {
			awaitEnd(t, pid, late)
		}
	}
}

// processesOf lists the processes whose program or arguments have a word in them.
func processesOf(word string) []int {
	var pids []int
	found, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range found {
		program, _ := os.Readlink(filepath.Join(path, "exe")) // none for the dead
		args, _ := os.ReadFile(filepath.Join(path, "cmdline"))
		if pid, err := strconv.Atoi(filepath.Base(path)); err == nil && strings.Contains(program+"\x00"+string(args), word) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// awaitEnd waits for a process to end, and for no longer than until late.
func awaitEnd(t *testing.T, pid int, late time.Time) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(max(time.Until(late), 0).Milliseconds()))
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			t.Fatalf("process %d lives on: %q, %v", pid, args, err)
		}
		return
	}
}
