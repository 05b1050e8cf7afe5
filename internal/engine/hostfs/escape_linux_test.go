package hostfs

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// An attempt is a request for something in a directory, which leads where nothing may be
// read or changed.
type attempt struct{ method, input, content string }

// attempts are the requests by which something outside could be read or changed, if a
// directory at % led there.
func attempts(dir string) []attempt {
	var all []attempt
	for _, a := range []attempt{
		{"readFile", `{"path":"%/secret.txt"}`, ""},
		{"open", `{"path":"%/secret.txt"}`, ""},
		{"readDirectory", `{"path":"%"}`, ""},
		{"readDirectory", `{"path":"%/below"}`, ""},
		{"writeFile", `{"path":"%/secret.txt"}`, "overwritten"},
		{"writeFile", `{"path":"%/new"}`, "new"},
		{"open", `{"path":"%/secret.txt","mode":"replace"}`, ""},
		{"createDirectory", `{"path":"%/made/deep"}`, ""},
		{"remove", `{"path":"%/secret.txt"}`, ""},
		{"remove", `{"path":"%/below"}`, ""},
		{"copy", `{"sourcePath":"%/secret.txt","destinationPath":"$/ws/copied","recursive":false}`, ""},
		{"copy", `{"sourcePath":"%/below","destinationPath":"$/ws/copied","recursive":true}`, ""},
		{"copy", `{"sourcePath":"$/ws/a.txt","destinationPath":"%/secret.txt","recursive":false}`, ""},
		{"copy", `{"sourcePath":"$/ws/tree","destinationPath":"%/below","recursive":true}`, ""},
	} {
		a.input = strings.ReplaceAll(a.input, "%", dir)
		all = append(all, a)
	}
	return all
}

// inside is the grant of all that follows: nothing but the workspace is read or written.
func (s *scene) inside() durward.Grant {
	return confinedTo(durward.WorkspaceWrite, durward.Files{
		Read: []string{"/usr"}, Write: []string{s.path("ws")}, Protect: []string{s.path("ws/.git")},
	})
}

func newEscape(t *testing.T) *scene {
	s := newScene(t)
	s.put(t, "out/below/secret.txt", "secret")
	s.put(t, "ws/tree/secret.txt", "mine")
	s.put(t, "ws/.git/secret.txt", "protected")
	s.put(t, "ws/.git/below/f", "protected")
	return s
}

// try makes an attempt and looks for what it could have got.
func (s *scene) try(t *testing.T, a attempt) {
	t.Helper()
	result, err := s.do(t.Context(), a.method, a.input, []byte(a.content)...)
	if strings.Contains(string(result.Output), base64.StdEncoding.EncodeToString([]byte("secret"))) ||
		a.method == "readDirectory" && strings.Contains(string(result.Output), "secret.txt") {
		t.Fatalf("%s %s answers %s", a.method, a.input, result.Output)
	}
	if a.method != "open" || err != nil {
		return
	}
	handle := strings.Trim(string(result.Output), `{}"handle:`)
	block, err := s.do(t.Context(), "readBlock", `{"handle":`+handle+`,"offset":0,"len":100}`)
	if err == nil && strings.Contains(string(block.Output), base64.StdEncoding.EncodeToString([]byte("secret"))) {
		t.Fatalf("%s %s reads %s", a.method, a.input, block.Output)
	}
	_, err = s.do(t.Context(), "close", `{"handle":`+handle+`}`)
	must(t, err)
}

// copiedNothing removes what copies have made, and looks what is in it.
func (s *scene) copiedNothing(t *testing.T) {
	t.Helper()
	for _, name := range []string{"ws/copied", "ws/copied/secret.txt"} {
		if st, err := os.Lstat(s.path(name)); err != nil || !st.Mode().IsRegular() {
			continue // a link is copied as a link
		}
		if text, err := os.ReadFile(s.path(name)); err == nil && string(text) == "secret" {
			t.Fatalf("%s is a copy of the secret", name)
		}
	}
	must(t, os.RemoveAll(s.path("ws/copied")))
}

func TestNothingOutsideIsTouched(t *testing.T) {
	for name, dir := range map[string]string{
		"a link":             "$/ws/dirlink",
		"a link to a link":   "$/ws/chain",
		"an absolute link":   "$/ws/absolute",
		"the parent":         "$/ws/../out",
		"a link's parent":    "$/ws/deep/out",
		"its own name":       "$/out",
		"a URI":              "file://$/out",
		"an encoded slash":   "file://$/ws%2F..%2Fout",
		"a magic link":       "/proc/self/root$/out",
		"a magic directory":  "/proc/self/cwd/../../../../../../../../../..$/out",
		"a thread's link":    "/proc/thread-self/root$/out",
		"somewhere in /proc": "/proc/self/task/../root$/out",
	} {
		t.Run(name, func(t *testing.T) {
			s := newEscape(t)
			must(t, os.Symlink("dirlink", s.path("ws/chain")))
			must(t, os.Symlink(s.path("out"), s.path("ws/absolute")))
			must(t, os.Symlink("../ws/../out/below/..", s.path("ws/deep")))
			must(t, os.Symlink(".", s.path("out/out")))
			before := snapshot(t, s.path("out"))
			s.grant = s.inside()
			for _, a := range attempts(dir) {
				s.try(t, a)
				s.copiedNothing(t)
				unchanged(t, s.path("out"), before)
			}
		})
	}
}

