package hostfs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// None of these waits for somebody at the other end, and none acts on a device.
func TestNothingWaitsForAPipe(t *testing.T) {
	for _, grant := range []string{"free", "workspace"} {
		s := newScene(t)
		must(t, unix.Mkfifo(s.path("ws/fifo"), 0o600))
		must(t, unix.Mkfifo(s.path("ws/.git/fifo"), 0o600))
		must(t, os.Symlink("fifo", s.path("ws/link")))
		if grant == "workspace" {
			s.grant = s.workspace()
		}
		s.run(t, []step{
			{method: "readFile", input: `{"path":"$/ws/fifo"}`, reason: durward.NotRegularFile},
			{method: "readFile", input: `{"path":"$/ws/link"}`, reason: durward.NotRegularFile},
			{method: "writeFile", input: `{"path":"$/ws/fifo"}`, reason: durward.NotRegularFile},
			{method: "writeFile", input: `{"path":"$/ws/link"}`, reason: durward.NotRegularFile},
			{method: "open", input: `{"path":"$/ws/fifo"}`, reason: durward.NotRegularFile},
			{method: "open", input: `{"path":"$/ws/fifo","mode":"replace"}`, reason: durward.NotRegularFile},
			{method: "copy", input: `{"sourcePath":"$/ws/fifo","destinationPath":"$/ws/x","recursive":false}`, reason: durward.NotRegularFile},
			{method: "copy", input: `{"sourcePath":"$/ws/a.txt","destinationPath":"$/ws/fifo","recursive":false}`, reason: durward.NotRegularFile},
			{method: "copy", input: `{"sourcePath":"$/ws/.git","destinationPath":"$/ws/copy","recursive":true}`, want: `{}`},
			{method: "readDirectory", input: `{"path":"$/ws/fifo"}`, reason: durward.NotADirectory},
			{method: "remove", input: `{"path":"$/ws/fifo"}`, want: `{}`},
		})
		if entries, err := os.ReadDir(s.path("ws/copy")); err != nil || len(entries) > 0 {
			t.Errorf("of a pipe there is the copy %v, %v", entries, err)
		}
	}
}

func TestWhatIsTooLarge(t *testing.T) {
	s := newScene(t)
	s.put(t, "large", "")
	must(t, os.Truncate(s.path("large"), MaxFileBytes+1))
	s.run(t, []step{
		{method: "readFile", input: `{"path":"$/large"}`, reason: durward.MaxFileBytes},
		{method: "open", input: `{"path":"$/large"}`, want: `{"handle":1}`},
		{method: "readBlock", input: `{"handle":1,"offset":536870912,"len":100}`, want: `{"chunk":"AA==","eof":true}`},
	})
	s.grant.Limits = durward.Limits{Output: 22, FileSize: 5}
	s.run(t, []step{
		{method: "readFile", input: `{"path":"$/ws/a.txt"}`, reason: durward.OutputTooLarge},
		{method: "readDirectory", input: `{"path":"$/ws"}`, reason: durward.OutputTooLarge},
		{method: "writeFile", input: `{"path":"$/new"}`, content: "123456", reason: durward.MaxFileBytes},
		{method: "writeFile", input: `{"path":"$/ws/b.txt"}`, content: "12345", want: `{}`},
		{method: "copy", input: `{"sourcePath":"$/out/secret.txt","destinationPath":"$/new","recursive":false}`, reason: durward.MaxFileBytes},
		{method: "open", input: `{"path":"$/ws/b.txt","mode":"replace"}`, want: `{"handle":2}`},
		{method: "writeBlock", input: `{"handle":2,"offset":1}`, content: "12345", reason: durward.MaxFileBytes},
		{method: "writeBlock", input: `{"handle":2,"offset":0}`, content: "12345", want: `{}`},
	})
	if _, err := os.Lstat(s.path("new")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was refused has made a file: %v", err)
	}
}

// What fails on the way leaves nothing that it has made.
func TestNothingIsLeftHalfMade(t *testing.T) {
	s := newScene(t)
	s.grant.Limits.FileSize = 10
	before := snapshot(t, s.root)
	s.run(t, []step{
		{method: "createDirectory", input: `{"path":"$/ws/x/y/` + strings.Repeat("z", 300) + `"}`, reason: durward.PathTooLong},
		{method: "copy", input: `{"sourcePath":"/proc/self/status","destinationPath":"$/ws/status","recursive":false}`, reason: durward.MaxFileBytes},
	})
	unchanged(t, s.root, before)
}

// Of what the kernel offers in the form of files some is durward's own.
func TestAConfinedClientReadsNothingOfDurwardItself(t *testing.T) {
	s := newScene(t)
	s.run(t, []step{{method: "readFile", input: `{"path":"/proc/self/status"}`}})
	s.grant = s.readOnly()
	s.run(t, []step{
		{method: "readFile", input: `{"path":"/proc/self/environ"}`, reason: durward.SpecialFilesystem},
		{method: "open", input: `{"path":"/proc/self/environ"}`, reason: durward.SpecialFilesystem},
	})
}

