//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// copying gives a command whose workspace is a copy, with some files in it.
func copying(t *testing.T) (r *trial, dir string) {
	t.Helper()
	r = isolated(t)
	r.request.Grant.Files.CopyOnWrite = true
	dir = filepath.Dir(r.marker)
	for name, content := range map[string]string{"kept": "kept", "changed": "old", "removed": "r", "sub/deep": "deep", "fixed/in": "in"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Chmod(filepath.Dir(path), 0o777), os.Chmod(path, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	return r, dir
}

// write runs the command and gives what landed in the first of its copies.
func (r *trial) write(t *testing.T) (Copy, string) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	p, err := Start(context.Background(), r.compile(t), r.request, Stdio{r.null, out, out}, r.host)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	p.Kill()
	<-p.Gone()
	copies := p.Copies()
	if err := p.Close(); err != nil || len(copies) == 0 {
		t.Fatal(err, len(copies))
	}
	for _, c := range copies {
		t.Cleanup(func() { c.Close() })
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return copies[0], string(text)
}

// tree lists what stands in a directory, with what files hold.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir+"/", func(path string, d os.DirEntry, err error) error {
		if err != nil || path == dir+"/" {
			return err
		}
		line := strings.TrimPrefix(path, dir+"/")
		switch {
		case d.IsDir():
			line += "/"
		case d.Type().IsRegular():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += "=" + string(text)
		default:
			line += " " + d.Type().String()
		}
		list = append(list, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

const rewrites = `
	cat kept; echo new > made; echo more >> changed; rm removed; rm -r sub && mkdir sub && echo fresh > sub/file
	cat changed sub/file; ls; echo x > /tmp/private; stat -c %a .`

// What a command writes is what it sees, and what lands in the upper layer; the machine's
// directory stays as it was. A second command begins with that, too. The room is fresh,
// then kept.
func TestWhatIsWrittenLandsInACopy(t *testing.T) {
	r, dir := copying(t)
	before := tree(t, dir)
	r.shell(t, rewrites)
	for i := range 3 {
		c, said := r.write(t)
		if want := "keptoldmore\nfresh\nchanged\nfixed\nkept\nmade\nsub\n777\n"; said != want {
			t.Errorf("call %d sees %q", i, said)
		}
		upper := tree(t, "/proc/self/fd/"+strconv.Itoa(int(c.Upper.Fd())))
		if want := []string{"changed=oldmore\n", "made=new\n", "removed Dc---------", "sub/", "sub/file=fresh\n"}; !slices.Equal(upper, want) {
			t.Errorf("call %d wrote %q, want %q", i, upper, want)
		}
		if c.Path != dir {
			t.Errorf("it is a copy of %s", c.Path)
		}
		if after := tree(t, dir); !slices.Equal(after, before) {
			t.Errorf("the machine has %q now", after)
		}
	}
	if by := r.compile(t).Report.Guarantees[durward.FSWrite].By; !slices.Contains(by, "overlayfs") {
		t.Errorf("the report says %q", by)
	}
}

// What is protected, denied or only to be read in it stays so, and is not written to the copy.
func TestACopyKeepsWhatIsKept(t *testing.T) {
	r, dir := copying(t)
	f := &r.request.Grant.Files
	f.Protect, f.Deny, f.Read = []string{dir + "/fixed"}, []string{dir + "/removed"}, append(f.Read, dir+"/sub")
	r.shell(t, `for f in fixed/in fixed/new removed sub/deep sub/new; do (echo x > $f) 2>/dev/null && echo wrote $f; done
		mv fixed elsewhere 2>/dev/null && echo moved; cat removed 2>/dev/null && echo read; cat fixed/in sub/deep; echo ok > fine`)
	for range 2 {
		c, said := r.write(t)
		if said != "indeep" {
			t.Errorf("it says %q", said)
		}
		if upper := tree(t, "/proc/self/fd/"+strconv.Itoa(int(c.Upper.Fd()))); !slices.Equal(upper, []string{"fine=ok\n"}) {
			t.Errorf("it wrote %q", upper)
		}
	}
}

// The upper layer is bounded by tmpBytes, and nobody finds it beside the overlay.
func TestACopyIsBounded(t *testing.T) {
	r, _ := copying(t)
	r.request.Grant.Limits.Tmp = 1 << 20
	r.shell(t, `head -c 3000000 /dev/zero > big 2>&1 | tail -c 30; [ $(stat -c %s big) -lt 1100000 ] && echo bounded; ls /dev/pts; ls -d /proc/self/fd/* | wc -l; find / -xdev -name upper 2>/dev/null`)
	_, said := r.write(t)
	if !strings.Contains(said, "bounded\nptmx\n") || strings.Contains(said, "upper") {
		t.Errorf("%q", said)
	}
}

// Each step of a copy that fails stops the start.
func TestNoCopyNoCommand(t *testing.T) {
	r, dir := copying(t)
	p := r.compile(t)
	tried := 0
	for i, c := range p.Own {
		if !strings.HasPrefix(c.Name, stepCopy) {
			continue
		}
		tried++
		changed := p
		changed.Own = slices.Clone(p.Own)
		changed.Own[i].NR = noSuchCall
		err := r.start(changed)
		if durward.ReasonOf(err) != durward.SandboxUnavailable || !strings.Contains(err.Error(), c.Name) || r.ran() {
			t.Errorf("%s: %v; ran: %v", c, err, r.ran())
		}
	}
	if tried < 15 {
		t.Errorf("%d steps were tried", tried)
	}
	moved := p
	moved.copies = slices.Clone(p.copies)
	moved.copies[0].inode++
	if err := r.start(moved); durward.ReasonOf(err) != durward.SandboxUnavailable {
		t.Errorf("a workspace that is another one: %v", err)
	}
	r.request.Grant.Level, r.request.Grant.MinLevel = durward.LevelRestrict, durward.LevelRestrict
	if _, err := Compile(t.Context(), r.request, r.host); durward.ReasonOf(err) != durward.SandboxUnavailable {
		t.Errorf("at level 1: %v", err)
	}
	r.request.Grant.Level, r.request.Grant.MinLevel = durward.LevelIsolate, durward.LevelIsolate
	r.request.Grant.Files.Write = append(r.request.Grant.Files.Write, dir+"/kept")
	if _, err := Compile(t.Context(), r.request, r.host); err != nil {
		t.Errorf("a file in a copy: %v", err)
	}
	r.request.Grant.Files.Write = []string{dir + "/kept"}
	if _, err := Compile(t.Context(), r.request, r.host); durward.ReasonOf(err) != durward.SandboxUnavailable {
		t.Errorf("a file alone: %v", err)
	}
}

// A copy would show what lies under a mount: there is none of a directory that has one in it.
func TestNoCopyWithAMountInIt(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("only root mounts anything here")
		return
	}
	r, dir := copying(t)
	if err := unix.Mount("durward-test", dir+"/sub", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(dir+"/sub", unix.MNT_DETACH)
	_, err := Compile(t.Context(), r.request, r.host)
	if durward.ReasonOf(err) != durward.SandboxUnavailable || !strings.Contains(err.Error(), dir+"/sub is mounted in "+dir) {
		t.Errorf("it says %v", err)
	}
}

// Directories in a copy land with it; one elsewhere is a copy of its own.
func TestSeveralCopies(t *testing.T) {
	r, dir := copying(t)
	other := t.TempDir()
	if err := os.Chmod(other, 0o777); err != nil {
		t.Fatal(err)
	}
	for d := other; d != os.TempDir(); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	r.request.Grant.Files.Write = append(r.request.Grant.Files.Write, dir+"/sub", other)
	r.shell(t, "echo 1 > sub/one; echo 2 > "+other+"/two")
	p, err := Start(context.Background(), r.compile(t), r.request, Stdio{r.null, r.null, r.null}, r.host)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Gone()
	var got []string
	for _, c := range p.Copies() {
		got = append(got, tree(t, "/proc/self/fd/"+strconv.Itoa(int(c.Upper.Fd())))...)
		var st unix.Stat_t
		if err := unix.Stat(c.Path, &st); err != nil || c.Lower == nil {
			t.Error(err)
		}
		c.Close()
	}
	if err := p.Close(); err != nil || !slices.Equal(got, []string{"sub/", "sub/one=1\n", "two=2\n"}) {
		t.Errorf("%q %v", got, err)
	}
}

// A protected path that is missing can be made in the copy, where nobody is harmed. What
// somebody makes in the machine's directory meanwhile stays where it is.
func TestACopyIsNobodyElses(t *testing.T) {
	r, dir := copying(t)
	r.request.Grant.Files.Protect = []string{dir + "/made"}
	r.shell(t, "echo the command\\'s > made; echo made; read line; cat made")
	in, goOn := pipe(t)
	said, out := pipe(t)
	p, err := Start(context.Background(), r.compile(t), r.request, Stdio{in, out, out}, r.host)
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
	out.Close()
	lines := bufio.NewScanner(said)
	if !lines.Scan() || lines.Text() != "made" {
		t.Errorf("it says %q: %v", lines.Text(), lines.Err())
	}
	if err := os.WriteFile(filepath.Join(dir, "made"), []byte("the user's"), 0o644); err != nil {
		t.Error(err)
	}
	goOn.Close()
	if !lines.Scan() || lines.Text() != "the command's" {
		t.Errorf("in its copy it reads %q: %v", lines.Text(), lines.Err())
	}
	<-p.Gone()
	for _, c := range p.Copies() {
		c.Close()
	}
	if err := errors.Join(p.Close(), p.Breach()); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "made")); err != nil || string(text) != "the user's" {
		t.Errorf("the user's file is %q: %v", text, err)
	}
}
