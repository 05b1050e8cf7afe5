package durward_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// impure names, for packages that are part pure, what of them reaches outside.
var impure = map[string]*regexp.Regexp{
	"net":           regexp.MustCompile(`^(Default|Dial|File|Interface|Listen|Lookup|Resolve)`),
	"path/filepath": regexp.MustCompile(`^(Abs|EvalSymlinks|Glob|Walk)`),
	"time":          regexp.MustCompile(`^(After|New|Now|Since|Sleep|Tick|Until)`),
}

// TestPackagesExplainThemselves also covers the files that this system does not build.
func TestPackagesExplainThemselves(t *testing.T) {
	explained := map[string]bool{}
	for name, file := range sources(t) {
		folder := path.Dir(name)
		explained[folder] = explained[folder] || file.Doc != nil
	}
	for _, folder := range slices.Sorted(maps.Keys(explained)) {
		if !explained[folder] {
			t.Errorf("package %s has no package comment", folder)
		}
	}
}

func TestNothingRunsBeforeMain(t *testing.T) {
	for name, file := range sources(t) {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s has an init function, which every start of the program would pay for", name)
			}
		}
	}
}

func TestTheArchitecturePageShowsEveryRoom(t *testing.T) {
	page, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	there, shown := map[string]bool{}, map[string]bool{}
	for name := range sources(t) {
		if room, _, _ := roomOf(path.Dir(name)); room != "internal/core/coretest" {
			there[room] = true
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `.+?` \\|").FindAllString(string(page), -1) {
		for _, room := range regexp.MustCompile("[a-z./-]+").FindAllString(row, -1) {
			shown[room] = true
		}
	}
	for room := range there {
		if !shown[room] {
			t.Errorf("docs/architecture.md lacks %s", room)
		}
	}
	for room := range shown {
		if _, err := os.Stat(filepath.FromSlash(room)); err != nil {
			t.Errorf("docs/architecture.md shows %s: %v", room, err)
		}
	}
}

// Who runs the program has it without the pages of its source.
func TestNobodyIsSentToFilesOfTheSource(t *testing.T) {
	page := regexp.MustCompile(`\bdocs/[a-z-]+\.md\b`)
	for name, file := range sources(t) {
		if !strings.HasPrefix(name, "internal/") && !strings.HasPrefix(name, "cmd/") {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && page.MatchString(text.Value) {
				t.Errorf("%s tells of %s", name, page.FindString(text.Value))
			}
			return true
		})
	}
}

// Deciding asks no clock, file or resolver, not even through a package that is mostly
// pure.
func TestPolicyIsPure(t *testing.T) {
	for name, file := range sources(t) {
		if room, _, _ := roomOf(path.Dir(name)); slices.Contains(pure, room) {
			for _, use := range impureUses(file) {
				t.Errorf("%s uses %s", name, use)
			}
		}
	}
}

func TestImpureUsesAreFound(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "", `package p
import ("net"; "time"; fp "path/filepath")
var a, _, _ = net.SplitHostPort("")
var b = fp.Join("a", "b")
var c = 2 * time.Second
var d, _ = net.LookupHost("")
var e, _ = fp.EvalSymlinks("")
var f = time.Now
`, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"net.LookupHost", "path/filepath.EvalSymlinks", "time.Now"}
	if got := impureUses(file); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func impureUses(file *ast.File) []string {
	imported := map[string]string{}
	for _, i := range file.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		imported[path.Base(p)] = p
		if i.Name != nil {
			imported[i.Name.Name] = p
		}
	}
	var uses []string
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if p := imported[fmt.Sprint(s.X)]; impure[p] != nil && impure[p].MatchString(s.Sel.Name) {
				uses = append(uses, p+"."+s.Sel.Name)
			}
		}
		return true
	})
	return uses
}

// sources parses every file of the program, whatever system it is for.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipFolder(name)
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		files[name], err = parser.ParseFile(token.NewFileSet(), filepath.FromSlash(name), nil, parser.ParseComments)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func skipFolder(name string) error {
	base := path.Base(name)
	if base == "testdata" || base == "tools" || (base != "." && strings.HasPrefix(base, ".")) {
		return fs.SkipDir
	}
	return nil
}
