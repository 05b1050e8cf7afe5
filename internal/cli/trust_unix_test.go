//go:build unix

package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/durward/durward"
)

// fileOf is the description of a file with an owner and a mode.
type fileOf struct {
	fs.FileInfo
	uid  uint32
	mode fs.FileMode
}

func (f fileOf) Mode() fs.FileMode { return f.mode }
func (f fileOf) IsDir() bool       { return f.mode.IsDir() }
func (f fileOf) Sys() any          { return &syscall.Stat_t{Uid: f.uid} }

func TestOnlyOurFilesAndThoseOfRootAreTrusted(t *testing.T) {
	const dir, sticky = fs.ModeDir, fs.ModeDir | fs.ModeSticky
	for _, test := range []struct {
		name string
		file fileOf
		fix  string
	}{
		{"ours", fileOf{uid: 1000, mode: 0o644}, ""},
		{"root's", fileOf{uid: 0, mode: 0o644}, ""},
		{"somebody else's", fileOf{uid: 1001, mode: 0o600}, "chown 1000 '/a b'"},
		{"nobody's", fileOf{uid: 65534, mode: 0o444}, "chown 1000 '/a b'"},
		{"open to the group", fileOf{uid: 1000, mode: 0o664}, "chmod go-w '/a b'"},
		{"open to all", fileOf{uid: 0, mode: 0o602}, "chmod go-w '/a b'"},
		{"a sticky file", fileOf{uid: 1000, mode: 0o666 | fs.ModeSticky}, "chmod go-w '/a b'"},
		{"our folder", fileOf{uid: 1000, mode: dir | 0o755}, ""},
		{"an open folder", fileOf{uid: 1000, mode: dir | 0o775}, "chmod go-w '/a b'"},
		{"a folder like /tmp", fileOf{uid: 0, mode: sticky | 0o777}, ""},
		{"one that somebody else has", fileOf{uid: 1001, mode: sticky | 0o755}, "chown 1000 '/a b'"},
	} {
		fix := ""
		if err, ok := untrusted("/a b", test.file, 1000).(*trustError); ok {
			fix = err.fix
		}
		if fix != test.fix {
			t.Errorf("%s: %q, want %q", test.name, fix, test.fix)
		}
	}
}

