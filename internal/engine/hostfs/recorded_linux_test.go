package hostfs

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/durward/durward"
)

// What a client gets to see of the reference server, request by request.

func TestRoundTrip(t *testing.T) {
	s := newScene(t)
	must(t, os.Mkdir(s.path("d"), 0o755))
	s.run(t, []step{
		{method: "writeFile", input: `{"path":"file://$/d/a.txt"}`, content: "hello", want: `{}`},
		{method: "readFile", input: `{"path":"file://$/d/a.txt"}`, want: `{"dataBase64":"aGVsbG8="}`},
		{method: "readDirectory", input: `{"path":"file://$/d"}`, want: `{"entries":[{"fileName":"a.txt","isDirectory":false,"isFile":true}]}`},
		{method: "remove", input: `{"path":"file://$/d/a.txt"}`, want: `{}`},
		{method: "readFile", input: `{"path":"file://$/d/a.txt"}`, reason: durward.FileNotFound},
	})
}

func TestWhatCannotBeRead(t *testing.T) {
	s := newScene(t)
	s.run(t, []step{
		{method: "readFile", input: `{"path":"$/none"}`, reason: durward.FileNotFound},
		{method: "readFile", input: `{"path":"$/ws"}`, reason: durward.NotRegularFile},
		{method: "readFile", input: `{"path":"/dev/null"}`, reason: durward.NotRegularFile},
		{method: "readFile", input: `{"path":"$/ws/a.txt/x"}`, reason: durward.NotADirectory},
		{method: "readFile", input: `{}`, reason: durward.MissingField},
		{method: "readFile", input: `{"path":null}`, reason: durward.MissingField},
		{method: "readFile", input: `{"path":7}`, reason: durward.WrongType},
		{method: "readFile", input: `{"path":"http://x/y"}`, reason: durward.BadPath},
		{method: "readFile", input: `{"path":"ws/a.txt"}`, reason: durward.BadPath},
		{method: "readFile", input: `{"path":"file://$/a%00b"}`, reason: durward.BadPath},
		{method: "readFile", input: `{"path":"file://otherhost$/ws/a.txt"}`, reason: durward.PathElsewhere},
		{method: "readFile", input: `{"path":"file://localhost$/ws/sub/../a.txt","sandbox":null,"other":{}}`, want: `{"dataBase64":"aGVsbG8="}`},
	})
}

func TestWriting(t *testing.T) {
	s := newScene(t)
	must(t, os.Symlink("made", s.path("dangling")))
	must(t, os.Symlink("loop", s.path("loop")))
	s.run(t, []step{
		{method: "writeFile", input: `{"path":"$/none/x"}`, reason: durward.FileNotFound},
		{method: "writeFile", input: `{"path":"$/ws"}`, reason: durward.IsDirectory},
		{method: "writeFile", input: `{"path":"/"}`, reason: durward.IsDirectory},
		{method: "writeFile", input: `{"path":"$/ws/a.txt/x"}`, reason: durward.NotADirectory},
		{method: "writeFile", input: `{"path":"$/loop"}`, reason: durward.SymlinkLoop},
		{method: "writeFile", input: `{"path":"/dev/null"}`, reason: durward.NotRegularFile},
		{method: "writeFile", input: `{"path":"$/ws/empty"}`, want: `{}`},
		{method: "writeFile", input: `{"path":"$/dangling"}`, content: "new", want: `{}`},
		{method: "writeFile", input: `{"path":"$/ws/filelink"}`, content: "s", want: `{}`},
	})
	s.has(t, "ws/empty", "")
	s.has(t, "made", "new")
	s.has(t, "out/secret.txt", "s")
}

