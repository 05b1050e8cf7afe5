//go:build amd64 || arm64

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// aClient is a home with the file of a client in it, and gives the words that connect it.
func aClient(t *testing.T) (home, file string, words []string) {
	t.Helper()
	home = openDir(t)
	file = filepath.Join(home, ".cursor", "mcp.json")
	plant(t, file, clientText)
	return home, file, []string{"connect", "cursor", "--url", "http://127.0.0.1:8002"}
}

const clientText = "{\n  // mine\n  \"mcpServers\": {}\n}\n"

// Who is at a terminal sees the change and is asked; what was written meanwhile is not lost.
func TestWhoConnectsAClientIsAsked(t *testing.T) {
	home, file, words := aClient(t)
	in := func(c *exec.Cmd) { c.Env = append(c.Env, "HOME="+home, "CI=", "DURWARD_NO_INPUT=") }
	holds := func(want string) {
		t.Helper()
		if got := textOf(t, file); got != want {
			t.Errorf("the file holds %q, want %q", got, want)
		}
	}

	d := sitWith(t, in, words...)
	said := d.reads("? [y/N] ")
	if !strings.Contains(said, `+      "url": "http://127.0.0.1:8002/mcp"`) {
		t.Errorf("it is asked %q", said)
	}
	d.types("n\r")
	d.reads("nothing was changed")
	d.ends(0)
	holds(clientText)

	d = sitWith(t, in, words...)
	d.reads("? [y/N] ")
	const written = "{\"written\": \"by the client\"}"
	plant(t, file, written)
	d.types("y\r")
	if said := d.reads("more: "); !strings.Contains(said, "DWD-FS-021") || !strings.Contains(said, "fix: type the same again") {
		t.Errorf("it says %q", said)
	}
	d.ends(1)
	holds(written)

	d = sitWith(t, in, append(words, "--json")...)
	d.reads(`"retryable":false`)
	d.ends(2)

	d = sitWith(t, in, words...)
	d.reads("? [y/N] ")
	d.types("yes\r")
	d.reads("added durward in ")
	d.ends(0)
	if !strings.Contains(textOf(t, file), `"url":"http://127.0.0.1:8002/mcp"`) && !strings.Contains(textOf(t, file), `"url": "http://127.0.0.1:8002/mcp"`) {
		t.Errorf("the file holds %s", textOf(t, file))
	}
}

// A full disk, be it the client's or that of the state folder, leaves all as it was.
func TestAFullDiskLeavesTheClientAsItWas(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		"the client's": `
			mount -t tmpfs -o size=64k tiny "$HOME/.cursor"; printf %s "$TEXT" > "$HOME/.cursor/mcp.json"
			cat /dev/zero > "$HOME/.cursor/fill" && exit 91
			before=$(ls -A "$HOME/.cursor")
			durward connect cursor --url http://127.0.0.1:8002 --yes; test $? = 9 || exit 92
			test "$(cat "$HOME/.cursor/mcp.json")" = "$TEXT" && test "$(ls -A "$HOME/.cursor")" = "$before" || exit 93
			test -z "$(ls -A "$HOME/state/undo")" || exit 94
			rm "$HOME/.cursor/fill"; durward connect cursor --url http://127.0.0.1:8002 --yes || exit 95
			cat /dev/zero > "$HOME/.cursor/fill"; with=$(cat "$HOME/.cursor/mcp.json")
			durward connect cursor --undo --yes; test $? = 9 || exit 96
			test "$(cat "$HOME/.cursor/mcp.json")" = "$with" || exit 97
			rm "$HOME/.cursor/fill"; durward connect cursor --undo --yes && test "$(cat "$HOME/.cursor/mcp.json")" = "$TEXT" || exit 98`,
		"that of the state folder": `
			mkdir "$HOME/state"; mount -t tmpfs -o size=64k,mode=700 tiny "$HOME/state"; cat /dev/zero > "$HOME/state/fill" && exit 91
			durward connect cursor --url http://127.0.0.1:8002 --yes; test $? = 9 || exit 92
			test "$(cat "$HOME/.cursor/mcp.json")" = "$TEXT" && test "$(ls -A "$HOME/.cursor")" = mcp.json || exit 93`,
	} {
		home, _, _ := aClient(t)
		bin := t.TempDir()
		if err := os.Symlink(self, filepath.Join(bin, "durward")); err != nil {
			t.Fatal(err)
		}
		c := exec.Command("sh", "-c", script)
		c.Env = append(os.Environ(), "HOME="+home, "DURWARD_STATE_DIR="+home+"/state", "TEXT="+strings.TrimSpace(clientText), "PATH="+bin+":"+os.Getenv("PATH"))
		c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		if uid := os.Geteuid(); uid != 0 {
			c.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
			c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
			c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
		}
		out, err := c.CombinedOutput()
		if errors.Is(err, syscall.EPERM) && os.Geteuid() != 0 {
			return // no user namespaces here
		}
		if err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}
