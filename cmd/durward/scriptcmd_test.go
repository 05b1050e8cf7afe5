package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// exits runs a command and wants one exit status: exits STATUS COMMAND [ARGUMENT…]
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND [ARGUMENT…]")
	}
	checkStatus(ts, args[0], ts.Exec(args[1], args[2:]...))
}

func checkStatus(ts *testscript.TestScript, want string, err error) {
	status := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		status = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(status) != want {
		ts.Fatalf("exit status %d, want %s", status, want)
	}
}

// argument runs a command behind an argument of these hexadecimal bytes:
// argument STATUS HEX COMMAND [ARGUMENT…]
func argument(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: argument STATUS HEX COMMAND [ARGUMENT…]")
	}
	var text []byte
	for i := 0; i+1 < len(args[1]); i += 2 {
		b, err := strconv.ParseUint(args[1][i:i+2], 16, 8)
		ts.Check(err)
		text = append(text, byte(b))
	}
	checkStatus(ts, args[0], ts.Exec(args[2], append(args[3:], string(text))...))
}

// last matches the last line of a stream: last stderr PATTERN
func last(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: last stdout|stderr PATTERN")
	}
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile(args[0]), "\n"), "\n")
	if regexp.MustCompile(args[1]).MatchString(lines[len(lines)-1]) == neg {
		ts.Fatalf("the last line of %s is %q", args[0], lines[len(lines)-1])
	}
}

// flip changes one bit of the newest record that contains a text, in the one log that
// has it: flip TEXT
func flip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: flip TEXT")
	}
	logs, err := filepath.Glob(ts.MkAbs("state/audit/*.jsonl"))
	ts.Check(err)
	for _, log := range logs {
		text, err := os.ReadFile(log)
		ts.Check(err)
		if at := bytes.LastIndex(text, []byte(args[0])); at >= 0 {
			text[at] ^= 1
			ts.Check(os.WriteFile(log, text, 0o600))
			return
		}
	}
	ts.Fatalf("no log holds %q", args[0])
}

// signals runs a command, waits until it has written to a file, sends a signal, and
// wants one exit status: signals STATUS NUMBER FILE COMMAND [ARGUMENT…]
func signals(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: signals STATUS NUMBER FILE COMMAND [ARGUMENT…]")
	}
	number, err := strconv.Atoi(args[1])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[3], args[4:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), append(os.Environ(), "DURWARD_STATE_DIR="+ts.Getenv("DURWARD_STATE_DIR"))
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	ts.Check(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for written := false; !written && len(ended) == 0; time.Sleep(time.Millisecond) {
		info, err := os.Stat(ts.MkAbs(args[2]))
		written = err == nil && info.Size() > 0
	}
	_ = cmd.Process.Signal(syscall.Signal(number)) // it may have ended; then the status tells
	checkStatus(ts, args[0], <-ended)
}

// dead wants no process to have a word among its arguments: dead WORD
func dead(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: dead WORD")
	}
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	ts.Check(err)
	for _, p := range processes {
		words, _ := os.ReadFile(p) // it may end meanwhile
		if bytes.Contains(words, []byte(args[0])) {
			ts.Fatalf("%s lives on: %q", filepath.Dir(p), words)
		}
	}
}

// until waits for a file to hold a pattern: until FILE PATTERN
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: until FILE PATTERN")
	}
	awaitPattern(ts, args[0], regexp.MustCompile(`(?m)`+args[1]))
}

// serving waits for the start line in what a server prints, and sets URL and PORT:
// serving FILE
func serving(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serving FILE")
	}
	found := awaitPattern(ts, args[0], regexp.MustCompile(`\AServing on (http://.+:(\d+))\n`))
	ts.Setenv("URL", found[1])
	ts.Setenv("PORT", found[2])
}

func awaitPattern(ts *testscript.TestScript, file string, pattern *regexp.Regexp) []string {
	var text []byte
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		text, _ = os.ReadFile(ts.MkAbs(file)) // it may not be there yet
		if found := pattern.FindStringSubmatch(string(text)); found != nil {
			return found
		}
	}
	ts.Fatalf("%s does not come to hold %s: %s", file, pattern, text)
	return nil
}

// sends sends a signal to the process whose id is in a file: sends SIGNAL FILE
func sends(ts *testscript.TestScript, neg bool, args []string) {
	numbers := map[string]syscall.Signal{"HUP": 1, "INT": 2, "TERM": 15}
	if neg || len(args) != 2 || numbers[args[0]] == 0 {
		ts.Fatalf("usage: sends HUP|INT|TERM FILE")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[1])))
	ts.Check(err)
	process, err := os.FindProcess(pid)
	ts.Check(err)
	ts.Check(process.Signal(numbers[args[0]]))
}
