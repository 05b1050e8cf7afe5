package landlock

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/durward/durward"
)

func TestFor(t *testing.T) {
	tests := []struct {
		name, tmp  string
		grant      durward.Grant
		want, gaps string
	}{
		{
			name: "read-only", tmp: "/tmp/d1",
			grant: durward.Grant{Mode: durward.ReadOnly, Files: durward.Files{
				Read: []string{"/usr", "/work"}, Write: []string{durward.PrivateTmp}, Exec: []string{"/usr", durward.PrivateTmp},
				Deny: []string{"/home/u/.ssh", "/etc/shadow"}, DenyGlobs: []string{"/etc/sudoers*"}, Protect: []string{"/work/.git/hooks"},
			}},
			want: `/dev/full: read, if it exists
/dev/null: device, if it exists
/dev/random: read, if it exists
/dev/urandom: read, if it exists
/dev/zero: read, if it exists
/tmp/d1: read write execute
/usr: read execute
/work: read
network: none
signals, abstract sockets: own processes only
`,
		},
		{
			name: "workspace-write",
			grant: durward.Grant{Mode: durward.WorkspaceWrite, Files: durward.Files{
				Read: []string{"/usr", "/work/lib", "/work/out"}, Write: []string{"/work", "/work/out"}, Exec: []string{"/usr"},
				Deny: []string{"/usr/secret", "/work/.env", "/usr/share/x"}, DenyGlobs: []string{"/work/**/*.key", "/var/*"}, Protect: []string{"/work/.git/hooks", "/home/u/.profile"},
			}, Network: durward.Network{Mode: durward.NetAllowlist, UnixSockets: []string{"/run/s"}}},
			want: `/dev/full: device, if it exists
/dev/null: device, if it exists
/dev/random: read, if it exists
/dev/tty: device, if it exists
/dev/urandom: read, if it exists
/dev/zero: device, if it exists
/run/s: connect
/usr: read execute
/work: read write
/work/lib: read
/work/out: read write
network: as before
signals, abstract sockets: own processes only
`,
			gaps: `deny /usr/secret (fs.read)
deny /usr/share/x (fs.read)
deny /work/.env (fs.read fs.write)
deny /work/**/*.key (fs.read fs.write)
protect /work/.git/hooks (fs.write)
read-only /work/lib (fs.write)
network allowlist (net)`,
		},
		{
			name: "what is taken back as a whole is not given", tmp: "/tmp/d1",
			grant: durward.Grant{Mode: durward.WorkspaceWrite, Files: durward.Files{
				Read: []string{"/a", "/b"}, Write: []string{"/b/w", "/c", durward.PrivateTmp}, Exec: []string{"/a"},
				Deny: []string{"/a", "/dev", "/tmp"}, Protect: []string{"/c"},
			}},
			want: `/b: read
/b/w: read write
/c: read
/tmp/d1: read write
network: none
signals, abstract sockets: own processes only
`,
		},
		{
			name: "all of the host to read",
			grant: durward.Grant{Mode: durward.WorkspaceWrite, Files: durward.Files{
				Read: []string{"/"}, Write: []string{"/w\n/x: read"}, Deny: []string{"/dev", "/etc/shadow"}, DenyGlobs: []string{"/run/user/*/keyring"}, CopyOnWrite: true,
			}, Network: durward.Network{Mode: durward.NetFull}},
			want: `/: read
"/w\n/x: read": read write
network: as before
signals, abstract sockets: own processes only
`,
			gaps: `deny /dev (fs.read)
deny /etc/shadow (fs.read)
deny /run/user/*/keyring (fs.read)
copy on write (fs.write)`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, gaps, err := For(test.grant, test.tmp)
			must(t, err)
			if got := r.String(); got != test.want {
				t.Errorf("got\n%swant\n%s", got, test.want)
			}
			if got := strings.ReplaceAll(joined(gaps), ", ", "\n"); got != test.gaps {
				t.Errorf("gaps\n%s\nwant\n%s", got, test.gaps)
			}
		})
	}
}

