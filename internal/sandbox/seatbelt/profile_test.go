package seatbelt

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward"
)

var update = flag.Bool("update", false, "write the golden files")

// readOnly and workspace are grants as the built-in policies of macOS make them.
func readOnly() durward.Grant {
	return durward.Grant{Mode: durward.ReadOnly, Files: durward.Files{
		Read: []string{"/bin", "/usr", "/Users/ada/site"}, Exec: []string{"/bin", "/usr"},
		Deny: []string{"/Users/ada/.ssh", "/Users/ada/site/.env"},
	}}
}

func workspace() durward.Grant {
	return durward.Grant{Mode: durward.WorkspaceWrite, Network: durward.Network{Mode: durward.NetLoopback}, Files: durward.Files{
		Read: []string{"/usr", "/Users/ada/src"}, Write: []string{durward.PrivateTmp, "/Users/ada/src"}, Exec: []string{"/usr"},
		Protect: []string{"/Users/ada/src/a/.git/hooks", "/Users/ada/src/.mcp.json"}, Deny: []string{"/Users/ada/src/keys/old"},
		Links: []durward.Link{{Path: "/work", To: "/Users/ada/src"}},
	}}
}

const tmp = "/private/var/folders/x/call"

func write(t *testing.T, g durward.Grant) string {
	t.Helper()
	profile, err := Profile(g, tmp)
	if err != nil {
		t.Fatal(err)
	}
	return profile
}

