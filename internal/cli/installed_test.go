package cli

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/release"
	"github.com/durward/durward/internal/release/releasetest"
)

func TestWhereProgramsOfPackagesLie(t *testing.T) {
	for file, want := range map[string]bool{
		"/usr/bin/durward": true, "/bin/durward": true, "/usr/lib/durward/durward": true, "/snap/durward/1/durward": true, "/nix/store/x/bin/durward": true,
		"/opt/homebrew/Cellar/durward/0.4.0/bin/durward": true, "/usr/local/Cellar/durward/0.4.0/bin/durward": true,
		"/usr/local/bin/durward": false, "/opt/durward/bin/durward": false, "/home/me/.local/share/durward/bin/durward": false, "/usrlocal/durward": false,
		`C:\Users\me\AppData\Local\durward\bin\durward.exe`: false,
	} {
		if isPackaged(file) != want {
			t.Errorf("%s: %v", file, !want)
		}
	}
}

// What a program says of its version is only believed as far as it can be.
func TestVersionOfAProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // it has no scripts that start by themselves
	}
	file := filepath.Join(t.TempDir(), "durward")
	says := func(text string) string { return "#!/bin/sh\n" + text }
	for text, want := range map[string]string{
		string(releasetest.Script("0.4.0")):                                       "0.4.0",
		says(`echo '{"data":{"version":"dev"}}'`):                                 "dev",
		says(`test "$*" = "version --json" && echo '{"data":{"version":"1"}}'`):   "1",
		says("echo durward 0.4.0"):                                                "",
		says("exit 1"):                                                            "",
		says("while echo xxxxxxxxxxxxxxxxxxxxxxxx; do :; done | head -c 1000000"): "",
		"no program": "",
	} {
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		got, err := versionOf(t.Context(), file)
		if got != want || (err == nil) != (want != "") || err != nil && durward.ReasonOf(err) != durward.ProgramUnfit {
			t.Errorf("%q: %q %v", text, got, err)
		}
	}
}

// A program that others could have written is not started to ask it.
func TestAProgramOfOthersIsNotAsked(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // rights are no bits there
	}
	dir := t.TempDir()
	file, ran := filepath.Join(dir, "durward"), filepath.Join(dir, "ran")
	if err := os.WriteFile(file, []byte("#!/bin/sh\ntouch '"+ran+"'\n"+strings.TrimPrefix(string(releasetest.Script("0.4.0")), "#!/bin/sh\n")), 0o755); err != nil {
		t.Fatal(err)
	}
	p := &program{}
	if got := p.installedVersion(t.Context(), file); got != "0.4.0" {
		t.Fatalf("%q", got)
	}
	if err := os.Remove(ran); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o777); err != nil {
		t.Fatal(err)
	}
	if got := p.installedVersion(t.Context(), file); got != "" {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("it was started")
	}
}

// A former program that others could have written is not the one that was kept, and not gone back
// to.
func TestNoRollbackToAProgramOfOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // rights are no bits there
	}
	dir := t.TempDir()
	file, ran := filepath.Join(dir, "durward"), filepath.Join(dir, "ran")
	former := "#!/bin/sh\ntouch '" + ran + "'\n" + strings.TrimPrefix(string(releasetest.Script("0.3.0")), "#!/bin/sh\n")
	for name, text := range map[string]string{file: string(releasetest.Script("0.4.0")), file + ".previous": former} {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	spoils := map[string]func() error{"everybody's": func() error { return os.Chmod(file+".previous", 0o777) }}
	if os.Geteuid() == 0 {
		spoils["another user's"] = func() error {
			return errors.Join(os.Chmod(file+".previous", 0o755), os.Chown(file+".previous", 65533, 65533))
		}
	}
	for name, spoil := range spoils {
		place, err := release.Open(file)
		if err := errors.Join(err, spoil()); err != nil {
			t.Fatal(err)
		}
		_, err = (&installing{program: &program{}, updates: true}).rollback(t.Context(), place)
		if err := place.Close(); err != nil {
			t.Error(err)
		}
		if durward.ReasonOf(err) != durward.NothingKept {
			t.Errorf("%s: %v", name, err)
		}
		if now, err := os.ReadFile(file); err != nil || string(now) != string(releasetest.Script("0.4.0")) {
			t.Errorf("%s: %q %v", name, now, err)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("it was started")
	}
}

func TestTheStatusOfAnInstallation(t *testing.T) {
	for reason, want := range map[durward.Reason]int{
		durward.ReleaseUnverified: 4, durward.BadUsage: 2, durward.PolicyInvalid: 3, durward.ReleaseNotFound: 1, durward.FilePermission: 1,
		durward.NoSpace: 1, durward.ReleaseUnread: 1, durward.InstallBusy: 1, durward.Defect: 1,
	} {
		if got := installStatus(&durward.Error{Reason: reason}); got != want {
			t.Errorf("%s: %d, want %d", reason, got, want)
		}
	}
}
