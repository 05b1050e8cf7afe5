//go:build linux || darwin

package pathguard

import (
	"os"
	"testing"

	"github.com/durward/durward"
)

func TestZones(t *testing.T) {
	top := plant(t, map[string]string{
		"root/zone/deep/a": "", "root/flat/sub/a": "", "root/flat/a": "", "root/one": "", "root/zonelink": "-> zone", "root/zone-evil/a": "",
	})
	o := Options{Home: top + "/root", Zones: []Zone{
		{Path: "~/zone", Recursive: true, MaxFileBytes: 1},
		{Path: top + "/root/zone/deep", Recursive: true, MaxFileBytes: 2},
		{Path: top + "/root/zonelink/deep/", Recursive: true, MaxFileBytes: 3},
		{Path: top + "/root/flat", MaxFileBytes: 4},
		{Path: top + "/root/one", MaxFileBytes: 5},
		{Path: top + "/root/new/er", Recursive: true, CreateIfMissing: true},
	}}
	g := open(t, o, top+"/root")
	for path, want := range map[string]int64{
		"/root/zone/x":          1,
		"/root/zone/deeper/x":   1,
		"/root/zone/deep":       1, // a file of that name lies in zone
		"/root/zone/deep/x":     2,
		"/root/zone/deep/y/x":   2,
		"/root/zone-evil/x":     0,
		"/root/zone":            0,
		"/root/x":               0,
		"/root/flat/x":          4,
		"/root/flat/sub/x":      0,
		"/root/flat":            4,
		"/root/one":             5,
		"/root/one/x":           5,
		"/root/new/er/and/er/x": DefaultMaxFileBytes,
		"/root/new/x":           0,
	} {
		got := int64(0)
		if zone := g.zoneOf(top + path); zone >= 0 {
			got = g.o.Zones[zone].MaxFileBytes
		}
		if got != want {
			t.Errorf("%s may have %d bytes, want %d", path, got, want)
		}
	}
	if o.Zones[0].Path != "~/zone" {
		t.Error("the caller's zones are changed")
	}
}

// What is kept nobody writes, by whatever name it was said, whatever zone is around it.
func TestWhatIsKept(t *testing.T) {
	top := plant(t, map[string]string{"root/policy": "p", "root/state/a": "a", "root/policy-2": "", "link": "-> root/policy", "dir": "-> root"})
	for _, kept := range [][]string{
		{top + "/root/policy", top + "/root/state"}, {top + "/link", top + "/dir/state"}, {top + "/root/state/../policy", top + "/root/state/"},
	} {
		g := open(t, Options{Zones: []Zone{{Path: top + "/root", Recursive: true}, {Path: top + "/root/policy"}}, Kept: kept}, top+"/root")
		files := unconfined(t)
		for path, want := range map[string]durward.Reason{
			"/root/policy": durward.OutsideZones, "/dir/policy": durward.OutsideZones, "/root/./state/a": durward.OutsideZones,
			"/root/state/new": durward.OutsideZones, "/root/state": durward.NotRegularFile, "/root/policy-2": "", "/root/state-2": "",
		} {
			err := g.WriteFile(t.Context(), files, top+path, []byte("new"), WriteOptions{Overwrite: true})
			if got := durward.ReasonOf(err); got != want {
				t.Errorf("%s, where %q is kept: %q (%v), want %q", path, kept, got, err, want)
			}
		}
	}
	for name, want := range map[string]string{"policy": "p", "state/a": "a"} {
		if got, err := os.ReadFile(top + "/root/" + name); string(got) != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	if _, err := os.Lstat(top + "/root/state/new"); !os.IsNotExist(err) {
		t.Errorf("something was made: %v", err)
	}
}

func TestZonesThatAreRefused(t *testing.T) {
	top := plant(t, map[string]string{"root/zone/": "", "outside/": "", "root/out": "-> ../outside", "root/dangling": "-> none/er"})
	for _, tt := range []struct {
		name string
		zone Zone
		want durward.Reason
	}{
		{"outside", Zone{Path: top + "/outside"}, durward.PolicyInvalid},
		{"a link that leads outside", Zone{Path: top + "/root/out"}, durward.PolicyInvalid},
		{"missing", Zone{Path: top + "/root/none"}, durward.PolicyInvalid},
		{"missing outside", Zone{Path: top + "/none", CreateIfMissing: true}, durward.PolicyInvalid},
		{"relative", Zone{Path: "zone"}, durward.PolicyInvalid},
		{"empty", Zone{}, durward.EmptyPath},
		{"behind what is missing", Zone{Path: top + "/root/none/../zone", CreateIfMissing: true}, durward.DotDotInMissingPath},
	} {
		g, err := Open([]string{top + "/root"}, Options{Zones: []Zone{tt.zone}})
		wantReason(t, tt.name, err, tt.want)
		if g != nil {
			t.Errorf("%s: opened", tt.name)
		}
	}
	open(t, Options{Zones: []Zone{{Path: top + "/root/dangling", CreateIfMissing: true}}}, top+"/root")
}

// A zone that is not there yet is made with the first file, for its owner alone.
func TestAZoneIsMade(t *testing.T) {
	top := plant(t, map[string]string{"root/": ""})
	g, files := open(t, Options{Zones: []Zone{{Path: top + "/root/new/er", Recursive: true, CreateIfMissing: true}}}, top+"/root"), unconfined(t)
	before := snapshot(t, top)
	must(t, g.JudgeWrite(t.Context(), files, top+"/root/new/er/and/x", 1, WriteOptions{}))
	wantReason(t, "above the zone", g.WriteFile(t.Context(), files, top+"/root/new/x", []byte("x"), WriteOptions{}), durward.OutsideZones)
	wantReason(t, "without create", g.WriteFile(t.Context(), files, top+"/root/new/er/x", nil, WriteOptions{NoCreate: true}), durward.FileNotFound)
	unchanged(t, top, before)
	must(t, g.WriteFile(t.Context(), files, top+"/root/new/er/and/x", []byte("x"), WriteOptions{}))
	for _, dir := range []string{"/root/new", "/root/new/er", "/root/new/er/and"} {
		if st, err := os.Stat(top + dir); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, st.Mode(), err)
		}
	}
}

