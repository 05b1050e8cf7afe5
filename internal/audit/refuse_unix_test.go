//go:build unix

package audit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/durward/durward"
)

func TestWrongModesAreRefusedWithTheFix(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(t *testing.T, dir, file string)
		fix     string
	}{
		"folder open to others": {func(t *testing.T, dir, _ string) { must(t, os.Chmod(dir, 0o755)) }, "chmod 700 DIR"},
		"file open to others":   {func(t *testing.T, _, file string) { touch(t, file, ""); must(t, os.Chmod(file, 0o644)) }, "chmod 600 FILE"},
		"heads open to others": {func(t *testing.T, dir, _ string) {
			touch(t, filepath.Join(dir, headsFile), "")
			must(t, os.Chmod(filepath.Join(dir, headsFile), 0o640))
		}, "chmod 600 DIR/heads"},
		"folder of the file": {func(t *testing.T, _, file string) { must(t, os.Chmod(filepath.Dir(file), 0o777)) }, "chmod go-w PARENT"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, file := private(t), filepath.Join(private(t), "log")
			test.prepare(t, dir, file)
			_, err := Open(dir, Options{File: file})
			fix := strings.NewReplacer("DIR", dir, "FILE", file, "PARENT", filepath.Dir(file)).Replace(test.fix)
			var refusal *durward.Error
			if !isRefusal(err) || !errors.As(err, &refusal) || refusal.Hint != fix {
				t.Errorf("%v, hint %q, want %q", err, refusal.Hint, fix)
			}
		})
	}
}

func TestAForeignOwnerIsRefused(t *testing.T) {
	info, err := os.Stat("/")
	must(t, err)
	mine := *info.Sys().(*syscall.Stat_t)
	mine.Uid = uint32(os.Geteuid()) + 1
	err = owned("/x y", fakeInfo{info, &mine}, info.Mode().Perm())
	if permission := (*permissionError)(nil); !errors.As(err, &permission) || !strings.HasSuffix(permission.fix, " '/x y'") || !strings.HasPrefix(permission.fix, "chown ") {
		t.Error(err)
	}
}

type fakeInfo struct {
	os.FileInfo
	stat *syscall.Stat_t
}

func (f fakeInfo) Sys() any { return f.stat }

func TestPlacesThatAreNoLog(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, dir, file string) (string, string){
		"a file in place of the folder": func(t *testing.T, dir, _ string) (string, string) {
			touch(t, filepath.Join(dir, "f"), "")
			return filepath.Join(dir, "f"), ""
		},
		"a folder below a file": func(t *testing.T, dir, _ string) (string, string) {
			touch(t, filepath.Join(dir, "f"), "")
			return filepath.Join(dir, "f", "audit"), ""
		},
		"a folder in place of the file": func(t *testing.T, dir, file string) (string, string) {
			must(t, os.Mkdir(file, 0o700))
			return dir, file
		},
		"a FIFO": func(t *testing.T, dir, file string) (string, string) {
			must(t, syscall.Mkfifo(file, 0o600))
			return dir, file
		},
		"a symbolic link": func(t *testing.T, dir, file string) (string, string) {
			touch(t, filepath.Join(dir, "target"), "")
			must(t, os.Symlink(filepath.Join(dir, "target"), file))
			return dir, file
		},
		"a relative name":       func(_ *testing.T, dir, _ string) (string, string) { return dir, "log" },
		"a newline in the name": func(_ *testing.T, dir, file string) (string, string) { return dir, file + "\n" },
	} {
		t.Run(name, func(t *testing.T) {
			dir, file := prepare(t, private(t), filepath.Join(private(t), "log"))
			if l, err := Open(dir, Options{File: file}); !isRefusal(err) {
				t.Errorf("opened: %v", err)
				l.Close()
			}
		})
	}
}

func TestALogThatCannotBeOpenedLeavesNothing(t *testing.T) {
	dir := private(t)
	must(t, syscall.Mkfifo(filepath.Join(dir, headsFile), 0o600)) // its head cannot be written
	if _, err := Open(dir, Options{}); !isRefusal(err) {
		t.Error(err)
	}
	files, err := os.ReadDir(dir)
	must(t, err)
	if len(files) != 1 {
		t.Errorf("%v", files)
	}
}

func TestWhatIsMadeIsPrivate(t *testing.T) {
	for _, mask := range []int{0, 0o077} {
		func() {
			defer syscall.Umask(syscall.Umask(mask))
			dir := filepath.Join(t.TempDir(), "state", "audit")
			file := filepath.Join(t.TempDir(), "new", "log")
			l := opened(t, dir, Options{File: file, MaxBytes: 1000})
			for range 5 {
				record(t, l, "1")
			}
			must(t, l.Close())
			for _, folder := range []string{filepath.Dir(dir), dir, filepath.Dir(file)} {
				info, err := os.Stat(folder)
				must(t, err)
				if info.Mode().Perm() != 0o700 {
					t.Errorf("%s has mode %v", folder, info.Mode())
				}
				files, err := os.ReadDir(folder)
				must(t, err)
				for _, f := range files {
					if info, err := f.Info(); err != nil || !f.IsDir() && info.Mode().Perm() != 0o600 {
						t.Errorf("%s has mode %v, %v", f.Name(), info.Mode(), err)
					}
				}
			}
		}()
	}
}