func TestGolden(t *testing.T) {
	for name, g := range map[string]durward.Grant{"readonly": readOnly(), "workspace": workspace()} {
		file := "testdata/" + name + ".sb"
		got := write(t, g)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// What a profile decides, by the rules of the language: the last match wins.
func TestDecides(t *testing.T) {
	const src = "/Users/ada/src"
	for _, test := range []struct {
		grant           durward.Grant
		operation, path string
		want            bool
	}{
		{readOnly(), "file-read-data", "/Users/ada/site/index.md", true},
		{readOnly(), "file-read-data", "/Users/ada/other", false},
		{readOnly(), "file-read-metadata", "/Users/ada", true},
		{readOnly(), "file-read-data", "/Users/ada", false},
		{readOnly(), "file-read-data", "/Users/ada/site/.env", false},
		{readOnly(), "file-read-data", "/Users/ada/site/.environment", true},
		{readOnly(), "file-read-data", "/Users/ada/.ssh/id", false},
		{readOnly(), "file-write-data", "/Users/ada/site/index.md", false},
		{readOnly(), "file-write-create", tmp + "/x", false},
		{readOnly(), "file-write-data", "/dev/null", true},
		{readOnly(), "process-exec", "/bin/ls", true},
		{readOnly(), "process-exec", "/Users/ada/site/run", false},
		{readOnly(), "network-outbound", "", false},
		{readOnly(), "mach-lookup", "", false},
		{readOnly(), "process-fork", "", true},

		{workspace(), "file-write-create", src + "/new", true},
		{workspace(), "file-write-create", tmp + "/x", true},
		{workspace(), "file-write-setugid", src + "/new", false},
		{workspace(), "file-write-create", src + "/.mcp.json", false},
		{workspace(), "file-write-create", src + "/.MCP.Json", false},
		{workspace(), "file-write-create", src + "/a/.git/hoo\u212As", false},
		{workspace(), "file-write-create", src + "/a/.git/hook\u017F/x", false},
		{workspace(), "file-write-create", src + "/a/.git/hooks/pre-commit", false},
		{workspace(), "file-write-create", src + "/a/.git/hooks2", true},
		{workspace(), "file-read-data", src + "/a/.git/hooks/pre-commit", true},
		{workspace(), "file-write-unlink", src + "/a/.git", false},
		{workspace(), "file-write-unlink", src + "/a", false},
		{workspace(), "file-write-unlink", src + "/a/.GIT", false},
		{workspace(), "file-write-unlink", src, false},
		{workspace(), "file-write-unlink", src + "/keys", false},
		{workspace(), "file-write-unlink", src + "/b", true},
		{workspace(), "file-write-create", src + "/a/.git/index", true},
		{workspace(), "file-read-data", src + "/keys/OLD/id", false},
		{workspace(), "file-read-metadata", "/work", true},
	} {
		if got := allows(t, write(t, test.grant), test.operation, test.path); got != test.want {
			t.Errorf("%s %q in %s: allowed %v, want %v", test.operation, test.path, test.grant.Mode, got, test.want)
		}
	}
}

// A grant that a profile would hold otherwise than it says has none.
func TestRefuses(t *testing.T) {
	for name, change := range map[string]func(*durward.Grant){
		"an allowlist":              func(g *durward.Grant) { g.Network.Mode = durward.NetAllowlist },
		"all of the network":        func(g *durward.Grant) { g.Network.Mode = durward.NetFull },
		"a network yet unknown":     func(g *durward.Grant) { g.Network.Mode = "some" },
		"a socket":                  func(g *durward.Grant) { g.Network.UnixSockets = []string{"/var/run/x"} },
		"all of the machine":        func(g *durward.Grant) { g.Files.HostReadOnly = true },
		"a copy":                    func(g *durward.Grant) { g.Files.CopyOnWrite = true },
		"a pattern":                 func(g *durward.Grant) { g.Files.DenyGlobs = []string{"/Users/ada/*.key"} },
		"read inside write":         func(g *durward.Grant) { g.Files.Read = []string{"/Users/ada/src/docs"} },
		"a relative path":           func(g *durward.Grant) { g.Files.Read = []string{"usr"} },
		"no path":                   func(g *durward.Grant) { g.Files.Deny = []string{""} },
		"a detour":                  func(g *durward.Grant) { g.Files.Write = []string{"/Users/ada/../eve"} },
		"a newline":                 func(g *durward.Grant) { g.Files.Read = []string{"/a\n(allow default)"} },
		"a carriage return":         func(g *durward.Grant) { g.Files.Read = []string{"/a\r"} },
		"a NUL":                     func(g *durward.Grant) { g.Files.Exec = []string{"/a\x00b"} },
		"a tab":                     func(g *durward.Grant) { g.Files.Protect = []string{"/a\tb"} },
		"an escape":                 func(g *durward.Grant) { g.Files.Deny = []string{"/a\x1b[0m"} },
		"what is not text":          func(g *durward.Grant) { g.Files.Deny = []string{"/a\xff"} },
		"a control of another kind": func(g *durward.Grant) { g.Files.Deny = []string{"/a\u0085b"} },
	} {
		g := workspace()
		change(&g)
		if profile, err := Profile(g, tmp); err == nil || profile != "" {
			t.Errorf("%s: there is a profile:\n%s", name, profile)
		}
	}
}

// Nothing in a name becomes a rule: it is read back as it was given, or refused.
func FuzzHostilePath(f *testing.F) {
	for _, seed := range []string{
		`/a"`, `/a\`, `/a\"`, `/a") (allow default) (deny file-read* (literal "/b`, `/a;b`, `/a#"b`, `/a(b`, `/a)b`, `/a|b`,
		"/a\nb", "/a\x00", "/a b", "/ä\u0308", "/\u017F\u212A", "/a.*", "/[", `/a\x41`, "/$", "/^", "/'", "/`",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		path := "/x" + name // neither around another path here nor within one: either would change the rules rightly
		g := durward.Grant{Files: durward.Files{
			Read: []string{"/r", path}, Write: []string{"/w", path}, Exec: []string{"/e", path}, Protect: []string{"/w/p", path}, Deny: []string{path, "/r/d"},
		}}
		profile, err := Profile(g, "")
		if err != nil {
			return
		}
		g.Files = durward.Files{Read: []string{"/r", "/x"}, Write: []string{"/w", "/x"}, Exec: []string{"/e", "/x"}, Protect: []string{"/w/p", "/x"}, Deny: []string{"/x", "/r/d"}}
		plain, err := Profile(g, "")
		if err != nil {
			t.Fatal(err)
		}
		if got, want := heads(t, profile), heads(t, plain); !slices.Equal(got, want) {
			t.Errorf("%q changed the rules: %q, want %q", path, got, want)
		}
		for _, operation := range []string{"file-read-data", "file-write-create", "process-exec"} {
			if allows(t, profile, operation, path) {
				t.Errorf("%s of %q is allowed, which is denied", operation, path)
			}
		}
	})
}

// heads gives the verdict and the operations of each rule.
func heads(t *testing.T, profile string) []string {
	rules, err := read(profile)
	if err != nil {
		t.Fatalf("%v:\n%s", err, profile)
	}
	var heads []string
	for _, r := range rules {
		var head []string
		for _, part := range r.(list) {
			if w, ok := part.(word); ok {
				head = append(head, w.text)
			}
		}
		heads = append(heads, strings.Join(head, " "))
	}
	return heads
}

func TestArgv(t *testing.T) {
	got := Argv("(version 1)", "/bin/ls", []string{"ls", "-l", "--", "-p"})
	want := []string{"/usr/bin/sandbox-exec", "-p", "(version 1)", "/bin/ls", "-l", "--", "-p"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
