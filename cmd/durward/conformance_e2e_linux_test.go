//go:build e2e && linux && (amd64 || arm64)

package main

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"
)

// A suite is one way to run the conformance suite of the protocol against a server.
type suite struct {
	name      string
	program   string // of the package
	flags     []string
	scenarios int
	checks    int      // that succeed at least, in scenarios that are not to fail as a whole; some are made only of answers that come late
	fail      []string // what does not: scenarios as a whole, or scenario:check
}

// tasks are scenarios of an extension.
func tasks() []string {
	return []string{
		"tasks-capability-negotiation", "tasks-dispatch-and-envelope", "tasks-lifecycle", "tasks-mrtr-composition", "tasks-mrtr-input",
		"tasks-request-headers", "tasks-request-state-removal", "tasks-required-task-error", "tasks-wire-fields",
	}
}

// suites are what servers are held to in both eras: all of the older suite, and of the newer one
// what each revision requires and what it tries besides.
func suites() []suite {
	const older, newer = "conformance-0.1", "@modelcontextprotocol/conformance"
	return []suite{
		{"0.1.16", older, []string{"--suite", "all"}, 32, 43, nil},
		{"2025-11-25", newer, []string{"--requirements", "2025-11-25"}, 33, 80, nil},
		{"2026-07-28", newer, []string{"--requirements", "2026-07-28"}, 50, 152, tasks()},
	}
}

// A server is held to what the protocol demands of it, in both eras, on one endpoint. What fails is
// an extension, which it does not offer.
func TestServerConforms(t *testing.T) {
	t.Parallel()
	packages := installClients(t)
	server := filepath.Join(t.TempDir(), "everything")
	command(t, []string{"CGO_ENABLED=0"}, "go", "build", "-o", server, "../../internal/mcpserve/testdata/everything")
	r := start(t, exec.Command(server))
	url := r.told.await(t, `Serving on (http://127\.0\.0\.1:\d+)\n`) + "/mcp"
	for _, s := range suites() {
		t.Run(s.name, func(t *testing.T) { s.holds(t, packages, url, r.told) })
	}
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	r.ends(t)
}

// holds runs the suite, and wants just what it is to come to. A warning is no success.
func (s suite) holds(t *testing.T, packages npmPackages, url string, server *log) {
	t.Helper()
	verdicts, said := s.judge(t, packages, url)
	failed, checks := map[string]string{}, 0
	for name, v := range verdicts {
		if slices.Contains(s.fail, name) {
			if len(v.bad) > 0 {
				failed[name] = "as a whole"
			}
			continue
		}
		checks += v.good
		for check, why := range v.bad {
			failed[name+":"+check] = why
		}
	}
	names := slices.Sorted(maps.Keys(failed))
	for _, name := range names {
		if !slices.Contains(s.fail, name) {
			t.Errorf("%s fails: %s", name, failed[name])
		}
	}
	if want := slices.Sorted(slices.Values(s.fail)); !slices.Equal(names, want) || len(verdicts) != s.scenarios || checks < s.checks {
		t.Errorf("of %d scenarios fail %q, and %d checks succeed; want of %d %q, and at least %d\n%s\nthe server:\n%s",
			len(verdicts), names, checks, s.scenarios, want, s.checks, said, server)
	}
}

// A verdict is what a scenario came to.
type verdict struct {
	good int
	bad  map[string]string // checks that failed, and why
}

var scenarioFolder = regexp.MustCompile(`^server-(.+?)-\d{4}-\d\d-\d\dT`)

// judge runs the suite, and reads what it has written of each scenario.
func (s suite) judge(t *testing.T, packages npmPackages, url string) (verdicts map[string]verdict, said string) {
	t.Helper()
	ctx, end := context.WithTimeout(t.Context(), 3*time.Minute)
	defer end()
	out := t.TempDir()
	c := exec.CommandContext(ctx, packages.node(), slices.Concat([]string{packages.path(s.program + "/dist/index.js"), "server", "--url", url, "-o", out}, s.flags)...)
	text, err := c.CombinedOutput()
	if c.ProcessState == nil || !c.ProcessState.Exited() {
		t.Fatalf("%v\n%s", err, text)
	}
	verdicts = map[string]verdict{}
	folders, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		name := scenarioFolder.FindStringSubmatch(folder.Name())
		if name == nil {
			t.Fatalf("the suite writes %s\n%s", folder.Name(), text)
		}
		verdicts[name[1]] = readVerdict(t, filepath.Join(out, folder.Name(), "checks.json"))
	}
	return verdicts, string(text)
}

func readVerdict(t *testing.T, path string) verdict {
	t.Helper()
	v := verdict{bad: map[string]string{}}
	var checks []struct {
		ID, Status, ErrorMessage string
		Details                  json.RawMessage
	}
	fromJSON(t, textOf(t, path), &checks)
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			v.good++
		case "FAILURE", "WARNING":
			v.bad[c.ID] += c.Status + ": " + c.ErrorMessage + "\n\t" + string(c.Details)
		}
	}
	return v
}