func TestALogThatWasTakenAwayRefuses(t *testing.T) {
	for name, take := range map[string]func(t *testing.T, file string){
		"removed":        func(t *testing.T, file string) { must(t, os.Remove(file)) },
		"folder removed": func(t *testing.T, file string) { must(t, os.RemoveAll(filepath.Dir(file))) },
		"moved":          func(t *testing.T, file string) { must(t, os.Rename(file, file+".away")) },
		"replaced":       func(t *testing.T, file string) { must(t, os.Remove(file)); touch(t, file, "") },
		"cut":            func(t *testing.T, file string) { must(t, os.Truncate(file, 100)) },
		"appended to":    func(t *testing.T, file string) { appendTo(t, file, "hello\n") },
	} {
		t.Run(name, func(t *testing.T) {
			l := opened(t, private(t), Options{})
			record(t, l, "1")
			take(t, l.File())
			l.chain.looked = time.Time{} // a moment later
			before, _ := os.ReadFile(l.File())
			for range 2 {
				if err := l.Intent(call("2")); !isRefusal(err) {
					t.Errorf("a record went somewhere: %v", err)
				}
			}
			if after, _ := os.ReadFile(l.File()); string(after) != string(before) {
				t.Error("the file was changed")
			}
		})
	}
}

func appendTo(t *testing.T, file, text string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(text)
	must(t, errors.Join(err, f.Close()))
}

// A folder in which the next segment cannot be made is the unwritable folder that
// root meets too.
func TestARotationThatFailsRefusesAndIsTriedAgain(t *testing.T) {
	dir := private(t)
	l := opened(t, dir, Options{MaxBytes: 500})
	must(t, l.Deny(call("1")))
	blocked := closedPath(l.File(), nil, noon)
	must(t, os.MkdirAll(filepath.Join(blocked, "x"), 0o700)) // a rename onto it fails
	for range 2 {
		if err := l.Intent(call("2")); !isRefusal(err) {
			t.Errorf("it was recorded: %v", err)
		}
	}
	if bad := firstProblem(t, dir); bad.File != blocked || bad.Why != isFolder {
		t.Errorf("%v", bad)
	}
	must(t, os.RemoveAll(blocked))
	must(t, l.Intent(call("3")))
	if c := verified(t, dir).Chains[0]; c.Records != 3 || c.Segments != 2 {
		t.Errorf("%+v", c)
	}
}

func TestFilesThatCannotBeReadAreProblemsOfTheirChains(t *testing.T) {
	for name, place := range map[string]func(t *testing.T, path string){
		"a symbolic link": func(t *testing.T, path string) { must(t, os.Symlink("/dev/zero", path)) },
		"a dangling link": func(t *testing.T, path string) { must(t, os.Symlink("nowhere", path)) },
		"a FIFO":          func(t *testing.T, path string) { must(t, syscall.Mkfifo(path, 0o600)) },
	} {
		t.Run(name, func(t *testing.T) {
			w := write(t, 1, Options{})
			bad := filepath.Join(w.dir, "a.jsonl")
			place(t, bad)
			s, err := Verify(t.Context(), w.dir)
			if durward.ReasonOf(err) != durward.AuditBroken || len(s.Problems) != 1 || s.Problems[0].File != bad {
				t.Fatalf("%v: %v", err, s.Problems)
			}
			if len(s.Chains) != 2 || s.Chains[0].File != w.files[0] || s.Chains[0].Records != 2 {
				t.Errorf("the others were not walked: %+v", s.Chains)
			}
		})
	}
}

func TestWhatOthersCanOpenIsNamed(t *testing.T) {
	for name, test := range map[string]struct {
		path func(w written) string
		mode os.FileMode
	}{
		"folder": {func(w written) string { return w.dir }, 0o755},
		"log":    {func(w written) string { return w.files[0] }, 0o640},
		"heads":  {func(w written) string { return filepath.Join(w.dir, headsFile) }, 0o602},
	} {
		t.Run(name, func(t *testing.T) {
			w := write(t, 1, Options{})
			must(t, os.Chmod(test.path(w), test.mode))
			p := firstProblem(t, w.dir)
			if p.File != test.path(w) || !strings.Contains(p.Why, "others can open it") {
				t.Error(&p)
			}
		})
	}
}

func TestALinkToTheFolderIsRefusedAndNamed(t *testing.T) {
	w := write(t, 1, Options{})
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(w.dir, link))
	if _, err := Open(link, Options{}); !isRefusal(err) {
		t.Errorf("it was opened: %v", err)
	}
	if p := firstProblem(t, link); p.File != link {
		t.Error(&p)
	}
}

func TestAFullDiskLeavesNothingBehind(t *testing.T) {
	for _, own := range []bool{true, false} {
		parent := t.TempDir()
		dir, file := filepath.Join(parent, "state", "audit"), ""
		if !own {
			file = filepath.Join(parent, "logs", "own.jsonl")
		}
		cmd, out := child(t, "full", dir, file)
		if !out.Scan() || !strings.HasPrefix(out.Text(), "refused auditUnavailable") {
			t.Errorf("it said %q", out.Text())
		}
		must(t, cmd.Wait())
		left, err := os.ReadDir(parent)
		must(t, err)
		if len(left) > 0 {
			t.Errorf("%v is left", left)
		}
	}
}