func TestForRefuses(t *testing.T) {
	for name, g := range map[string]durward.Grant{
		"a mode that confines no files":  {Mode: durward.DangerFullAccess},
		"an outer sandbox":               {Mode: durward.External},
		"no mode":                        {},
		"a write set in mode read-only":  {Mode: durward.ReadOnly, Files: durward.Files{Write: []string{"/w"}}},
		"a temporary directory it lacks": {Mode: durward.ReadOnly, Files: durward.Files{Write: []string{durward.PrivateTmp}}},
	} {
		if r, _, err := For(g, ""); durward.ReasonOf(err) != durward.SandboxError || len(r.Paths) > 0 {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
}

// Whatever the rules give beyond the sets of the grant is named by a gap, and they give
// all that the sets do.
func TestForGivesNothingUnnamed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := durward.Grant{Mode: durward.WorkspaceWrite, Files: durward.Files{
			Read: paths(t, "read"), Write: paths(t, "write"), Deny: paths(t, "deny"), Protect: paths(t, "protect"),
			DenyGlobs: rapid.SliceOfN(rapid.SampledFrom([]string{"/a/*", "/*/b", "/**/c", "/a/[bc]/c"}), 0, 2).Draw(t, "globs"),
		}}
		r, gaps, err := For(g, "/private")
		if err != nil {
			t.Fatal(err)
		}
		broken := make(map[durward.Guarantee]bool)
		for _, gap := range gaps {
			for _, guarantee := range gap.Breaks {
				broken[guarantee] = true
			}
		}
		for _, path := range allPaths() {
			given, wanted := union(r, path), wanted(g.Files, path)
			if extra := given &^ wanted; extra&Read != 0 && !broken[durward.FSRead] || extra&Write != 0 && !broken[durward.FSWrite] {
				t.Errorf("%s: %s beyond %s, and no gap names it: %v", path, extra, wanted, gaps)
			}
			if lacks := wanted &^ given; lacks != 0 {
				t.Errorf("%s: %s is not given", path, lacks)
			}
		}
	})
}

// allPaths are those of a small tree.
func allPaths() []string {
	list := []string{"/"}
	for _, a := range "abc" {
		list = append(list, fmt.Sprintf("/%c", a))
		for _, b := range "abc" {
			list = append(list, fmt.Sprintf("/%c/%c", a, b))
			for _, c := range "abc" {
				list = append(list, fmt.Sprintf("/%c/%c/%c", a, b, c))
			}
		}
	}
	return list
}

func paths(t *rapid.T, label string) []string {
	return rapid.SliceOfN(rapid.SampledFrom(allPaths()), 0, 3).Draw(t, label)
}

// union is what the kernel makes of the rules: the sum of those on the way to the root.
func union(r Rules, path string) Right {
	var all Right
	for _, rule := range r.Paths {
		if lies(rule.Path, path) {
			all |= rule.Rights & (Read | Write)
		}
	}
	return all
}

func lies(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// wanted is what the sets mean for a path: the longest entry decides, write where both
// are as long, and Deny and Protect take back.
func wanted(f durward.Files, path string) Right {
	within := func(dirs []string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return lies(dir, path) })
	}
	longest := func(dirs []string) int {
		n := -1
		for _, dir := range dirs {
			if lies(dir, path) {
				n = max(n, len(dir))
			}
		}
		return n
	}
	read, write := longest(f.Read), longest(f.Write)
	switch {
	case within(f.Deny) || matched(f.DenyGlobs, path):
		return 0
	case write >= 0 && write >= read && !within(f.Protect):
		return Read | Write
	case max(read, write) >= 0:
		return Read
	}
	return 0
}

// matched reports whether a pattern matches a path or one that it lies in.
func matched(globs []string, path string) bool {
	for ; path != "/"; path = filepath.Dir(path) {
		for _, glob := range globs {
			if ok, _ := filepath.Match(glob, path); ok {
				return true
			}
			if glob == "/**/c" && filepath.Base(path) == "c" {
				return true
			}
		}
	}
	return false
}
