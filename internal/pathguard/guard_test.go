//go:build linux || darwin

package pathguard

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

func TestRoots(t *testing.T) {
	top := plant(t, map[string]string{
		"root/a": "", "root/in/a": "", "home/code/a": "", "link": "-> root", "file": "", "loop": "-> loop", "dangling": "-> none",
	})
	o := Options{Home: top + "/home"}
	whole := o
	whole.AllowRootFilesystem = true
	for _, tt := range []struct {
		name  string
		roots []string
		o     Options
		want  []string // below top
		err   durward.Reason
	}{
		{"one", []string{top + "/root"}, o, []string{"/root"}, ""},
		{"through a link, with dots and slashes", []string{top + "/link/", top + "//root/../root/."}, o, []string{"/root", "/root"}, ""},
		{"in another one", []string{top + "/root/in", top + "/root"}, o, []string{"/root/in", "/root"}, ""},
		{"in the home directory", []string{"~/code", "~"}, o, []string{"/home/code", "/home"}, ""},
		{"none", nil, o, nil, durward.PolicyInvalid},
		{"a relative one", []string{"root"}, o, nil, durward.PolicyInvalid},
		{"of another's home", []string{"~root"}, o, nil, durward.PolicyInvalid},
		{"without a home", []string{"~/code"}, Options{}, nil, durward.PolicyInvalid},
		{"an empty one", []string{""}, o, nil, durward.EmptyPath},
		{"one that is missing", []string{top + "/root", top + "/none"}, o, nil, durward.FileNotFound},
		{"a link to nothing", []string{top + "/dangling"}, o, nil, durward.FileNotFound},
		{"a loop", []string{top + "/loop"}, o, nil, durward.SymlinkLoop},
		{"a file", []string{top + "/file"}, o, nil, durward.NotADirectory},
		{"the whole file system", []string{"/"}, o, nil, durward.PolicyInvalid},
		{"the whole file system, spelt otherwise", []string{"/tmp/../."}, o, nil, durward.PolicyInvalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, err := Open(tt.roots, tt.o)
			if tt.err != "" {
				wantReason(t, "open", err, tt.err)
				return
			}
			must(t, err)
			defer g.Close()
			for i := range tt.want {
				tt.want[i] = top + tt.want[i]
			}
			if got := g.Roots(); !slices.Equal(got, tt.want) {
				t.Errorf("the roots are %q, want %q", got, tt.want)
			}
		})
	}
	files := unconfined(t)
	g := open(t, whole, "/")
	if _, err := read(t, g, files, top+"/root/a"); err != nil {
		t.Error(err)
	}
	g = open(t, o, top+"/root", top+"/root/in", top+"/root")
	for _, path := range []string{top + "/root/a", top + "/root/in/a", top + "/link/in/../a"} {
		if _, err := read(t, g, files, path); err != nil {
			t.Error(err)
		}
	}
}

// A path is named as its caller wrote it, and what it led to is not named at all.
func TestErrorsNameThePathAsWritten(t *testing.T) {
	top := plant(t, map[string]string{"root/link": "-> ../outside/secret", "outside/secret": secret, "root/in": "-> none"})
	g, files := open(t, Options{Start: top + "/root"}, top+"/root"), unconfined(t)
	for path, want := range map[string]durward.Reason{
		"link": durward.OutsideRoot, "./link": durward.OutsideRoot, "in": durward.FileNotFound, ".": durward.NotRegularFile,
	} {
		_, err := read(t, g, files, path)
		wantReason(t, path, err, want)
		if e := durward.AsError(err); e.Path != path || strings.Contains(err.Error(), "outside/secret") || strings.Contains(err.Error(), "none") {
			t.Errorf("%s: %v, about %q", path, err, e.Path)
		}
	}
}

func TestRelativePathsNeedAStart(t *testing.T) {
	top := plant(t, map[string]string{"root/a": ""})
	g := open(t, Options{AllowRootFilesystem: true}, "/")
	_, err := read(t, g, unconfined(t), strings.TrimPrefix(top, "/")+"/root/a")
	wantReason(t, "a relative path", err, durward.OutsideRoot)
	_, err = read(t, g, unconfined(t), "~/a")
	wantReason(t, "a path in no home", err, durward.OutsideRoot)
}

func TestOpenDirGivesTheDirectory(t *testing.T) {
	top := plant(t, map[string]string{"root/sub/a": "", "root/link": "-> sub"})
	g := open(t, Options{}, top+"/root")
	for path, want := range map[string]string{"/root": "/root", "/root/sub/": "/root/sub", "/root/link": "/root/sub", "/root/sub/..": "/root"} {
		dir, err := g.OpenWorkingDir(t.Context(), unconfined(t), top+path)
		must(t, err)
		if got, err := fsroot.PhysicalPath(dir); got != top+want || err != nil {
			t.Errorf("%s is %s, %v", path, got, err)
		}
		must(t, dir.Close())
	}
	for path, want := range map[string]durward.Reason{
		"/root/none": durward.FileNotFound, "/root/sub/a": durward.DirUnavailable, "/root/sub/a/": durward.DirUnavailable, "/": durward.DirDenied,
	} {
		dir, err := g.OpenWorkingDir(t.Context(), unconfined(t), top+path)
		wantReason(t, path, err, want)
		if dir != nil {
			t.Errorf("%s is given", path)
		}
	}
}

// A stubborn one answers every operation with its error.
type stubborn struct {
	err   error
	asked int
}