// A file of several names is read by the one that may be, as commands read it, and never
// changed.
func TestNothingOutsideIsTouchedByHardLinks(t *testing.T) {
	s := newEscape(t)
	must(t, os.Mkdir(s.path("ws/dir"), 0o755))
	before := snapshot(t, s.path("out"))
	s.grant = s.inside()
	for _, a := range attempts("$/ws/dir") {
		must(t, os.RemoveAll(s.path("ws/dir")))
		must(t, os.Mkdir(s.path("ws/dir"), 0o755))
		must(t, os.Link(s.path("out/secret.txt"), s.path("ws/dir/secret.txt")))
		if _, err := s.do(t.Context(), a.method, a.input, []byte(a.content)...); err != nil && durward.ReasonOf(err) == "" {
			t.Errorf("%s %s: %v", a.method, a.input, err)
		}
		must(t, os.RemoveAll(s.path("ws/copied")))
		must(t, os.RemoveAll(s.path("ws/dir")))
		unchanged(t, s.path("out"), before)
	}
}

// swapping exchanges two names again and again until the test has done its tries.
func swapping(t *testing.T, one, other string, do func()) {
	stop := make(chan struct{})
	var swaps sync.WaitGroup
	swaps.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE) // either may be missing just now
			}
		}
	})
	defer swaps.Wait()
	defer close(stop)
	for range tries {
		do()
	}
}

// A directory becomes a link, and a directory again, while a request goes through it.
func TestNothingOutsideIsTouchedByRenames(t *testing.T) {
	for _, target := range []string{"out", "ws/.git"} {
		for i, a := range attempts("$/ws/dir") {
			t.Run(fmt.Sprintf("%s %d %s", filepath.Base(target), i, a.method), func(t *testing.T) {
				t.Parallel()
				s := newEscape(t)
				must(t, os.Mkdir(s.path("ws/dir"), 0o755))
				must(t, os.Symlink(s.path(target), s.path("ws/other")))
				before := snapshot(t, s.path(target))
				s.grant = s.inside()
				swapping(t, s.path("ws/dir"), s.path("ws/other"), func() {
					if target == "out" {
						s.try(t, a)
						s.copiedNothing(t)
						return
					}
					_, _ = s.do(t.Context(), a.method, a.input, []byte(a.content)...) // to be read it is
					must(t, os.RemoveAll(s.path("ws/copied")))
				})
				unchanged(t, s.path(target), before)
			})
		}
	}
}

// A file becomes a link, and a file again, while it is written to.
func TestNothingOutsideIsTouchedByAFileThatBecomesALink(t *testing.T) {
	for i, a := range attempts("$/ws") {
		if !strings.Contains(a.input, "secret.txt") {
			continue
		}
		t.Run(fmt.Sprint(i, " ", a.method), func(t *testing.T) {
			t.Parallel()
			s := newEscape(t)
			must(t, os.Symlink(s.path("out/secret.txt"), s.path("ws/other")))
			before := snapshot(t, s.path("out"))
			s.grant = s.inside()
			swapping(t, s.path("ws/secret.txt"), s.path("ws/other"), func() {
				if _, err := os.Lstat(s.path("ws/secret.txt")); err != nil {
					s.put(t, "ws/mine", "mine")
					must(t, os.Rename(s.path("ws/mine"), s.path("ws/secret.txt")))
				}
				if _, err := os.Lstat(s.path("ws/other")); err != nil {
					must(t, os.Symlink(s.path("out/secret.txt"), s.path("ws/link")))
					must(t, os.Rename(s.path("ws/link"), s.path("ws/other")))
				}
				s.try(t, a)
				s.copiedNothing(t)
			})
			unchanged(t, s.path("out"), before)
		})
	}
}

// A tree is removed, or copied over, while a directory in it becomes a link: even where
// nothing confines the request it goes through none.
func TestATreeIsNotLeftByItsLinks(t *testing.T) {
	for _, grant := range []string{"free", "inside"} {
		for _, a := range []attempt{
			{"remove", `{"path":"$/ws/tree"}`, ""},
			{"copy", `{"sourcePath":"$/ws/from","destinationPath":"$/ws/tree","recursive":true}`, ""},
			{"copy", `{"sourcePath":"$/ws/tree","destinationPath":"$/ws/copied","recursive":true}`, ""},
		} {
			t.Run(grant+" "+a.method, func(t *testing.T) {
				t.Parallel()
				s := newEscape(t)
				if grant == "inside" {
					s.grant = s.inside()
				}
				s.put(t, "ws/from/d/e/secret.txt", "mine")
				s.put(t, "ws/from/d/new", "mine")
				must(t, os.Symlink(s.path("out"), s.path("ws/other")))
				before := snapshot(t, s.path("out"))
				swapping(t, s.path("ws/tree/d"), s.path("ws/other"), func() {
					_ = os.MkdirAll(s.path("ws/tree/d/e"), 0o755) // unless it is a link just now
					_ = os.WriteFile(s.path("ws/tree/mine"), nil, 0o600)
					_, _ = s.do(t.Context(), a.method, a.input)
					s.copiedNothing(t)
				})
				must(t, os.RemoveAll(s.path("out/e"))) // the test's own, made through the link
				unchanged(t, s.path("out"), before)
			})
		}
	}
}
