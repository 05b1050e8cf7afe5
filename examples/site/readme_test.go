//go:build linux

package site_test

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestREADMEShowsWhatItsFirstCommandServes runs the first block of the README, tries the
// lines that it prints, and compares their output with the second block.
func TestREADMEShowsWhatItsFirstCommandServes(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```\n(.*?)```").FindAllStringSubmatch(string(text), 3)
	if len(blocks) != 3 || blocks[2][1] != "make test\n" {
		t.Fatal("README.md does not begin with a command, what it serves, and make test")
	}
	port := freePort(t)
	var printed []string
	for _, line := range serve(t, blocks[0][1], port) {
		out, err := exec.Command("sh", "-c", line).Output()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		line = strings.ReplaceAll(line, bin(t)+"/", "")
		printed = append(printed, "$ "+line+"\n"+string(out))
	}
	shown := strings.ReplaceAll(strings.Join(printed, "\n"), ":"+port, ":8000")
	if diff := cmp.Diff(normal(blocks[1][1]), normal(shown)); diff != "" {
		t.Errorf("README.md shows (-), the command serves (+):\n%s", diff)
	}
}

func bin(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../bin")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// serve runs the command until the test ends and gives the lines to try, once it
// answers.
func serve(t *testing.T, command, port string) []string {
	t.Helper()
	server := exec.Command("sh", "-c", "exec "+command)
	server.Dir, server.Env = "../..", append(os.Environ(), "PORT="+port)
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	diagnostics, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		if err := server.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	for s := bufio.NewScanner(diagnostics); ; {
		if !s.Scan() {
			t.Fatalf("%s does not serve", command)
		}
		if s.Text() == "Serving on http://127.0.0.1:"+port {
			break
		}
	}
	var lines []string
	for s := bufio.NewScanner(out); s.Scan() && (s.Text() != "" || len(lines) == 0); {
		if strings.Contains(s.Text(), port) || strings.Contains(s.Text(), "audit") {
			lines = append(lines, s.Text())
		}
	}
	return lines
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// normal replaces what differs from run to run.
func normal(text string) []string {
	for _, varying := range []struct{ pattern, name string }{
		{`DURWARD_STATE_DIR=\S+`, "STATE"},
		{`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`, "ID"},
		{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`, "TIME"},
	} {
		text = regexp.MustCompile(varying.pattern).ReplaceAllString(text, varying.name)
	}
	return strings.Split(strings.TrimSpace(text), "\n")
}
