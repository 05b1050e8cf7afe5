//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A machine is a folder that the scripts of a package take for the root, with a systemd. Its
// programs say that they were called, and fail where the machine is broken.
type machine struct {
	root, account string
	broken        bool
}

// outside are the paths in a script that would lead out of the machine.
var outside = regexp.MustCompile(`([\s"'=])(/(?:etc|var|run)/)`)

const ours = "durward:x:990:990::/var/lib/durward:/usr/sbin/nologin"

func newMachine(t *testing.T, account string, broken bool) machine {
	t.Helper()
	m := machine{t.TempDir(), account, broken}
	for _, name := range []string{"systemctl", "userdel", "useradd"} {
		m.has(t, "bin/"+name, "#!/bin/sh\necho ${0##*/} \"$@\"\nexit $BROKEN\n")
	}
	m.has(t, "bin/getent", "#!/bin/sh\ntest -n \"$ACCOUNT\" && echo \"$ACCOUNT\"\n")
	m.has(t, "run/systemd/system/unit", "")
	return m
}

func (m machine) has(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(m.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// run runs a script of the package and gives what was called; it may not fail.
func (m machine) run(t *testing.T, script, word string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../deploy/package", script))
	if err != nil {
		t.Fatal(err)
	}
	m.has(t, script, outside.ReplaceAllString(string(text), "${1}"+m.root+"${2}"))
	cmd := exec.Command("/bin/sh", filepath.Join(m.root, script), word)
	cmd.Env = []string{"PATH=" + filepath.Join(m.root, "bin") + ":/usr/bin:/bin", "ACCOUNT=" + m.account, "BROKEN=0"}
	if m.broken {
		cmd.Env[2] = "BROKEN=1"
	}
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s %s: %v\n%s", script, word, err, said)
	}
	return string(said)
}

// A machine whose systemd does not answer, or whose services do not start or end, can have the
// package and get rid of it.
func TestScriptsOnABrokenMachine(t *testing.T) {
	m := newMachine(t, ours, true)
	m.has(t, "etc/systemd/system/multi-user.target.wants/durward@hub.service", "")
	for _, call := range []struct{ script, word, want string }{
		{"postinst", "configure", "systemctl daemon-reload\nsystemctl try-restart durward@*.service\n"},
		{"postinst", "2", "systemctl daemon-reload\nsystemctl try-restart durward@*.service\n"},
		{"prerm", "upgrade", ""},
		{"prerm", "1", ""},
		{"prerm", "remove", "systemctl stop durward@*.service\n"},
		{"prerm", "0", "systemctl stop durward@*.service\n"},
		{"postrm", "upgrade", "systemctl daemon-reload\n"},
		{"postrm", "1", "systemctl daemon-reload\n"},
		{"postrm", "remove", "systemctl daemon-reload\nuserdel durward\n"},
		{"postrm", "purge", "systemctl daemon-reload\nuserdel durward\n"},
		{"postrm", "0", "systemctl daemon-reload\nuserdel durward\n"},
	} {
		if said := m.run(t, call.script, call.word); said != call.want {
			t.Errorf("%s %s: %q, want %q", call.script, call.word, said, call.want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(m.root, "etc/systemd/system/*.wants/*")); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// The user stays as long as there is anything that belongs to it, and one that the package did
// not make stays for good.
func TestTheUserThatAPackageRemoves(t *testing.T) {
	for _, test := range []struct {
		account, file, word string
		removed             bool
	}{
		{ours, "", "remove", true},
		{ours, "etc/durward/token", "remove", false},
		{ours, "var/lib/durward/hub/audit", "remove", false},
		{ours, "etc/durward/token", "0", false},
		{ours, "etc/durward/token", "purge", true},
		{ours, "var/lib/durward/hub/audit", "purge", true},
		{"", "", "purge", false},
		{"durward:x:1000:1000:D. Urward:/home/durward:/bin/bash", "", "remove", false},
		{"durward:x:1000:1000:D. Urward:/home/durward:/bin/bash", "", "purge", false},
	} {
		m := newMachine(t, test.account, false)
		if test.file != "" {
			m.has(t, test.file, "")
		}
		said := m.run(t, "postrm", test.word)
		if strings.Contains(said, "userdel") != test.removed {
			t.Errorf("%+v: %s", test, said)
		}
		if _, err := os.Stat(filepath.Join(m.root, test.file)); test.file != "" && (err == nil) != (test.word != "purge") {
			t.Errorf("%+v: %v", test, err)
		}
	}
}
