//go:build linux || darwin

package fsroot

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/durward/durward"
	"golang.org/x/sys/unix"
)

type vectorFile struct {
	BaseSetup []vectorStep `json:"baseSetup"`
	Vectors   []vector     `json:"vectors"`
}

type vector struct {
	ID, Op, Path, Data, Expect, Rule string
	Roots, OS                        []string
	Setup                            []vectorStep
	Alt                              []struct{ Rule string }
	Create                           *bool
	Overwrite                        bool
	WriteRules                       []struct {
		CreateIfMissing bool  `json:"createIfMissing"`
		MaxFileBytes    int64 `json:"maxFileBytes"`
	} `json:"writeRules"`
	Policy struct {
		DenyHardLinks bool `json:"denyHardLinks"`
	}
	After map[string]string
}

type vectorStep struct{ Dir, File, Content, Symlink, To, FIFO, Socket, Hardlink string }

// elsewhere are the vectors that one root cannot answer: they take several roots, an absolute
// path, a home or start directory, a mount table, zones or an encoding. The engine for files
// runs them, and names those that belong to a gateway or to Windows.
var elsewhere = []string{
	"P003", "P004", "P009", "P012", "P022", "P023", "P024", "P025", "P026", "P028", "P029", "P030", "P031", "P040", "P054",
	"P055", "P056", "P057", "P058", "P059", "P064", "P067", "P068", "P069", "P070", "P071", "P072", "P073", "P074", "P075",
	"P077", "P084", "P088", "P090", "P092", "P095", "P096", "P097", "P098", "P100", "P101", "P102", "P104", "P105", "P106",
	"P107", "P108", "P109", "P110", "P111", "P112", "P113", "P114", "P115", "P116", "P117", "P118", "P119", "P120",
}

func TestVectors(t *testing.T) {
	text, err := os.ReadFile("../../testdata/vectors/path_guard.json")
	must(t, err)
	var file vectorFile
	must(t, json.Unmarshal(text, &file))
	for _, v := range file.Vectors {
		if slices.Contains(elsewhere, v.ID) {
			continue
		}
		t.Run(v.ID, func(t *testing.T) {
			eachOpener(t, func(t *testing.T, by opener) { v.run(t, file.BaseSetup, by) })
		})
	}
}

func (v vector) run(t *testing.T, base []vectorStep, by opener) {
	if len(v.OS) > 0 && !slices.Contains(v.OS, platform()) {
		return
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for _, step := range append(slices.Clone(base), v.Setup...) {
		step.apply(t, top)
	}
	root := "${T}/root"
	if len(v.Roots) > 0 {
		root = v.Roots[0]
	}
	dir := strings.ReplaceAll(root, "${T}", top)
	before := snapshot(t, top)
	v.judge(t, v.do(t, open(t, dir, by), v.nameIn(root)))
	if v.Expect != "allow" {
		unchanged(t, top, before)
	}
	for name, want := range v.After {
		got, err := os.ReadFile(filepath.Join(top, name))
		must(t, err)
		if string(got) != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
}

func platform() string {
	if runtime.GOOS == "darwin" {
		return "macos"
	}
	return runtime.GOOS
}

// nameIn gives the path as a name in the root. Only the text of the root is taken off;
// a path that does not begin with it leaves the root, as written.
func (v vector) nameIn(root string) string {
	if v.Path == "" {
		return ""
	}
	if v.Path == root {
		return "."
	}
	if name, ok := strings.CutPrefix(v.Path, root+"/"); ok {
		return name
	}
	return "../" + strings.TrimPrefix(v.Path, "${T}/")
}

func (v vector) do(t *testing.T, r *Root, name string) error {
	switch v.Op {
	case "read":
		_, err := read(r, name, Rules{DenyHardLinks: v.Policy.DenyHardLinks})
		return err
	case "cwd":
		d, err := r.OpenDir(name, Rules{})
		if err == nil {
			d.Close()
		}
		return err
	case "write":
		_, err := r.WriteFile(t.Context(), name, strings.NewReader(v.Data), WriteOptions{
			Rules:         Rules{MaxBytes: v.WriteRules[0].MaxFileBytes},
			Overwrite:     v.Overwrite,
			NoCreate:      v.Create != nil && !*v.Create,
			CreateParents: v.WriteRules[0].CreateIfMissing,
		})
		return err
	}
	t.Fatalf("no such operation: %s", v.Op)
	return nil
}

func (v vector) judge(t *testing.T, err error) {
	t.Helper()
	if v.Expect == "allow" {
		must(t, err)
		return
	}
	words := []string{v.Rule}
	for _, alt := range v.Alt {
		words = append(words, alt.Rule)
	}
	if got := string(durward.ReasonOf(err)); !slices.Contains(words, got) {
		t.Errorf("%v (%s), want one of %v", err, got, words)
	}
}

func (s vectorStep) apply(t *testing.T, top string) {
	at := func(name string) string { return filepath.Join(top, name) }
	to := strings.ReplaceAll(s.To, "${T}", top)
	switch {
	case s.Dir != "":
		must(t, os.Mkdir(at(s.Dir), 0o755))
	case s.File != "":
		must(t, os.WriteFile(at(s.File), []byte(s.Content), 0o644))
	case s.Symlink != "":
		must(t, os.Symlink(to, at(s.Symlink)))
	case s.FIFO != "":
		must(t, unix.Mkfifo(at(s.FIFO), 0o644))
	case s.Socket != "":
		tree{root: top}.socket(t, s.Socket)
	case s.Hardlink != "":
		must(t, os.Link(at(to), at(s.Hardlink)))
	}
}