func TestHandlesAreBounded(t *testing.T) {
	var table handles
	h := &handle{file: os.Stdin}
	for range MaxHandles {
		_, err := table.add(h)
		must(t, err)
	}
	if _, err := table.add(h); durward.ReasonOf(err) != durward.QueueFull {
		t.Errorf("one too many: %v", err)
	}
	table.take(7)
	if number, err := table.add(h); err != nil || number != MaxHandles+1 {
		t.Errorf("after one was closed: %d, %v", number, err)
	}
}

func TestAClosedEngineOpensNothing(t *testing.T) {
	s := newScene(t)
	s.run(t, []step{{method: "open", input: `{"path":"$/ws/a.txt"}`, want: `{"handle":1}`}})
	must(t, s.engine.Close())
	s.run(t, []step{
		{method: "open", input: `{"path":"$/ws/a.txt"}`, reason: durward.ShuttingDown},
		{method: "readBlock", input: `{"handle":1,"offset":0,"len":1}`, reason: durward.HandleUnknown},
	})
}

// What goes on record is how much was read or written, its digest, and what held it.
func TestWhatIsOnRecord(t *testing.T) {
	s := newScene(t)
	s.grant = s.workspace()
	sum := sha256.Sum256([]byte("hello"))
	for method, input := range map[string]string{
		"readFile":   `{"path":"$/ws/a.txt"}`,
		"writeFile":  `{"path":"$/ws/b.txt"}`,
		"readBlock":  `{"handle":1,"offset":0,"len":100}`,
		"writeBlock": `{"handle":2,"offset":0}`,
	} {
		if method == "readBlock" {
			s.engine.handles = handles{}
			s.run(t, []step{{method: "open", input: `{"path":"$/ws/a.txt"}`}})
		}
		if method == "writeBlock" {
			s.engine.handles = handles{last: 1}
			s.run(t, []step{{method: "open", input: `{"path":"$/ws/c.txt","mode":"replace"}`}})
		}
		result, err := s.do(t.Context(), method, input, []byte("hello")...)
		must(t, err)
		if c := result.Content; c == nil || c.Bytes != 5 || c.SHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: %v", method, c)
		}
		if r := result.Report; r == nil || r.Mode != durward.WorkspaceWrite || r.Guarantees[durward.FSRead].Held == "" {
			t.Errorf("%s: %v", method, r)
		}
		must(t, s.engine.handles.close())
	}
}

// A tree that is deeper than descriptors go round is refused, and a call that is cancelled
// stops on the way.
func TestDeepTreesAndCancelledCalls(t *testing.T) {
	s := newScene(t)
	deep := s.path("ws/deep")
	must(t, os.Mkdir(deep, 0o755))
	dir, err := os.OpenRoot(deep)
	must(t, err)
	for range maxDepth + 10 {
		must(t, dir.Mkdir("d", 0o755))
		next, err := dir.OpenRoot("d")
		must(t, err)
		must(t, dir.Close())
		dir = next
	}
	must(t, dir.Close())
	s.run(t, []step{
		{method: "remove", input: `{"path":"$/ws/deep"}`, reason: durward.PathTooLong},
		{method: "copy", input: `{"sourcePath":"$/ws/deep","destinationPath":"$/ws/copy","recursive":true}`, reason: durward.PathTooLong},
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.do(ctx, "remove", `{"path":"$/ws/a.txt"}`); durward.KindOf(err) != durward.Cancelled {
		t.Errorf("a cancelled call ended with %v", err)
	}
	s.has(t, "ws/a.txt", "hello")
}

// What nobody can tell the whereabouts of is not left out as if it were hidden: who copies or
// lists a tree gets all of it or is told.
func TestNothingIsSilentlyLeftOut(t *testing.T) {
	const most = 4096
	s := newScene(t)
	must(t, os.Mkdir(s.path("ws/deep"), 0o755))
	dir, err := os.OpenRoot(s.path("ws/deep"))
	must(t, err)
	name, shown := strings.Repeat("d", 200), s.path("ws/deep")
	for range most/len(name) + 1 {
		if len(shown)+1+len(name) < most {
			shown += "/" + name
		}
		must(t, dir.Mkdir(name, 0o755))
		next, err := dir.OpenRoot(name)
		must(t, err)
		must(t, dir.Close())
		dir = next
	}
	must(t, dir.Close())
	s.grant = s.inside()
	s.grant.Files.Deny = []string{s.path("ws/denied")}
	for method, input := range map[string]string{
		"copy":          `{"sourcePath":"$/ws/deep","destinationPath":"$/ws/copy","recursive":true}`,
		"readDirectory": `{"path":"` + shown + `"}`,
		"walk":          `{"path":"` + shown + `","options":{"maxDepth":1,"maxDirectories":9,"maxEntries":9,"followDirectorySymlinks":true,"pruneHiddenDirectories":false}}`,
	} {
		if _, err := s.do(t.Context(), method, input); durward.ReasonOf(err) != durward.PathTooLong {
			t.Errorf("%s: %q", method, durward.ReasonOf(err))
		}
	}
}
