//go:build linux || darwin

package pages

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/content"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/core/coretest"
)

func site(t *testing.T, files map[string]string) (*Source, string) {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	local, err := content.OpenLocal(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { local.Close() })
	return New(local, Options{Root: local.Root()}), local.Root()
}

func TestSource(t *testing.T) {
	coretest.Source(t, func(t *testing.T) core.Source {
		s, _ := site(t, map[string]string{"README.md": yamlPage("tools: [[ls]]"), "docs/a.md": "# no", "bad.md": yamlPage("tools: x"), "data.csv": "1,2"})
		return s
	})
}

func TestFind(t *testing.T) {
	s, root := site(t, map[string]string{"README.md": "", "docs/a.md": yamlPage("tools: [[ls]]"), "large.md": string(make([]byte, MaxPageBytes+1))})
	for id, want := range map[durward.ToolID]string{"/": "README.md", "/docs/a": "docs/a.md", "/docs/a.md": "docs/a.md"} {
		tool, err := s.Find(t.Context(), id)
		if err != nil || tool.ID != id || tool.Engine != Engine || tool.Spec.(*Page).Path != want {
			t.Errorf("%s: %+v, %v", id, tool, err)
		}
	}
	if tool, err := s.Find(t.Context(), "/docs/a"); err != nil || tool.Spec.(*Page).Dir != root+"/docs" {
		t.Errorf("%+v, %v", tool, err)
	}
	for id, reason := range map[durward.ToolID]durward.Reason{
		"docs/a": durward.ToolNotFound, "/docs/../docs/a": durward.ToolNotFound, "//": durward.ToolNotFound, "/docs/a/": durward.ToolNotFound, "/none": durward.ToolNotFound,
		"/large": durward.MaxFileBytes,
	} {
		if _, err := s.Find(t.Context(), id); durward.ReasonOf(err) != reason {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// TestWhatIsKeptIsNeverStale rewrites a page in place, keeping its size and its times.
func TestWhatIsKeptIsNeverStale(t *testing.T) {
	s, root := site(t, map[string]string{"a.md": yamlPage("tools: [[ls]]")})
	path := filepath.Join(root, "a.md")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"ls", "rm", "cp", "rm"} {
		if err := os.WriteFile(path, []byte(yamlPage("tools: [["+program+"]]")), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
		tool, err := s.Find(t.Context(), "/a")
		if err != nil {
			t.Fatal(err)
		}
		f, err := tool.Spec.(*Page).Frontmatter()
		if err != nil || f.Tools[0].Parts[0].Text != program {
			t.Errorf("the page allows %+v, %v; want %s", f, err, program)
		}
	}
}

// A still resolver has one file, whose key does not change: times tell nothing of what is
// written through a mapping.
type still struct{ text string }

func (s *still) Resolve(context.Context, string) (*content.Content, error) {
	return &content.Content{Body: body{strings.NewReader(s.text)}, Path: "a.md", Dir: "/", Size: int64(len(s.text)), Key: "1"}, nil
}

type body struct{ *strings.Reader }

func (body) Close() error { return nil }

// What a page allows is in its bytes, whatever is said of them.
func TestThePageIsReadEachTime(t *testing.T) {
	file := &still{}
	s := New(file, Options{})
	for _, program := range []string{"ls", "rm", "ls"} {
		file.text = yamlPage("tools: [[" + program + "]]")
		tool, err := s.Find(t.Context(), "/a")
		if err != nil {
			t.Fatal(err)
		}
		f, err := tool.Spec.(*Page).Frontmatter()
		if err != nil || f.Tools[0].Parts[0].Text != program {
			t.Errorf("the page allows %+v, %v; want %s", f, err, program)
		}
	}
}

// A page that may not run its components at one time may at another: what was parsed is
// shared, and nobody's to change.
func TestComponentsComeBack(t *testing.T) {
	live := false
	s := New(&still{text: "# x\n```component\necho\n```\n"}, Options{Live: func(*content.Content) bool { return live }})
	for _, live = range []bool{true, false, true} {
		tool, err := s.Find(t.Context(), "/a")
		if err != nil {
			t.Fatal(err)
		}
		if has := tool.Spec.(*Page).hasComponent([]string{"sh", "-c", "echo"}); has != live {
			t.Errorf("it has its component: %v, want %v", has, live)
		}
	}
}
