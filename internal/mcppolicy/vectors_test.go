//go:build unix

package mcppolicy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/mcppolicy"
)

type argsVectors struct {
	Setup []struct {
		Dir, File, Symlink, To string
	}
	Commands map[string]json.RawMessage
	Vectors  []argsVector
}

type argsVector struct {
	ID, Command string
	Args, Argv  []string
	Cwd         string
	Expect      string
	Rule        durward.Reason
	Code        string
	OS          []string
}

// The directory ${T} of the vectors, and their root.
const (
	vectorsDir  = "/t"
	vectorsRoot = "/t/root"
)

// TestVectors runs every vector of the contract, those of other systems on a made-up
// machine of such a system.
func TestVectors(t *testing.T) {
	text, err := os.ReadFile("../../testdata/vectors/policy_args.json")
	if err != nil {
		t.Fatal(err)
	}
	var all argsVectors
	if err := json.Unmarshal([]byte(strings.NewReplacer("${ROOT}", vectorsRoot, "${T}", vectorsDir).Replace(string(text))), &all); err != nil {
		t.Fatal(err)
	}
	there := all.tree()
	policies := map[string]*mcppolicy.Policy{}
	for _, v := range all.Vectors {
		if len(v.OS) == 0 {
			v.OS = []string{"linux"}
		}
		for _, system := range v.OS {
			if policies[system] == nil {
				policies[system] = all.compile(t, there, system)
			}
			t.Run(v.ID+"/"+system, func(t *testing.T) { v.run(t, policies[system], there) })
		}
	}
	t.Logf("policy_args.json: %d vectors", len(all.Vectors))
	if len(all.Vectors) != 96 {
		t.Errorf("%d vectors ran; want 96", len(all.Vectors))
	}
}

func (v argsVector) run(t *testing.T, p *mcppolicy.Policy, there tree) {
	c, err := p.Command(v.Command)
	if err == nil {
		err = c.Judge(v.Args, there.scope(v.Cwd))
	}
	if v.Expect == "allow" {
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Argv(v.Args); v.Argv != nil && !slices.Equal(got, v.Argv) {
			t.Errorf("runs with %q, not %q", got, v.Argv)
		}
		return
	}
	want := map[string]durward.Kind{"POLICY_DENY": durward.Denied, "INVALID_ARGS": durward.Invalid}[v.Code]
	if durward.ReasonOf(err) != v.Rule || durward.KindOf(err) != want {
		t.Errorf("%v with reason %q, want %q", err, durward.ReasonOf(err), v.Rule)
	}
}

// tree is what the setup of the vectors makes, and all of their programs.
func (all argsVectors) tree() tree {
	there := tree{"/": dir(), vectorsDir: dir(), "/etc": dir(), "/etc/passwd": file()}
	for _, s := range all.Setup {
		switch {
		case s.Dir != "":
			there[filepath.Join(vectorsDir, s.Dir)] = dir()
		case s.File != "":
			there[filepath.Join(vectorsDir, s.File)] = file()
		default:
			at := filepath.Join(vectorsDir, s.Symlink)
			there[at] = link(filepath.Join(filepath.Dir(at), s.To))
		}
	}
	return there
}

// compile makes a policy of all commands. The programs need not exist, so they are said to.
func (all argsVectors) compile(t *testing.T, there tree, system string) *mcppolicy.Policy {
	root := vectorsRoot
	h := there.host()
	if h.GOOS = system; system == "macos" {
		h.GOOS = "darwin"
	}
	h.Stat = func(path string) (fs.FileMode, error) {
		if path == "C:/" {
			return fs.ModeDir | 0o755, nil
		}
		if mode, err := there.stat(path); err == nil {
			return mode, nil
		}
		return 0o755, nil
	}
	h.Resolve = func(path string) (string, error) {
		if physical, err := there.resolve(path); err == nil {
			return physical, nil
		}
		return path, nil
	}
	if system == "windows" {
		root = "C:/"
	}
	var list []string
	for _, id := range slices.Sorted(maps.Keys(all.Commands)) {
		entry := string(all.Commands[id])
		if system == "windows" { // none of the others is there
			entry = strings.ReplaceAll(entry, `"/`, `"C:/`)
		}
		list = append(list, fmt.Sprintf(`{"id": %q, %s`, id, strings.TrimPrefix(strings.TrimSpace(entry), "{")))
	}
	return compileOn(t, h, fmt.Sprintf(`{version: 1, allowRootFilesystem: true, allowedRoots: [%q], commands: [%s]}`, root, strings.Join(list, ", ")))
}

// scope judges a path as the guard of the server does: component by component, and by
// what is there.
func (t tree) scope(cwd string) mcppolicy.Scope {
	if cwd == "" {
		cwd = vectorsRoot
	}
	return func(path string) error {
		if !strings.HasPrefix(path, "/") {
			path = cwd + "/" + path
		}
		at, missing := "/", false
		for part := range strings.SplitSeq(path, "/") {
			switch {
			case part == "" || part == ".":
				continue
			case part == ".." && missing:
				return errors.New("cannot be verified")
			}
			at = filepath.Join(at, part)
			if n, ok := t[at]; !ok {
				missing = true
			} else if n.link != "" {
				at = n.link
			}
		}
		if at != vectorsRoot && !strings.HasPrefix(at, vectorsRoot+"/") {
			return errors.New("outside")
		}
		return nil
	}
}
