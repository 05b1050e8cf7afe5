package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// releaseEnv has this test program make a release.
const releaseEnv = "DURWARD_TEST_MAKES_RELEASE"

func TestMain(m *testing.M) {
	if os.Getenv(releaseEnv) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// What somebody has Go do elsewhere changes no release.
func TestBuildsAskNoSettingsOfTheMachine(t *testing.T) {
	settings := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(settings, []byte("GOFLAGS=-tags=netgo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOENV", settings)
	t.Setenv("GOFLAGS", "")
	for _, test := range []struct {
		env  []string
		want string
	}{
		{os.Environ(), "-tags=netgo\n"},
		{buildEnvironment(os.Environ(), linux), "\n"},
	} {
		cmd := exec.Command("go", "env", "GOFLAGS")
		cmd.Env = test.env
		if out, err := cmd.Output(); err != nil || string(out) != test.want {
			t.Errorf("%q, want %q: %v", out, test.want, err)
		}
	}
}

// Who is told to end leaves nothing of what was begun.
func TestTerminatedReleaseLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-out", filepath.Join(dir, "dist"), "-version", "0.4.0", "-targets", "linux/amd64")
	cmd.Dir, cmd.Env = "../../..", append(os.Environ(), releaseEnv+"=1", "SOURCE_DATE_EPOCH=1700000000")
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	begun := time.NewTicker(time.Millisecond)
	defer begun.Stop()
	for len(namesIn(t, dir)) == 0 {
		select {
		case err := <-ended:
			t.Fatalf("it ended by itself: %v\n%s", err, &said)
		case <-begun.C:
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("it is made all the same")
	}
	if names := namesIn(t, dir); len(names) > 0 {
		t.Errorf("%q are left: %s", names, &said)
	}
}

func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
