//go:build linux && e2e

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// An engine is a container engine of a test's own. It lives in a network namespace that leads
// nowhere: its ports are in nobody's way, and nothing of its containers leaves the machine.
type engine struct {
	client []string // the environment of its clients
	pid    int
}

// startEngine runs an engine until the test ends.
func startEngine(t *testing.T, dir string, flags ...string) engine {
	t.Helper()
	run, err := os.MkdirTemp("", "dk") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	args := append([]string{
		"--net", "--mount", "sh", "-c", `ip link set lo up && exec dockerd "$@"`, "dockerd",
		"--iptables=false", "--ip6tables=false", "--ip-forward=false", "--bridge=none",
		"--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(run, "exec"),
		"--pidfile", filepath.Join(run, "pid"), "-H", "unix://" + filepath.Join(run, "s"),
	}, flags...)
	dockerd := exec.Command("unshare", args...) // which becomes it
	dockerd.Stdout, dockerd.Stderr = &log, &log
	if err := dockerd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = dockerd.Process.Signal(syscall.SIGTERM)
		_ = dockerd.Wait() // it was told to end
		if err := os.RemoveAll(run); err != nil {
			t.Error(err)
		}
	})
	e := engine{[]string{"DOCKER_HOST=unix://" + filepath.Join(run, "s")}, dockerd.Process.Pid}
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(100 * time.Millisecond) { // between two looks
		ping := exec.Command("docker", "version")
		ping.Env = append(os.Environ(), e.client...)
		if ping.Run() == nil {
			return e
		}
	}
	t.Fatalf("the engine does not answer:\n%s", log.Bytes())
	return e
}

// inside is a command that runs where the engine's ports are.
func (e engine) inside(name string, args ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{"-t", strconv.Itoa(e.pid), "-n", name}, args...)...)
}