func (s *stubborn) OpenFile(context.Context, *fsroot.Root, string, fsroot.Rules) (*fsroot.File, error) {
	s.asked++
	return nil, s.err
}

func (s *stubborn) OpenDir(context.Context, *fsroot.Root, string, fsroot.Rules) (*os.File, error) {
	s.asked++
	return nil, s.err
}

func (s *stubborn) WriteFile(context.Context, *fsroot.Root, string, []byte, fsroot.WriteOptions) error {
	s.asked++
	return s.err
}

// What cannot be, since it was just found, is tried three times more; a rule that refuses
// has the last word.
func TestAChangingTreeIsTriedAgain(t *testing.T) {
	top := plant(t, map[string]string{"root/a": ""})
	g := open(t, Options{Zones: []Zone{{Path: top + "/root"}}}, top+"/root")
	for _, tt := range []struct {
		err   *durward.Error
		asked int
		want  durward.Reason
	}{
		{&durward.Error{Reason: durward.SymlinkTarget}, 4, durward.OutsideRoot},
		{&durward.Error{Reason: durward.FileNotFound}, 4, durward.OutsideRoot},
		{&durward.Error{Reason: durward.NotADirectory}, 4, durward.OutsideRoot},
		{&durward.Error{Reason: durward.OutsideRoot}, 4, durward.OutsideRoot},
		{&durward.Error{Reason: durward.OutsideRoot, Rule: "filesystem.deny"}, 1, durward.OutsideRoot},
		{&durward.Error{Reason: durward.NetworkFS}, 1, durward.NetworkFS},
		{&durward.Error{Reason: durward.CallCancelled}, 1, durward.CallCancelled},
	} {
		for name, do := range map[string]func(Files) error{
			"read":  func(f Files) error { _, err := g.OpenFile(t.Context(), f, top+"/root/a"); return err },
			"judge": func(f Files) error { return g.JudgeWrite(t.Context(), f, top+"/root/b", 1, WriteOptions{}) },
			"write": func(f Files) error { return g.WriteFile(t.Context(), f, top+"/root/b", nil, WriteOptions{}) },
		} {
			s := &stubborn{err: tt.err}
			err := do(s)
			wantReason(t, name, err, tt.want)
			if e := durward.AsError(err); s.asked != tt.asked || e.Rule != tt.err.Rule {
				t.Errorf("%s after %v: asked %d times, rule %q", name, tt.err, s.asked, e.Rule)
			}
		}
	}
}

// A walk that does not come back is not waited for, and what it finds is closed.
func TestAWalkIsNotWaitedForForever(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	goOn, dropped := make(chan struct{}), make(chan int)
	go cancel()
	_, err := waited(ctx, "walk", func() (int, error) { <-goOn; return 7, nil }, func(n int) { dropped <- n })
	wantReason(t, "a walk", err, durward.CallCancelled)
	close(goOn)
	if n := <-dropped; n != 7 {
		t.Errorf("%d is dropped", n)
	}
}

func TestNothingStaysOpen(t *testing.T) {
	top := plant(t, map[string]string{
		"root/a": "a", "root/link": "-> sub/../a", "root/sub/": "", "root/out": "-> ../x", "root/loop": "-> loop", "root/abs": "-> " + filepath.Join(os.TempDir(), "none"),
	})
	files := unconfined(t)
	before := descriptors(t)
	g, err := Open([]string{top + "/root"}, Options{Zones: []Zone{{Path: top + "/root", Recursive: true, CreateIfMissing: true}}})
	must(t, err)
	for _, path := range []string{"a", "link", "sub", "out", "loop", "abs", "none", "none/../a", "a/", "sub/new/er", ""} {
		_, _ = read(t, g, files, top+"/root/"+path)
		if dir, err := g.OpenWorkingDir(t.Context(), files, top+"/root/"+path); err == nil {
			dir.Close()
		}
		_ = g.JudgeWrite(t.Context(), files, top+"/root/"+path, 1, WriteOptions{Overwrite: true})
		_ = g.WriteFile(t.Context(), files, top+"/root/"+path, nil, WriteOptions{Overwrite: true})
		_ = g.JudgeArgument(t.Context(), top+"/root", path)
	}
	must(t, g.Close())
	if _, err := Open([]string{top + "/root", top + "/none"}, Options{}); err == nil {
		t.Error("a root that is missing is opened")
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors were open before and %d are after", before, after)
	}
}

// What the kernel keeps from us is told of what is inside, and nothing is of what is not.
func TestPermission(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("root may enter any directory")
		return
	}
	top := plant(t, map[string]string{"root/shut/a": "", "outside/shut/a": "", "root/unreadable": ""})
	for _, dir := range []string{"/root/shut", "/outside/shut"} {
		must(t, os.Chmod(top+dir, 0))
		t.Cleanup(func() { must(t, os.Chmod(top+dir, 0o755)) })
	}
	must(t, os.Chmod(top+"/root/unreadable", 0))
	g, files := open(t, Options{}, top+"/root"), unconfined(t)
	for path, want := range map[string]durward.Reason{
		"/root/shut/a":               durward.FilePermission,
		"/root/shut/none":            durward.FilePermission,
		"/root/shut/../a":            durward.FilePermission,
		"/root/unreadable":           durward.FilePermission,
		"/outside/shut/a":            durward.OutsideRoot,
		"/outside/shut/none":         durward.OutsideRoot,
		"/outside/shut/../../root/a": durward.OutsideRoot,
	} {
		_, err := read(t, g, files, top+path)
		wantReason(t, path, err, want)
	}
}
