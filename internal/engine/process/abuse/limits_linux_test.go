//go:build linux && abuse && (amd64 || arm64)

package abuse

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/safetext"
)

// ended asks that a call was ended for a reason, and that nothing of it lives.
func (s *scene) ended(what string, r durward.Result, err error, reason durward.Reason, cause durward.Cause) {
	s.Helper()
	if durward.ReasonOf(err) != reason || ending(r).Cause != cause {
		s.Errorf("%s: %v, ended by %+v; want %s", what, err, ending(r), reason)
	}
	if left := processesWith(s.T, s.top); len(left) > 0 {
		s.Errorf("%s: %v live on", what, left)
	}
	s.said[string(cause)] = true
}

func TestV30MemoryHog(t *testing.T) {
	row{id: "V30", needs: "mem"}.each(t, func(s *scene) {
		d := s.base.with("limits", "{wallMs: 60000, graceMs: 50, memoryBytes: 67108864}")
		for what, args := range map[string][]string{
			"one":  {"hog", "268435456", "1", "hold"},
			"many": {"hog", "33554432", "8"},
		} {
			a := s.attemptUnder(d, args...)
			s.ended(what, a.result, a.err, durward.LimitMemory, durward.CauseLimitMemory)
		}
		s.must(s.attemptUnder(d, "hog", "1048576", "1")) // the next call has all of its limit
	})
}

func TestV31DiskFiller(t *testing.T) {
	row{id: "V31"}.each(t, func(s *scene) {
		d := s.base.with("limits", "{wallMs: 60000, graceMs: 50, fileSizeBytes: 1048576, tmpBytes: 8388608}")
		a := s.attemptUnder(d, "fill", filepath.Join(s.workspace, "big"), "4194304")
		if n, err := strconv.Atoi(a.Got); a.Err != "EFBIG" || err != nil || n > 1<<20 {
			s.Errorf("%v", a)
		}
		s.denied(s.attemptUnder(d, "sparse", filepath.Join(s.workspace, "sparse"), "1099511627776"), "EFBIG")
		r, err := s.do(d, s.script("head -c 4194304 /dev/zero > "+filepath.Join(s.workspace, "killed")))
		if err != nil || r.ExitStatus() == 0 {
			s.Errorf("who does not mind the signal: exit %d, %v", r.ExitStatus(), err)
		}
		for _, name := range names(s.T, s.workspace) {
			if info, err := os.Lstat(filepath.Join(s.workspace, name)); err == nil && info.Size() > 1<<20 {
				s.Errorf("%s has %d bytes", name, info.Size())
			}
		}
	})
}

// A private directory of its own size is a thing of level 2.
func TestV31TemporaryFiller(t *testing.T) {
	row{id: "V31", needs: "fs.meta", from: 2}.each(t, func(s *scene) {
		d := s.base.with("limits", "{wallMs: 60000, graceMs: 50, tmpBytes: 8388608}")
		a := s.attemptUnder(d, "fill", "/tmp/big", "67108864")
		if n, err := strconv.Atoi(a.Got); a.Err != "ENOSPC" || err != nil || n > 8<<20 {
			s.Errorf("%v", a)
		}
		a = s.attemptUnder(d, "inodes", "/tmp", "1000000")
		if n, err := strconv.Atoi(a.Got); a.Err != "ENOSPC" || err != nil || n >= 1000000 {
			s.Errorf("%v", a)
		}
		for _, dir := range []string{"/dev", "/dev/shm", "/", "/proc", "/etc", "/run", "/var", "/sys"} {
			a = s.attemptUnder(d, "fill", dir+"/big", "67108864")
			if n, _ := strconv.Atoi(a.Got); a.Err == "" || n > 8<<20 {
				s.Errorf("%v", a)
			}
			a = s.attemptUnder(d, "inodes", dir, "200000")
			if a.Err == "" {
				s.Errorf("%v", a)
			}
		}
		s.must(s.attemptUnder(d, "fill", "/tmp/big", "4194304")) // the next call has all of its limit
	})
}

