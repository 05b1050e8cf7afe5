package durward_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/durward/durward"

// leaves stand under every other room and import nothing but each other and the
// vocabulary.
var leaves = []string{
	"docs", "internal/audit", "internal/chunks", "internal/clientconfig", "internal/config", "internal/content", "internal/credential", "internal/dirlock", "internal/domain", "internal/droplog", "internal/errorpage",
	"internal/execpolicy", "internal/fileuri", "internal/fsroot", "internal/httpedge", "internal/hubconfig", "internal/hubedit", "internal/hubpin", "internal/jsonrpc", "internal/jsonx",
	"internal/machine", "internal/mcppolicy", "internal/mcpserve", "internal/mcpspec", "internal/netguard", "internal/pathguard", "internal/policy", "internal/release", "internal/safetext",
	"internal/sandbox", "internal/schema", "internal/smallfile", "internal/telemetry", "internal/toolcall", "internal/toolsearch", "internal/trust", "internal/wsedge",
}

// rooms says which rooms the code of a room may import, outermost room first. Every
// room may import its own inner packages and the vocabulary, which is ".". A name
// that ends in "/*" is one room per folder.
var rooms = []struct {
	names []string
	may   []string
}{
	{[]string{"cmd/*"}, []string{"internal/cli"}},
	{[]string{"internal/release/makerelease"}, []string{"internal/cli", "internal/release"}},
	{[]string{"internal/cli"}, append([]string{"site", "execserver", "execserver/protocol", "worker", "worker/firecrawl", "internal/door/*", "internal/source/*", "internal/engine/*", "internal/core"}, leaves...)},
	{[]string{"worker/firecrawl"}, append([]string{"worker"}, leaves...)},
	{[]string{"worker"}, leaves},
	{[]string{"examples/worker-go"}, []string{"worker"}},
	{[]string{"site"}, append([]string{"internal/door/*", "internal/source/*", "internal/engine/*", "internal/core"}, leaves...)},
	{[]string{"execserver/protocol"}, nil},
	{[]string{"execserver"}, append([]string{"execserver/protocol", "internal/door/*", "internal/engine/*", "internal/core"}, leaves...)},
	{[]string{"execclient"}, []string{"execserver/protocol"}},
	{[]string{"internal/door/*"}, append([]string{"execserver/protocol", "internal/core"}, without("internal/execpolicy", "internal/policy", "internal/mcppolicy", "internal/sandbox")...)},
	{[]string{"internal/source/*", "internal/engine/*"}, append([]string{"internal/core"}, leaves...)},
	{[]string{"internal/core/coretest"}, append([]string{"internal/core"}, leaves...)},
	{[]string{"internal/core"}, leaves},
	{leaves, leaves},
	{[]string{"."}, nil},
	{[]string{"bench"}, append([]string{"site", "worker", "execclient", "execserver", "execserver/protocol", "internal/engine/*", "internal/core"}, leaves...)},
}

// pure lists the rooms that only decide.
var pure = []string{"internal/policy", "internal/execpolicy", "internal/mcppolicy", "internal/domain", "internal/hubconfig", "internal/hubedit", "internal/clientconfig", "internal/credential", "internal/toolsearch"}

// doesIO lists what a package that only decides has no use for. Packages that are
// part pure are in impure, by name.
var doesIO = []string{
	"io/ioutil", "log", "log/slog", "net/http", "os", "os/exec", "os/signal", "os/user", "syscall",
	"golang.org/x/net", "golang.org/x/sys",
}

// An edge says that one package imports another. Packages of this module are named by
// their folder, all others by their import path.
type edge struct{ from, to string }

func TestImportsPointOneWay(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "windows"} {
		for _, fault := range faults(edgesOf(t, goos)) {
			t.Errorf("%s: %s", goos, fault)
		}
	}
}