func TestCreatingDirectories(t *testing.T) {
	s := newScene(t)
	must(t, os.Symlink("gone", s.path("dangling")))
	s.run(t, []step{
		{method: "createDirectory", input: `{"path":"$/a/b/c"}`, want: `{}`},
		{method: "createDirectory", input: `{"path":"$/a/b/c","recursive":null}`, want: `{}`},
		{method: "createDirectory", input: `{"path":"$/a","recursive":false}`, reason: durward.FileExists},
		{method: "createDirectory", input: `{"path":"$/x/y","recursive":false}`, reason: durward.FileNotFound},
		{method: "createDirectory", input: `{"path":"$/x","recursive":false}`, want: `{}`},
		{method: "createDirectory", input: `{"path":"$/ws/a.txt"}`, reason: durward.FileExists},
		{method: "createDirectory", input: `{"path":"$/ws/a.txt/x"}`, reason: durward.NotADirectory},
		{method: "createDirectory", input: `{"path":"$/dangling"}`, reason: durward.FileExists},
		{method: "createDirectory", input: `{"path":"$/ws/dirlink"}`, want: `{}`},
		{method: "createDirectory", input: `{"path":"$/ws/dirlink/in"}`, want: `{}`},
		{method: "createDirectory", input: `{"path":"/"}`, want: `{}`},
	})
	for _, dir := range []string{"a/b/c", "x", "out/in"} {
		if st, err := os.Stat(s.path(dir)); err != nil || !st.IsDir() {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestRemoving(t *testing.T) {
	s := newScene(t)
	s.put(t, "d/f", "x")
	s.put(t, "d/e/f", "x")
	must(t, os.Symlink("../out", s.path("d/l")))
	must(t, os.Symlink("d", s.path("l")))
	before := snapshot(t, s.path("out"))
	s.run(t, []step{
		{method: "remove", input: `{"path":"$/l"}`, want: `{}`},
		{method: "remove", input: `{"path":"$/d","recursive":false}`, reason: durward.DirectoryNotEmpty},
		{method: "remove", input: `{"path":"$/d"}`, want: `{}`},
		{method: "remove", input: `{"path":"$/d"}`, want: `{}`},
		{method: "remove", input: `{"path":"$/d/f/x"}`, want: `{}`},
		{method: "remove", input: `{"path":"$/d","force":false}`, reason: durward.FileNotFound},
		{method: "remove", input: `{"path":"$/ws/a.txt/x"}`, reason: durward.NotADirectory},
		{method: "remove", input: `{"path":"/"}`, reason: durward.FilePermission},
	})
	if _, err := os.Lstat(s.path("d")); !os.IsNotExist(err) {
		t.Errorf("d: %v", err)
	}
	unchanged(t, s.path("out"), before)
}

func TestCopying(t *testing.T) {
	s := newScene(t)
	s.put(t, "d/f", "x")
	s.put(t, "a", "A")
	must(t, os.Chmod(s.path("a"), 0o754))
	must(t, os.Symlink("a", s.path("l")))
	must(t, os.Symlink("../a", s.path("d/l")))
	s.run(t, []step{
		{method: "copy", input: `{"sourcePath":"$/a","destinationPath":"$/b","recursive":false}`, want: `{}`},
		{method: "copy", input: `{"sourcePath":"$/a","destinationPath":"$/b"}`, reason: durward.MissingField},
		{method: "copy", input: `{"sourcePath":"$/a","destinationPath":"$/a","recursive":false}`, want: `{}`},
		{method: "copy", input: `{"sourcePath":"$/a","destinationPath":"$/d","recursive":false}`, reason: durward.IsDirectory},
		{method: "copy", input: `{"sourcePath":"$/a","destinationPath":"$/none/x","recursive":false}`, reason: durward.FileNotFound},
		{method: "copy", input: `{"sourcePath":"$/d","destinationPath":"$/e","recursive":false}`, reason: durward.NeedsRecursive},
		{method: "copy", input: `{"sourcePath":"$/d","destinationPath":"$/e","recursive":true}`, want: `{}`},
		{method: "copy", input: `{"sourcePath":"$/d","destinationPath":"$/n/e","recursive":true}`, want: `{}`},
		{method: "copy", input: `{"sourcePath":"$/d","destinationPath":"$/d","recursive":true}`, reason: durward.IntoItself},
		{method: "copy", input: `{"sourcePath":"$/d","destinationPath":"$/d/sub","recursive":true}`, reason: durward.IntoItself},
		{method: "copy", input: `{"sourcePath":"$/d","destinationPath":"$/d/sub/sub","recursive":true}`, reason: durward.IntoItself},
		{method: "copy", input: `{"sourcePath":"$/d","destinationPath":"$/a","recursive":true}`, reason: durward.FileExists},
		{method: "copy", input: `{"sourcePath":"$/l","destinationPath":"$/l2","recursive":false}`, want: `{}`},
		{method: "copy", input: `{"sourcePath":"$/l","destinationPath":"$/l2","recursive":false}`, reason: durward.FileExists},
		{method: "copy", input: `{"sourcePath":"$/l","destinationPath":"$/d","recursive":false}`, reason: durward.FileExists},
		{method: "copy", input: `{"sourcePath":"/dev/null","destinationPath":"$/n/x","recursive":false}`, reason: durward.NotRegularFile},
		{method: "copy", input: `{"sourcePath":"$/none","destinationPath":"$/n/x","recursive":false}`, reason: durward.FileNotFound},
	})
	s.has(t, "b", "A")
	s.has(t, "a", "A")
	s.has(t, "e/f", "x")
	s.has(t, "n/e/f", "x")
	if st, err := os.Stat(s.path("b")); err != nil || st.Mode().Perm() != 0o754 {
		t.Errorf("b: %v, %v", st, err)
	}
	for _, link := range []string{"l2", "e/l"} {
		if _, err := os.Readlink(s.path(link)); err != nil {
			t.Errorf("%s: %v", link, err)
		}
	}
}

func TestWalking(t *testing.T) {
	s := newScene(t)
	s.put(t, "w/b.txt", "1")
	s.put(t, "w/a/x", "1")
	s.put(t, "w/.hid/z", "1")
	must(t, os.Symlink("a", s.path("w/l")))
	must(t, os.Symlink("b.txt", s.path("w/lf")))
	options := func(depth, dirs, entries, follow, prune string) string {
		return `{"path":"file://$/w","options":{"maxDepth":` + depth + `,"maxDirectories":` + dirs + `,"maxEntries":` + entries +
			`,"followDirectorySymlinks":` + follow + `,"pruneHiddenDirectories":` + prune + `}}`
	}
	dir := func(name string) string { return `{"path":"file://$/w/` + name + `","kind":"directory"}` }
	file := func(name string) string { return `{"path":"file://$/w/` + name + `","kind":"file"}` }
	const end, cut = `],"errors":[],"truncated":false}`, `],"errors":[],"truncated":true}`
	s.run(t, []step{
		{method: "walk", input: options("3", "10", "10", "false", "false"), want: `{"entries":[` + dir(".hid") + `,` + dir("a") + `,` + file("b.txt") + `,` + file(".hid/z") + `,` + file("a/x") + end},
		{method: "walk", input: options("3", "10", "10", "true", "false"), want: `{"entries":[` + dir(".hid") + `,` + dir("a") + `,` + file("b.txt") + `,` + dir("l") + `,` + file(".hid/z") + `,` + file("a/x") + end},
		{method: "walk", input: options("3", "10", "10", "false", "true"), want: `{"entries":[` + dir(".hid") + `,` + dir("a") + `,` + file("b.txt") + `,` + file("a/x") + end},
		{method: "walk", input: options("3", "10", "1", "false", "false"), want: `{"entries":[` + dir(".hid") + cut},
		{method: "walk", input: options("3", "1", "10", "false", "false"), want: `{"entries":[` + dir(".hid") + `,` + dir("a") + `,` + file("b.txt") + cut},
		{method: "walk", input: options("0", "10", "10", "false", "false"), want: `{"entries":[` + dir(".hid") + `,` + dir("a") + `,` + file("b.txt") + end},
		{method: "walk", input: options("65", "10", "10", "false", "false"), reason: durward.OutOfRange},
		{method: "walk", input: options("3", "0", "10", "false", "false"), reason: durward.OutOfRange},
		{method: "walk", input: options("3", "10", "0", "false", "false"), reason: durward.OutOfRange},
		{method: "walk", input: options("3", "10", "50001", "false", "false"), reason: durward.OutOfRange},
		{method: "walk", input: options("-1", "10", "10", "false", "false"), reason: durward.WrongType},
		{method: "walk", input: options("3.0", "10", "10", "false", "false"), reason: durward.WrongType},
		{method: "walk", input: options("null", "10", "10", "false", "false"), reason: durward.MissingField},
		{method: "walk", input: `{"path":"$/w","options":{}}`, reason: durward.MissingField},
		{method: "walk", input: `{"path":"$/w"}`, reason: durward.MissingField},
		{method: "walk", input: `{"path":"$/none","options":{"maxDepth":1,"maxDirectories":1,"maxEntries":1,"followDirectorySymlinks":false,"pruneHiddenDirectories":false}}`, reason: durward.FileNotFound},
		{method: "walk", input: `{"path":"$/w/lf","options":{"maxDepth":1,"maxDirectories":1,"maxEntries":1,"followDirectorySymlinks":false,"pruneHiddenDirectories":false}}`, want: `{"entries":[` + end},
	})
}

func TestBlocks(t *testing.T) {
	s := newScene(t)
	s.put(t, "f", "hello")
	s.run(t, []step{
		{method: "open", input: `{"path":"$/f"}`, want: `{"handle":1}`},
		{method: "readBlock", input: `{"handle":1,"offset":1,"len":3}`, want: `{"chunk":"ZWxs","eof":false}`},
		{method: "readBlock", input: `{"handle":1,"offset":3,"len":2}`, want: `{"chunk":"bG8=","eof":true}`},
		{method: "readBlock", input: `{"handle":1,"offset":3,"len":100}`, want: `{"chunk":"bG8=","eof":true}`},
		{method: "readBlock", input: `{"handle":1,"offset":99,"len":1}`, want: `{"chunk":"","eof":true}`},
		{method: "readBlock", input: `{"handle":1,"offset":18446744073709551615,"len":1}`, want: `{"chunk":"","eof":true}`},
		{method: "readBlock", input: `{"handle":1,"offset":0,"len":0}`, reason: durward.OutOfRange},
		{method: "readBlock", input: `{"handle":1,"offset":0,"len":1048577}`, reason: durward.OutOfRange},
		{method: "readBlock", input: `{"handle":1,"offset":-1,"len":1}`, reason: durward.WrongType},
		{method: "writeBlock", input: `{"handle":1,"offset":0}`, content: "x", reason: durward.HandleOtherWay},
		{method: "close", input: `{"handle":1}`, want: `{}`},
		{method: "close", input: `{"handle":1}`, want: `{}`},
		{method: "readBlock", input: `{"handle":1,"offset":0,"len":1}`, reason: durward.HandleUnknown},
		{method: "open", input: `{"path":"$/ws"}`, reason: durward.NotRegularFile},
		{method: "open", input: `{"path":"$/ws","mode":"replace"}`, reason: durward.NotRegularFile},
		{method: "open", input: `{"path":"$/f","mode":"write"}`, reason: durward.WrongType},
		{method: "open", input: `{"path":"$/none/f","mode":"replace"}`, reason: durward.FileNotFound},
		{method: "open", input: `{"path":"$/f","mode":"replace"}`, want: `{"handle":2}`},
		{method: "writeBlock", input: `{"handle":2,"offset":0}`, content: "abc", want: `{}`},
		{method: "writeBlock", input: `{"handle":2,"offset":5}`, content: "def", want: `{}`},
		{method: "writeBlock", input: `{"handle":2,"offset":9223372036854775807}`, content: "x", reason: durward.OutOfRange},
		{method: "readBlock", input: `{"handle":2,"offset":0,"len":1}`, reason: durward.HandleOtherWay},
		{method: "close", input: `{"handle":2}`, want: `{}`},
	})
	s.has(t, "f", "abc\x00\x00def")
}

func TestReadOnlyPolicy(t *testing.T) {
	s := newScene(t)
	s.grant = s.readOnly()
	before := snapshot(t, s.root)
	s.run(t, []step{
		{method: "readFile", input: `{"path":"$/ws/a.txt"}`, want: `{"dataBase64":"aGVsbG8="}`},
		{method: "writeFile", input: `{"path":"$/ws/a.txt"}`, content: "x", reason: durward.FilePermission},
		{method: "remove", input: `{"path":"$/ws/a.txt"}`, reason: durward.FilePermission},
		{method: "createDirectory", input: `{"path":"$/ws/d"}`, reason: durward.FilePermission},
		{method: "open", input: `{"path":"$/ws/a.txt","mode":"replace"}`, reason: durward.FilePermission},
	})
	unchanged(t, s.root, before)
}

func TestWorkspacePolicy(t *testing.T) {
	s := newScene(t)
	s.grant = s.workspace()
	before, git := snapshot(t, s.path("out")), snapshot(t, s.path("ws/.git"))
	s.run(t, []step{
		{method: "writeFile", input: `{"path":"$/ws/new.txt"}`, content: "x", want: `{}`},
		{method: "writeFile", input: `{"path":"$/ws/new.txt"}`, content: "y", want: `{}`},
		{method: "writeFile", input: `{"path":"$/ws/none/new.txt"}`, reason: durward.FileNotFound},
		{method: "writeFile", input: `{"path":"$/out/new.txt"}`, reason: durward.FilePermission},
		{method: "writeFile", input: `{"path":"$/ws/../out/new.txt"}`, reason: durward.FilePermission},
		{method: "writeFile", input: `{"path":"$/ws/.git/config"}`, reason: durward.FilePermission},
		{method: "writeFile", input: `{"path":"$/ws/.codex"}`, reason: durward.FilePermission},
		{method: "createDirectory", input: `{"path":"$/ws/.agents/x"}`, reason: durward.FilePermission},
		{method: "remove", input: `{"path":"$/ws/.git"}`, reason: durward.FilePermission},
		{method: "copy", input: `{"sourcePath":"$/ws/a.txt","destinationPath":"$/out/c","recursive":false}`, reason: durward.FilePermission},
		{method: "copy", input: `{"sourcePath":"$/out","destinationPath":"$/ws/.git","recursive":true}`, reason: durward.FilePermission},
		{method: "copy", input: `{"sourcePath":"$/out","destinationPath":"$/ws/copy","recursive":true}`, want: `{}`},
		{method: "remove", input: `{"path":"$/out/secret.txt"}`, reason: durward.FilePermission},
		{method: "remove", input: `{"path":"$/ws"}`, reason: durward.FilePermission},
		{method: "createDirectory", input: `{"path":"$/out/d"}`, reason: durward.FilePermission},
		{method: "writeFile", input: `{"path":"$/ws/dirlink/n.txt"}`, reason: durward.FilePermission},
		{method: "writeFile", input: `{"path":"$/ws/filelink"}`, reason: durward.FilePermission},
		{method: "createDirectory", input: `{"path":"$/ws/dirlink/d"}`, reason: durward.FilePermission},
		{method: "readFile", input: `{"path":"$/out/secret.txt"}`, want: `{"dataBase64":"c2VjcmV0"}`},
		{method: "remove", input: `{"path":"$/ws/filelink"}`, want: `{}`},
	})
	s.has(t, "ws/new.txt", "y")
	s.has(t, "ws/copy/secret.txt", "secret")
	unchanged(t, s.path("out"), before)
	unchanged(t, s.path("ws/.git"), git)
}

func TestWhatMayNotBeReadLooksAbsent(t *testing.T) {
	s := newScene(t)
	s.grant = s.narrow()
	options := `,"options":{"maxDepth":3,"maxDirectories":10,"maxEntries":10,"followDirectorySymlinks":true,"pruneHiddenDirectories":false}}`
	s.run(t, []step{
		{method: "readFile", input: `{"path":"$/ws/a.txt"}`, want: `{"dataBase64":"aGVsbG8="}`},
		{method: "readFile", input: `{"path":"$/out/secret.txt"}`, reason: durward.FileNotFound},
		{method: "readFile", input: `{"path":"$/out/secret.txt/x"}`, reason: durward.FileNotFound},
		{method: "readFile", input: `{"path":"$/out"}`, reason: durward.FileNotFound},
		{method: "readFile", input: `{"path":"$/ws/dirlink/secret.txt"}`, reason: durward.FileNotFound},
		{method: "readFile", input: `{"path":"$/ws/dirlink/secret.txt/x"}`, reason: durward.FileNotFound},
		{method: "getMetadata", input: `{"path":"$/out/secret.txt"}`, reason: durward.FileNotFound},
		{method: "getMetadata", input: `{"path":"$/ws/filelink"}`, reason: durward.FileNotFound},
		{method: "canonicalize", input: `{"path":"$/ws/filelink"}`, reason: durward.FileNotFound},
		{method: "readDirectory", input: `{"path":"$/out"}`, reason: durward.FileNotFound},
		{method: "walk", input: `{"path":"$/out"` + options, reason: durward.FileNotFound},
		{method: "walk", input: `{"path":"$/ws"` + options, want: `{"entries":[{"path":"$/ws/.git","kind":"directory"},{"path":"$/ws/a.txt","kind":"file"}],"errors":[],"truncated":false}`},
		{method: "open", input: `{"path":"$/out/secret.txt"}`, reason: durward.FileNotFound},
		{method: "writeFile", input: `{"path":"$/out/x"}`, reason: durward.OutsideRoot},
		{method: "writeFile", input: `{"path":"$/out/none/x"}`, reason: durward.OutsideRoot},
		{method: "writeFile", input: `{"path":"$/ws/dirlink/x"}`, reason: durward.OutsideRoot},
		{method: "writeFile", input: `{"path":"$/ws/dirlink/none/x"}`, reason: durward.OutsideRoot},
		{method: "remove", input: `{"path":"$/out/none"}`, reason: durward.OutsideRoot},
		{method: "createDirectory", input: `{"path":"$/out"}`, reason: durward.OutsideRoot},
	})
}

// Denied is what lies in a set and is taken back from it.
func TestWhatIsDeniedLooksAbsent(t *testing.T) {
	s := newScene(t)
	s.put(t, "ws/.env", "key")
	s.put(t, "ws/keys/k", "key")
	s.put(t, "ws/sub/x.pem", "key")
	must(t, os.Symlink("keys/k", s.path("ws/key")))
	s.grant = s.workspace()
	s.grant.Files.Deny = []string{s.path("ws/.env"), s.path("ws/keys")}
	s.grant.Files.DenyGlobs = []string{s.path("ws") + "/**/*.pem"}
	before := snapshot(t, s.root)
	s.run(t, []step{
		{method: "readFile", input: `{"path":"$/ws/.env"}`, reason: durward.FileNotFound},
		{method: "readFile", input: `{"path":"$/ws/key"}`, reason: durward.FileNotFound},
		{method: "readFile", input: `{"path":"$/ws/sub/x.pem"}`, reason: durward.FileNotFound},
		{method: "getMetadata", input: `{"path":"$/ws/keys"}`, reason: durward.FileNotFound},
		{method: "readDirectory", input: `{"path":"$/ws/keys"}`, reason: durward.FileNotFound},
		{method: "readDirectory", input: `{"path":"$/ws/sub"}`, want: `{"entries":[]}`},
		{method: "writeFile", input: `{"path":"$/ws/.env"}`, reason: durward.OutsideRoot},
		{method: "writeFile", input: `{"path":"$/ws/keys/new"}`, reason: durward.OutsideRoot},
		{method: "writeFile", input: `{"path":"$/ws/new.pem"}`, reason: durward.OutsideRoot},
		{method: "remove", input: `{"path":"$/ws/keys"}`, reason: durward.OutsideRoot},
		{method: "remove", input: `{"path":"$/ws/sub"}`, reason: durward.OutsideRoot},
	})
	unchanged(t, s.root, before)
	s.run(t, []step{{method: "copy", input: `{"sourcePath":"$/ws","destinationPath":"$/ws/sub/ws","recursive":true}`, reason: durward.IntoItself}})
}

// A file of several names may have one outside.
func TestAHardLinkIsNotWrittenThrough(t *testing.T) {
	s := newScene(t)
	must(t, os.Link(s.path("out/secret.txt"), s.path("ws/hard")))
	s.grant = s.workspace()
	before := snapshot(t, s.path("out"))
	s.run(t, []step{
		{method: "readFile", input: `{"path":"$/ws/hard"}`, want: `{"dataBase64":"c2VjcmV0"}`},
		{method: "writeFile", input: `{"path":"$/ws/hard"}`, content: "x", reason: durward.HardLink},
		{method: "open", input: `{"path":"$/ws/hard","mode":"replace"}`, reason: durward.HardLink},
		{method: "copy", input: `{"sourcePath":"$/ws/a.txt","destinationPath":"$/ws/hard","recursive":false}`, reason: durward.HardLink},
	})
	unchanged(t, s.path("out"), before)
	s.grant = free
	s.run(t, []step{{method: "writeFile", input: `{"path":"$/ws/hard"}`, content: "x", want: `{}`}})
	s.has(t, "out/secret.txt", "x")
}

// Whether something is there that may not be read, or nothing is, a client is told the same.
func TestWhatIsHiddenIsToldAsWhatIsAbsent(t *testing.T) {
	s := newScene(t)
	s.put(t, "ws/.env", "key")
	must(t, os.Symlink("../out/none", s.path("ws/nolink")))
	must(t, os.Symlink(".env", s.path("ws/envlink")))
	s.grant = s.narrow()
	s.grant.Files.Deny = []string{s.path("ws/.env"), s.path("ws/.none")}
	told := func(method, input string) string {
		t.Helper()
		_, err := s.do(t.Context(), method, input)
		e := durward.AsError(err)
		if e == nil {
			t.Fatalf("%s %s: %v", method, input, err)
		}
		var errno syscall.Errno
		errors.As(err, &errno)
		return fmt.Sprint(e.Reason, e.Rule, e.Hint, e.Retry, errno)
	}
	for _, pair := range [][2]string{
		{"out/secret.txt", "out/none"},
		{"out/secret.txt/x", "out/none/x"},
		{"out", "none"},
		{"ws/.env", "ws/.none"},
		{"ws/.env", "ws/absent"},
		{"ws/filelink", "ws/nolink"},
		{"ws/filelink/x", "ws/nolink/x"},
		{"ws/dirlink/secret.txt", "ws/dirlink/none"},
		{"ws/dirlink/secret.txt/x", "ws/dirlink/none/x"},
		{"ws/envlink", "ws/absent"},
	} {
		for _, method := range []string{"readFile", "getMetadata", "canonicalize", "readDirectory", "open"} {
			is, isNot := told(method, `{"path":"$/`+pair[0]+`"}`), told(method, `{"path":"$/`+pair[1]+`"}`)
			if is != isNot {
				t.Errorf("%s of %s: %s; of %s: %s", method, pair[0], is, pair[1], isNot)
			}
		}
		for method, input := range map[string]string{
			"writeFile": `{"path":"%"}`, "createDirectory": `{"path":"%"}`, "remove": `{"path":"%"}`,
			"copy": `{"sourcePath":"$/ws/a.txt","destinationPath":"%","recursive":false}`,
		} {
			if strings.HasPrefix(pair[0], "ws/") && !strings.Contains(pair[0], "dirlink/") {
				continue // it may be seen that there is a link, or a directory that nothing may be made in
			}
			is, isNot := told(method, strings.ReplaceAll(input, "%", "$/"+pair[0])), told(method, strings.ReplaceAll(input, "%", "$/"+pair[1]))
			if is != isNot {
				t.Errorf("%s to %s: %s; to %s: %s", method, pair[0], is, pair[1], isNot)
			}
		}
	}
}