func TestV32ProcessorHog(t *testing.T) {
	row{id: "V32"}.each(t, func(s *scene) {
		r, err := s.do(s.base.with("limits", "{wallMs: 60000, graceMs: 50, cpuMs: 300}"), durward.Call{Argv: []string{s.attemptPath(), "spin", "8"}})
		s.ended("threads", r, err, durward.LimitCPU, durward.CauseLimitCPU)
		r, err = s.do(s.base.with("limits", "{wallMs: 60000, graceMs: 50, cpuMs: 600}"), s.script("for i in 1 2 3 4; do (while :; do :; done) & done; wait"))
		s.ended("processes", r, err, durward.LimitCPU, durward.CauseLimitCPU)
		r, err = s.do(s.base.with("limits", "{wallMs: 500, graceMs: 50}"), durward.Call{Argv: []string{s.attemptPath(), "spin", "4"}})
		s.ended("time", r, err, durward.DeadlineExceeded, durward.CauseTimeout)
	})
}

func TestV33OutputBomb(t *testing.T) {
	row{id: "V33", serial: true}.each(t, func(s *scene) {
		const kept = 1 << 16
		limits := "{wallMs: 60000, graceMs: 50, outputBytes: 65536, outputHardBytes: %d}"
		for what, argv := range map[string][]string{
			"yes":   {"bash", "-c", ": " + s.top + "; exec yes"},
			"zeros": {"bash", "-c", ": " + s.top + "; head -c 10000000000 /dev/zero"},
			"both":  {s.attemptPath(), "flood", "10000000000"},
		} {
			watch := watchHeap()
			r, err := s.do(s.base.with("limits", fmt.Sprintf(limits, 128<<20)), durward.Call{Argv: argv})
			grown := watch()
			s.ended(what, r, err, durward.LimitOutput, durward.CauseLimitOutput)
			if len(r.Stdout.Bytes()) > kept || len(r.Stderr.Bytes()) > kept || !r.Truncated() {
				s.Errorf("%s: %d and %d bytes are kept", what, len(r.Stdout.Bytes()), len(r.Stderr.Bytes()))
			}
			if grown > 32<<20 {
				s.Errorf("%s: the runtime has grown by %d bytes", what, grown)
			}
		}
		r, err := s.do(s.base.with("limits", fmt.Sprintf(limits, 1<<30)), durward.Call{Argv: []string{"head", "-c", "30000000", "/dev/zero"}})
		if err != nil || r.Stdout.Total != 30000000 || r.Stdout.Dropped() != 30000000-kept || !r.Truncated() {
			s.Errorf("below the hard cap: %d bytes, %d dropped, %v", r.Stdout.Total, r.Stdout.Dropped(), err)
		}
	})
}

// watchHeap gives a function that tells by how much the heap has grown at most since.
func watchHeap() func() int64 {
	runtime.GC()
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	first, most := int64(now.HeapInuse), int64(now.HeapInuse)
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				var now runtime.MemStats
				runtime.ReadMemStats(&now)
				most = max(most, int64(now.HeapInuse))
				_, _ = unix.Poll(nil, 5)
			}
		}
	})
	return func() int64 {
		close(stop)
		watching.Wait()
		return most - first
	}
}

func TestV34OddBytes(t *testing.T) {
	row{id: "V34"}.each(t, func(s *scene) {
		all := make([]byte, 0, 1<<13)
		for i := range 1 << 12 {
			all = append(all, byte(i), byte(i>>4))
		}
		for kind, want := range map[string][]byte{"line": bytes.Repeat([]byte("x"), 300_000), "bytes": all} {
			r, err := s.do(s.base, durward.Call{Argv: []string{s.attemptPath(), "print", kind}})
			if err != nil || !bytes.Equal(r.Stdout.Bytes(), want) || r.Stdout.Total != int64(len(want)) {
				s.Errorf("%s: %d bytes, %v", kind, r.Stdout.Total, err)
			}
			text := safetext.Output(string(r.Stdout.Bytes()))
			if !utf8.ValidString(text) || strings.ContainsFunc(text, commands) {
				s.Errorf("%s: the text is not safe", kind)
			}
		}
	})
}

