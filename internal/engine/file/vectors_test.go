//go:build linux || darwin

package file

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
	"github.com/durward/durward/internal/pathguard"
	"github.com/durward/durward/internal/sandbox/confined"
)

type vectorFile struct {
	BaseSetup []vectorStep `json:"baseSetup"`
	Vectors   []vector     `json:"vectors"`
}

type vector struct {
	ID, Op, Path, Data, Encoding, Expect, Rule, Home, Cwd string
	Roots, OS                                             []string
	Setup                                                 []vectorStep
	Alt                                                   []struct{ Rule string }
	Create, Overwrite                                     *bool
	MaxMillis                                             int64            `json:"maxMillis"`
	WriteRules                                            []pathguard.Zone `json:"writeRules"`
	Policy                                                struct {
		DenyHardLinks bool  `json:"denyHardLinks"`
		DenyNetworkFS *bool `json:"denyNetworkFS"`
	}
	Mounts []struct{ Point, Type string }
	After  map[string]string
}

type vectorStep struct{ Dir, File, Content, Symlink, To, FIFO, Socket, Hardlink string }

// The vectors of Windows: what that calls names is refused there altogether.
var ofWindows = []string{"P073", "P074", "P075"}

func TestVectors(t *testing.T) {
	text, err := os.ReadFile("../../../testdata/vectors/path_guard.json")
	must(t, err)
	var file vectorFile
	must(t, json.Unmarshal(text, &file))
	ran := 0
	for _, v := range file.Vectors {
		if slices.Contains(ofWindows, v.ID) {
			continue
		}
		if len(v.OS) > 0 && !slices.Contains(v.OS, platform()) || len(v.Mounts) > 0 && runtime.GOOS != "linux" {
			continue
		}
		t.Run(v.ID, func(t *testing.T) { v.run(t, file.BaseSetup) })
		ran++
	}
	t.Logf("%d of %d vectors of paths", ran, len(file.Vectors))
}

func platform() string {
	if runtime.GOOS == "darwin" {
		return "macos"
	}
	return runtime.GOOS
}

func (v vector) run(t *testing.T, base []vectorStep) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for _, step := range append(slices.Clone(base), v.Setup...) {
		step.apply(t, top)
	}
	g := v.guard(t, top)
	before := snapshot(t, top)
	began := time.Now()
	err = v.do(t, g, strings.ReplaceAll(v.Path, "${T}", top))
	if took := time.Since(began); v.MaxMillis > 0 && took > time.Duration(v.MaxMillis)*time.Millisecond {
		t.Errorf("it took %v", took)
	}
	v.judge(t, err)
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

func (v vector) guard(t *testing.T, top string) *pathguard.Guard {
	in := func(text, otherwise string) string {
		if text == "" {
			text = otherwise
		}
		return strings.ReplaceAll(text, "${T}", top)
	}
	roots := []string{"${T}/root"}
	if len(v.Roots) > 0 {
		roots = slices.Clone(v.Roots)
	}
	for i := range roots {
		roots[i] = in(roots[i], "")
	}
	zones := slices.Clone(v.WriteRules)
	for i := range zones {
		zones[i].Path = in(zones[i].Path, "")
	}
	return guard(t, roots, pathguard.Options{
		Home: in(v.Home, "${T}/home"), Start: in(v.Cwd, "${T}/root"), Zones: zones,
		Rules: fsroot.Rules{
			DenyHardLinks:  v.Policy.DenyHardLinks,
			AllowNetworkFS: v.Policy.DenyNetworkFS != nil && !*v.Policy.DenyNetworkFS,
			Mounts:         v.mounts(top),
		},
	})
}

// do asks for what the vector asks for, where nothing else confines it.
func (v vector) do(t *testing.T, g *pathguard.Guard, path string) error {
	keeper := confined.New()
	t.Cleanup(func() { must(t, keeper.Close()) })
	input := map[string]any{"path": path}
	switch v.Op {
	case "gateway":
		_, err := g.JudgeForeign(t.Context(), path)
		return err
	case "cwd":
		access, err := keeper.Under(free)
		must(t, err)
		dir, err := g.OpenWorkingDir(t.Context(), access, path)
		if err == nil {
			must(t, dir.Close())
		}
		return err
	case "write":
		input["data"] = v.Data
		if v.Encoding != "" {
			input["encoding"] = v.Encoding
		}
		if v.Create != nil {
			input["create"] = *v.Create
		}
		if v.Overwrite != nil {
			input["overwrite"] = *v.Overwrite
		}
	}
	text, err := json.Marshal(input)
	must(t, err)
	does := map[string]Work{"write": Writes}[v.Op]
	_, err = call(t, keeper, Spec{Guard: g, Does: does}, free, string(text))
	return err
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
	e := durward.AsError(err)
	if v.Op == "gateway" && e != nil { // which tells by its rules
		e = &durward.Error{Reason: durward.Reason(e.Rule)}
	}
	if e == nil || !slices.Contains(words, string(e.Reason)) {
		t.Fatalf("%v, want one of %v", err, words)
	}
	if strings.Contains(err.Error(), "secret") && !strings.Contains(v.Path, "secret") {
		t.Errorf("%v tells where the path leads", err)
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
		socket(t, at(s.Socket))
	case s.Hardlink != "":
		must(t, os.Link(at(to), at(s.Hardlink)))
	}
}

// socket leaves a socket behind. It is bound by a short name, as sockets ask for one.
func socket(t *testing.T, path string) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	must(t, err)
	defer unix.Close(fd)
	short, err := os.MkdirTemp("", "s")
	must(t, err)
	defer os.Remove(short)
	must(t, unix.Bind(fd, &unix.SockaddrUnix{Name: short + "/s"}))
	must(t, os.Rename(short+"/s", path))
}