// TestAConfigurationThatOthersCouldWriteIsNotObeyed runs nothing under it and says what to
// type.
func TestAConfigurationThatOthersCouldWriteIsNotObeyed(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(t *testing.T, dir string)
		why   string // with the folder in place of DIR
		fix   string
	}{
		{"a good one", func(*testing.T, string) {}, "", ""},
		{"a file that others write", chmod("config.yaml", 0o646), "others may write to it (mode 0646)", "chmod go-w DIR/config.yaml"},
		{"a folder that others write", chmod(".", 0o775), "others may write to the folder DIR (mode 0775)", "chmod go-w DIR"},
		{"a folder like /tmp", chmod(".", 0o777|fs.ModeSticky), "", ""},
		{"a link into an open folder", func(t *testing.T, dir string) {
			linkInto(t, dir, filepath.Join(dir, "open"))
			chmod("open", 0o777)(t, dir)
		}, "others may write to the folder DIR/open (mode 0777)", "chmod go-w DIR/open"},
		{"a link into a good folder", func(t *testing.T, dir string) { linkInto(t, dir, filepath.Join(dir, "good")) }, "", ""},
		{"a link to nothing", func(t *testing.T, dir string) {
			noError(t, os.Remove(filepath.Join(dir, "config.yaml")))
			noError(t, os.Symlink("nowhere", filepath.Join(dir, "config.yaml")))
		}, "DIR/config.yaml is a symbolic link that leads nowhere", ""},
		{"a folder that is a link to nothing", func(t *testing.T, dir string) {
			noError(t, os.RemoveAll(dir))
			noError(t, os.Symlink("nowhere", dir))
		}, "DIR is a symbolic link that leads nowhere", ""},
		{"a file in the place of the folder", func(t *testing.T, dir string) {
			noError(t, os.RemoveAll(dir))
			noError(t, os.WriteFile(dir, nil, 0o600))
		}, "not a directory", ""},
		{"a loop", func(t *testing.T, dir string) {
			noError(t, os.Remove(filepath.Join(dir, "config.yaml")))
			noError(t, os.Symlink("config.yaml", filepath.Join(dir, "config.yaml")))
		}, "too many levels of symbolic links", ""},
		{"none", func(t *testing.T, dir string) { noError(t, os.RemoveAll(dir)) }, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			env := home(t)
			dir := filepath.Join(env["HOME"], ".config", "durward")
			noError(t, os.MkdirAll(dir, 0o700))
			noError(t, os.WriteFile(filepath.Join(dir, "config.yaml"), []byte("audit: {keep: 7}\n"), 0o600))
			env["XDG_CONFIG_HOME"] = filepath.Dir(dir)
			test.spoil(t, dir)
			p, _, _ := start(t, env, env["HOME"], nil)
			_, _, err := p.settings()
			if test.why == "" {
				noError(t, err)
				return
			}
			f := failureOf(err, "")
			fix := strings.ReplaceAll(test.fix, "DIR", dir)
			if f.Reason != durward.ConfigInvalid || !strings.Contains(f.Details[0], strings.ReplaceAll(test.why, "DIR", dir)) || fix != "" && f.Fix != fix {
				t.Errorf("%q, fix: %s", f.Details, f.Fix)
			}
			for _, args := range [][]string{{"exec"}, {"exec", "--dry-run"}, {"exec", "--stream"}, {"explain"}} {
				mark := filepath.Join(env["HOME"], "ran")
				r := durwardIn(t.Context(), t, env, env["HOME"], append(args, "--", "touch", mark)...)
				if _, err := os.Lstat(mark); r.status != 125 || err == nil {
					t.Errorf("%v: status %d, %v: %s", args, r.status, err, r.stderr)
				}
			}
			named := durwardIn(t.Context(), t, env, env["HOME"], "version", "--config", filepath.Join(dir, "config.yaml"))
			if named.status != 3 {
				t.Errorf("version: status %d: %s", named.status, named.stderr)
			}
		})
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func chmod(name string, mode fs.FileMode) func(*testing.T, string) {
	return func(t *testing.T, dir string) { noError(t, os.Chmod(filepath.Join(dir, name), mode)) }
}

// linkInto moves the configuration to another folder and leaves a link.
func linkInto(t *testing.T, dir, to string) {
	t.Helper()
	noError(t, os.Mkdir(to, 0o700))
	noError(t, os.Rename(filepath.Join(dir, "config.yaml"), filepath.Join(to, "real.yaml")))
	noError(t, os.Symlink(filepath.Join(to, "real.yaml"), filepath.Join(dir, "config.yaml")))
}

// TestAConfigurationThatNobodyWritesIsWaitedForWithinTheTime names a pipe.
func TestAConfigurationThatNobodyWritesIsWaitedForWithinTheTime(t *testing.T) {
	env := home(t)
	pipe := filepath.Join(env["HOME"], "pipe")
	noError(t, syscall.Mkfifo(pipe, 0o600))
	for _, args := range [][]string{{"exec", "--timeout", "50ms"}, {"exec", "--timeout", "50ms", "--dry-run"}, {"explain", "--timeout", "50ms"}} {
		began := time.Now()
		r := durwardIn(t.Context(), t, env, env["HOME"], append(args, "--config", pipe, "--", "true")...)
		if r.status != 125 || !strings.Contains(r.stderr, "it did not end within 50ms") || time.Since(began) > 4*time.Second {
			t.Errorf("%v: status %d after %s: %s", args, r.status, time.Since(began), r.stderr)
		}
	}
	f, err := os.OpenFile(pipe, os.O_RDWR, 0) // whoever still waits reads to the end
	noError(t, err)
	noError(t, f.Close())
}