// commands tells the runes that a terminal obeys.
func commands(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
}

func TestV35TerminalEscapes(t *testing.T) {
	row{id: "V35"}.each(t, func(s *scene) {
		c := durward.Call{Argv: []string{s.attemptPath(), "print", "escapes", "\x1b]52;c;ZXZpbA==\x07", "\u009b2J", "\u202e"}}
		for _, terminal := range []*durward.WindowSize{nil, {Rows: 24, Cols: 80}} {
			c.Terminal = terminal
			r, err := s.do(s.base, c)
			out := string(r.Stdout.Bytes())
			if err != nil || !strings.Contains(out, "\x1b]52;c;cm0gLXJmIC8=\x07") {
				s.Errorf("%v: %q", err, out)
			}
			if text := safetext.Output(out); strings.ContainsFunc(text, commands) || !strings.Contains(text, "done") {
				s.Errorf("the text is %q", text)
			}
		}
		// A program of such a name fails loudly.
		_, err := s.do(s.base, durward.Call{Argv: []string{"\x1b[31mevil"}})
		if durward.ReasonOf(err) != durward.ProgramNotFound {
			s.Errorf("%v", err)
		}
		s.logIsSafe()
	})
}

// logIsSafe asks that a terminal which shows the audit log obeys nothing in it.
func (s *scene) logIsSafe() {
	s.Helper()
	text, err := os.ReadFile(s.log.File())
	s.check(err)
	if len(text) == 0 || !utf8.Valid(text) || bytes.ContainsFunc(text, commands) {
		s.Errorf("the log holds what a terminal obeys: %q", text)
	}
	for line := range bytes.Lines(text) {
		if !json.Valid(line) {
			s.Errorf("a line of the log is no JSON: %q", line)
		}
	}
}

func TestV40EnvironmentSecrets(t *testing.T) {
	t.Setenv("TOKEN", secretOfCanary)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secretOfCanary)
	row{id: "V40", change: func(s *scene) {
		s.host.Environ = map[string]string{"TOKEN": secretOfCanary, "TERM": "dumb"}
		s.base = s.base.with("env", "{set: {GIVEN: yes}, pass: [TERM]}")
	}}.each(t, func(s *scene) {
		for _, c := range []durward.Call{
			{Argv: []string{"env", "-0"}},
			{Argv: []string{s.attemptPath(), "env"}},
			{Argv: []string{s.attemptPath(), "environs"}},
			s.script("cat /proc/$$/environ /proc/$PPID/environ /proc/1/environ /proc/*/environ; set; export -p"),
		} {
			r, err := s.do(s.base, c)
			if out := string(r.Stdout.Bytes()); err != nil || strings.Contains(out, secretOfCanary) {
				// Level 0 hides no other process of the same user.
				if err == nil && s.level == 0 && !strings.Contains(out, "TOKEN") {
					continue
				}
				s.Errorf("%q: %v: %q", c.Argv, err, out)
			}
		}
		r, err := s.do(s.base, durward.Call{Argv: []string{"env", "-0"}})
		s.check(err)
		var got []string
		for pair := range strings.SplitSeq(strings.TrimSuffix(string(r.Stdout.Bytes()), "\x00"), "\x00") {
			name, _, _ := strings.Cut(pair, "=")
			got = append(got, name)
		}
		slices.Sort(got)
		if want := "GIVEN HOME LANG PATH TERM TMPDIR"; strings.Join(got, " ") != want {
			s.Errorf("it has %v, want %s", got, want)
		}
		// No log has it, either.
		text, err := os.ReadFile(s.log.File())
		s.check(err)
		if bytes.Contains(text, []byte(secretOfCanary)) || bytes.Contains(text, []byte(base64.StdEncoding.EncodeToString([]byte(secretOfCanary)))) {
			s.Error("the log has the secret")
		}
	})
}