func TestWhatIsNoFileIsNotWritten(t *testing.T) {
	top := plant(t, map[string]string{"root/sub/a": "a", "root/link": "-> sub", "root/dangling": "-> none", "outside/": ""})
	must(t, os.Link(top+"/root/sub/a", top+"/root/hard"))
	o := Options{Zones: []Zone{{Path: top + "/root", Recursive: true}}}
	g, files := open(t, o, top+"/root"), unconfined(t)
	o.Rules.DenyHardLinks = true
	strict := open(t, o, top+"/root")
	before := snapshot(t, top)
	for _, tt := range []struct {
		g    *Guard
		path string
		want durward.Reason
	}{
		{g, "/root", durward.NotRegularFile},
		{g, "/root/", durward.NotRegularFile},
		{g, "/root/sub", durward.NotRegularFile},
		{g, "/root/sub/.", durward.NotRegularFile},
		{g, "/root/sub/..", durward.NotRegularFile},
		{g, "/root/sub/../..", durward.OutsideRoot},
		{g, "/outside/", durward.OutsideRoot},
		{g, "/none/", durward.OutsideRoot},
		{g, "/root/none/", durward.FileNotFound},
		{g, "/root/sub/a/", durward.NotADirectory},
		{g, "/root/sub/a/x", durward.NotADirectory},
		{g, "/root/link", durward.SymlinkTarget},
		{g, "/root/link/", durward.NotRegularFile},
		{g, "/root/dangling", durward.SymlinkTarget},
		{g, "/root/none/x", durward.ParentMissing},
		{g, "/root/none/../x", durward.DotDotInMissingPath},
		{strict, "/root/hard", durward.HardLink},
	} {
		how := WriteOptions{Overwrite: true, AllowHardLink: true}
		wantReason(t, tt.path, tt.g.JudgeWrite(t.Context(), files, top+tt.path, 1, how), tt.want)
		wantReason(t, tt.path, tt.g.WriteFile(t.Context(), files, top+tt.path, []byte("x"), how), tt.want)
	}
	wantReason(t, "hard", g.WriteFile(t.Context(), files, top+"/root/hard", []byte("x"), WriteOptions{Overwrite: true}), durward.HardLink)
	unchanged(t, top, before)
	must(t, g.WriteFile(t.Context(), files, top+"/root/link/new", []byte("x"), WriteOptions{}))
}