func TestTurnedArrowsAreCaught(t *testing.T) {
	good := []edge{
		{"cmd/durward", "internal/cli"},
		{"internal/cli", "internal/door/site"},
		{"internal/cli", "internal/policy"},
		{"internal/door/site", "internal/core"},
		{"internal/door/site", "internal/door/site/page"},
		{"internal/door/site", "internal/httpedge"},
		{"internal/engine/process", "internal/sandbox"},
		{"internal/engine/process", "github.com/creack/pty"},
		{"internal/core", "."},
		{"internal/policy", "internal/config"},
		{"internal/policy", "net/netip"},
		{".", "encoding/json"},
	}
	if found := faults(good); len(found) > 0 {
		t.Errorf("straight arrows are reported: %q", found)
	}
	for _, turned := range []edge{
		{".", "internal/core"},
		{".", "golang.org/x/sys/unix"},
		{"internal/core", "internal/door/site"},
		{"internal/core", "internal/engine/process"},
		{"internal/core", "internal/cli"},
		{"internal/core", "internal/core/coretest"},
		{"internal/engine/process", "internal/cli"},
		{"internal/engine/process", "internal/engine/file"},
		{"internal/source/pages", "internal/engine/process"},
		{"internal/door/site", "internal/door/mcp"},
		{"internal/door/site", "internal/source/pages"},
		{"internal/door/site", "internal/engine/process"},
		{"internal/door/site", "internal/sandbox"},
		{"internal/door/site", "internal/policy"},
		{"internal/cli", "cmd/durward"},
		{"cmd/durward", "internal/core"},
		{"internal/audit", "internal/core"},
		{"internal/sandbox", "internal/engine/process"},
		{"internal/sandbox/seccomp", "internal/cli"},
		{"internal/policy", "os"},
		{"internal/policy", "net/http"},
		{"internal/policy/rule", "golang.org/x/sys/unix"},
		{"internal/mcppolicy", "os"},
		{"internal/door/mcp", "internal/mcppolicy"},
		{"internal/attic", "."},
		{"internal/cli", "internal/attic"},
	} {
		found := faults(append(slices.Clone(good), turned))
		if len(found) != 1 || !strings.Contains(found[0], turned.from+" imports "+turned.to) {
			t.Errorf("%s → %s is reported as %q", turned.from, turned.to, found)
		}
	}
}

// faults lists the edges that no rule allows.
func faults(edges []edge) []string {
	var found []string
	for _, e := range edges {
		if why := refusal(e); why != "" {
			found = append(found, fmt.Sprintf("%s imports %s: %s", e.from, e.to, why))
		}
	}
	return found
}

func refusal(e edge) string {
	from, may, known := roomOf(e.from)
	switch {
	case !known:
		return "the first is in no room that the table knows"
	case !ours(e.to) && from == "." && strings.Contains(e.to, "."):
		return "the vocabulary uses the standard library only"
	case !ours(e.to) && slices.Contains(pure, from) && slices.ContainsFunc(doesIO, func(p string) bool { return isOrHolds(p, e.to) }):
		return "policy does no I/O"
	case !ours(e.to) || e.to == ".":
		return ""
	}
	to, _, _ := roomOf(e.to)
	if from == to || slices.ContainsFunc(may, func(name string) bool { return names(name, to) }) {
		return ""
	}
	return "the arrow points the wrong way"
}

// roomOf gives the room a package lives in, with "*" filled in, and what that room
// may import.
func roomOf(pkg string) (room string, may []string, known bool) {
	for _, r := range rooms {
		for _, name := range r.names {
			if room, ok := within(name, pkg); ok {
				return room, r.may, true
			}
		}
	}
	return pkg, nil, false
}

// names reports whether an entry of the table stands for that very room.
func names(entry, room string) bool {
	found, ok := within(entry, room)
	return ok && found == room
}

func within(name, pkg string) (room string, ok bool) {
	base, each := strings.CutSuffix(name, "/*")
	inner, below := strings.CutPrefix(pkg, base+"/")
	if !each {
		return base, below || pkg == base
	}
	first, _, _ := strings.Cut(inner, "/")
	return base + "/" + first, below
}

// isOrHolds reports whether pkg is the package at p or, for a module, within it. The
// packages of the standard library each stand for themselves: net/netip is not net.
func isOrHolds(p, pkg string) bool {
	return pkg == p || strings.Contains(p, ".") && strings.HasPrefix(pkg, p+"/")
}

// ours reports whether pkg is of this module. A room that the table lacks is noticed
// as soon as it imports something itself.
func ours(pkg string) bool {
	_, _, known := roomOf(pkg)
	return known || strings.HasPrefix(pkg, "internal/")
}

// without gives the leaves but for some.
func without(some ...string) []string {
	return slices.DeleteFunc(slices.Clone(leaves), func(leaf string) bool { return slices.Contains(some, leaf) })
}

// edgesOf reads the import graph as one system builds it.
func edgesOf(t *testing.T, goos string) []edge {
	t.Helper()
	list := exec.Command("go", "list", "-f", `{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}{{"\n"}}{{end}}`, "./...")
	list.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var edges []edge
	for line := range strings.Lines(string(out)) {
		if from, to, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			edges = append(edges, edge{folderOf(from), folderOf(to)})
		}
	}
	return edges
}

func folderOf(importPath string) string {
	if importPath == module {
		return "."
	}
	return strings.TrimPrefix(importPath, module+"/")
}
