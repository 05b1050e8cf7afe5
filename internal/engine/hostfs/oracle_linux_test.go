package hostfs

import (
	"os"
	"strings"
	"testing"

	"github.com/durward/durward"
)

// questions are all that could tell whether there is something at a path, or what.
func questions(path string) []attempt {
	const options = `,"options":{"maxDepth":1,"maxDirectories":9,"maxEntries":9,"followDirectorySymlinks":true,"pruneHiddenDirectories":false}}`
	p := `{"path":"` + path + `"`
	return []attempt{
		{"readFile", p + `}`, ""},
		{"getMetadata", p + `}`, ""},
		{"canonicalize", p + `}`, ""},
		{"readDirectory", p + `}`, ""},
		{"walk", p + options, ""},
		{"open", p + `}`, ""},
		{"open", p + `,"mode":"replace"}`, ""},
		{"writeFile", p + `}`, "x"},
		{"createDirectory", p + `}`, ""},
		{"createDirectory", p + `,"recursive":false}`, ""},
		{"remove", p + `}`, ""},
		{"remove", p + `,"recursive":false,"force":false}`, ""},
		{"copy", `{"sourcePath":"$/ws/a.txt","destinationPath":"` + path + `","recursive":false}`, ""},
		{"copy", `{"sourcePath":"$/ws/tree","destinationPath":"` + path + `","recursive":true}`, ""},
		{"copy", `{"sourcePath":"` + path + `","destinationPath":"$/ws/copied","recursive":true}`, ""},
	}
}

// stand puts something at a path, or nothing.
func stand(t *testing.T, what, path string) {
	t.Helper()
	must(t, os.RemoveAll(path))
	switch what {
	case "a file":
		must(t, os.WriteFile(path, nil, 0o644))
	case "a directory":
		must(t, os.MkdirAll(path+"/x", 0o755))
	case "a loop":
		must(t, os.Symlink(path, path))
	case "a link to nothing":
		must(t, os.Symlink("/no/such/file", path))
	case "a link to what is hidden, too":
		must(t, os.Symlink("../out/below", path))
	}
}

// Whatever is hidden, and whatever is beneath it, the answers are the same as if nothing were
// there. A link to it makes no difference: what is confined can make any.
func TestNoAnswerTellsWhatIsHidden(t *testing.T) {
	asked := map[string][]string{
		"out/hidden": {"$/out/hidden", "$/out/hidden/x", "$/ws/link", "$/ws/link/x", "$/ws/link/x/y"},
		"ws/.env":    {"$/ws/.env", "$/ws/.env/x", "$/ws/denied", "$/ws/denied/x"},
	}
	for hidden, paths := range asked {
		s := newEscape(t)
		must(t, os.Symlink(s.path("out/hidden"), s.path("ws/link")))
		must(t, os.Symlink(".env", s.path("ws/denied")))
		s.grant = s.inside()
		s.grant.Files.Deny = []string{s.path("ws/.env")}
		for _, path := range paths {
			for _, q := range questions(path) {
				if strings.HasPrefix(path, "$/ws/") && strings.Count(path, "/") == 2 && (q.method == "remove" || q.method == "copy") && hidden != strings.TrimPrefix(path, "$/") {
					continue // it is about the link itself
				}
				stand(t, "nothing", s.path(hidden))
				_, err := s.do(t.Context(), q.method, q.input, []byte(q.content)...)
				want := durward.ReasonOf(err)
				for _, what := range []string{"a file", "a directory", "a loop", "a link to nothing", "a link to what is hidden, too"} {
					stand(t, what, s.path(hidden))
					_, err := s.do(t.Context(), q.method, q.input, []byte(q.content)...)
					if got := durward.ReasonOf(err); got != want {
						t.Errorf("%s %s, where %s is %s: %q; where nothing is: %q", q.method, q.input, hidden, what, got, want)
					}
				}
			}
		}
	}
}
