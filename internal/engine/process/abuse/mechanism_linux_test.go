//go:build linux && abuse && (amd64 || arm64)

package abuse

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// A loss is something that a runtime has to do without.
type loss struct {
	name string
	// refused are the levels that cannot be had then, and held those that still can.
	refused, held []int
	// words are such as a refusal names it by; one is enough.
	words []string
	how   func(*scene) (job, *syscall.SysProcAttr)
}

func plain(*scene) (job, *syscall.SysProcAttr) { return job{}, nil }

var losses = []loss{
	{"namespaces", []int{2}, []int{1}, []string{"namespace", "clone", "mount"}, plain},
	{"mounts", []int{2}, []int{1}, []string{"mount", "root", "/proc"}, plain},
	{"landlock", []int{1}, nil, []string{"landlock"}, plain},
	{"landlock by a filter", []int{1}, nil, []string{"landlock"}, plain},
	{"seccomp", []int{1, 2}, nil, []string{"seccomp", "filter"}, plain},
	{"user namespaces", []int{2}, []int{1}, []string{"namespace", "process-id space", "user space"}, func(s *scene) (job, *syscall.SysProcAttr) {
		return job{Around: s.own("user")}, s.inUserNamespace(unix.CAP_SYS_RESOURCE, 0)
	}},
	{"a whole /proc", []int{2}, []int{1}, []string{"proc"}, func(s *scene) (job, *syscall.SysProcAttr) {
		return job{Around: s.own("user")}, s.inUserNamespace(unix.CAP_SYS_ADMIN, unix.CLONE_NEWNS)
	}},
}

// What a policy needs and cannot be had is a refusal that says so, and nothing has run.
// The mechanism is truly taken from the runtime, not from what it is told.
func TestV51MechanismRemoved(t *testing.T) {
	most := limitOfUserNamespaces(t)
	for _, l := range losses {
		t.Run(l.name, func(t *testing.T) {
			s := newScene(t, row{id: "V51", needs: "fs.read, fs.write", from: 1}, 2, users()[0])
			j, how := l.how(s)
			j.Without = l.name
			levels := append(slices.Clone(l.refused), l.held...)
			marker := func(level int) string { return filepath.Join(s.workspace, []string{"ran0", "ran1", "ran2"}[level]) }
			for _, level := range levels {
				s.level = level
				j.Calls = append(j.Calls, jobCall{s.confined().String(), []string{s.attemptPath(), "mark", marker(level)}})
			}
			got := s.outcomes(j, how)
			if len(got) != len(levels) {
				t.Fatalf("%d answers to %d calls", len(got), len(levels))
			}
			for i, o := range got {
				s.level = levels[i]
				_, ran := os.Lstat(marker(levels[i]))
				if slices.Contains(l.refused, levels[i]) {
					s.unavailable(l, o)
					if !errors.Is(ran, os.ErrNotExist) {
						s.Errorf("level %d: the command has run: %v", levels[i], ran)
					}
				} else if o.Error != "" || ran != nil || o.Level != levels[i] {
					s.Errorf("level %d needs none of it: %+v, %v", levels[i], o, ran)
				}
				s.Logf("V51 level %d %s, without %s: %s %s", levels[i], s.user.name, l.name, o.Reason, o.Error)
			}
			s.end()
		})
	}
	if now := limitOfUserNamespaces(t); now != most {
		t.Errorf("this machine's own limit was %s and is %s", most, now)
	}
}

// unavailable asks that a refusal says what is missing, and what can be done.
func (s *scene) unavailable(l loss, o outcome) {
	s.Helper()
	if o.Reason != durward.SandboxUnavailable || o.Level != 0 || o.Exit != nil {
		s.Errorf("level %d: %+v; want %s", s.level, o, durward.SandboxUnavailable)
	}
	named := func(word string) bool { return strings.Contains(strings.ToLower(o.Error), word) }
	if !slices.ContainsFunc(l.words, named) || o.Hint == "" {
		s.Errorf("level %d: %q (%q) names none of %q, or no remedy", s.level, o.Error, o.Hint, l.words)
	}
}

func limitOfUserNamespaces(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/sys/user/max_user_namespaces")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// Without Landlock level 2 is held by its mounts, if at all, and the report says so.
func TestV51LevelTwoWithoutLandlock(t *testing.T) {
	s := newScene(t, row{id: "V51", needs: "fs.read, fs.write", from: 1}, 2, users()[0])
	got := s.outcomes(job{Without: "landlock", Calls: []jobCall{
		{s.confined().String(), []string{s.attemptPath(), "read", filepath.Join(s.outside, "secret")}},
	}}, nil)
	if len(got) != 1 {
		t.Fatalf("%d answers", len(got))
	}
	switch o := got[0]; {
	case o.Reason == durward.SandboxUnavailable:
	case o.Error != "" || strings.Contains(o.Stdout, strings.TrimSpace(secret)) || !strings.Contains(o.Stdout, `"err":"ENOENT"`):
		t.Errorf("%+v", o)
	default:
		for name, held := range o.Guarantees {
			if strings.Contains(strings.Join(held.By, " "), "landlock") {
				t.Errorf("%s is held by %v", name, held.By)
			}
		}
	}
	s.end()
}
