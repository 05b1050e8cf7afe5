package object

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward"
)

var (
	forProcess = Environment{Cwd: "/ws/sub", ServerCwd: "/srv", TmpDir: "/var/tmp/me"}
	forFile    = Environment{ServerCwd: "/srv", TmpDir: "/var/tmp/me"}
)

// said writes entries short: "write /ws", "read @platform", "deny /ws :: *.env", with "?"
// where a missing path is left out.
func said(c *durward.Confinement) []string {
	if c == nil {
		return nil
	}
	list := []string{string(c.Mode) + " " + string(c.Network)}
	for _, e := range c.Entries {
		line := string(e.Access) + " " + e.Path
		if e.Platform {
			line += "@platform"
		}
		if e.Pattern != "" {
			line += " :: " + e.Pattern
		}
		if e.IfThere {
			line += " ?"
		}
		list = append(list, line)
	}
	return list
}

func protectedIn(root string) []string {
	return []string{"protect " + root + "/.git", "protect " + root + "/.agents", "protect " + root + "/.codex"}
}

func lines(lists ...any) []string {
	var all []string
	for _, l := range lists {
		switch l := l.(type) {
		case string:
			all = append(all, l)
		case []string:
			all = append(all, l...)
		}
	}
	return all
}

func TestWhatObjectsAskFor(t *testing.T) {
	workspace := lines("workspace-write none", "write /ws/sub", "write /tmp ?", "write /var/tmp/me ?", "read /",
		protectedIn("/ws/sub"), protectedIn("/tmp"), protectedIn("/var/tmp/me"))
	for _, tt := range []struct {
		name, object string
		env          Environment
		want         []string
	}{
		{"nothing", ``, forProcess, nil},
		{"null", `null`, forProcess, nil},

		{"full access", `{"sandboxPolicy":{"type":"danger-full-access"}}`, forProcess, lines("danger-full-access full")},
		{"full access in the other spelling", `{"sandboxPolicy":{"type":"dangerFullAccess"}}`, forFile, lines("danger-full-access full")},
		{"full access has nothing to add to", `{"sandboxPolicy":{"type":"danger-full-access"},"additionalPermissions":{"file_system":{"write":["/x"]}}}`, forFile, lines("danger-full-access full")},
		{"full access written out", `{"sandboxPolicy":{"type":"danger-full-access","network_access":true,"access":null,"writable_roots":null}}`, forFile, lines("danger-full-access full")},
		{"full access written out in words", `{"sandboxPolicy":{"type":"danger-full-access","network_access":"enabled"}}`, forFile, lines("danger-full-access full")},
		{"external", `{"sandboxPolicy":{"type":"external-sandbox"}}`, forProcess, lines("external none")},
		{"external with a network", `{"sandboxPolicy":{"type":"externalSandbox","networkAccess":"enabled"}}`, forProcess, lines("external full")},

		{"read-only", `{"sandboxPolicy":{"type":"read-only"}}`, forProcess, lines("read-only none", "read /")},
		{"read-only with everything written out", `{"sandboxPolicy":{"type":"read-only","access":{"type":"full-access"},"network_access":false},"windowsSandboxLevel":"disabled","windowsSandboxPrivateDesktop":false,"useLegacyLandlock":false,"additionalPermissions":null}`, forProcess, lines("read-only none", "read /")},
		{"read-only with a network", `{"sandboxPolicy":{"type":"readOnly","networkAccess":true}}`, forProcess, lines("read-only full", "read /")},
		{"null members", `{"sandboxPolicy":{"type":"read-only","access":null,"network_access":null},"permissions":null}`, forProcess, lines("read-only none", "read /")},
		{"unknown members", `{"sandboxPolicy":{"type":"read-only","later":{"a":[1]}},"later":1}`, forProcess, lines("read-only none", "read /")},
		{
			"restricted reading by a process", `{"sandboxPolicy":{"type":"read-only","access":{"type":"restricted","include_platform_defaults":true,"readable_roots":["/a","file:///b%20c"]}}}`, forProcess,
			lines("read-only none", "read @platform", "read /a", "read /b c", "read /ws/sub ?"),
		},
		{"restricted reading of a file", `{"sandboxPolicy":{"type":"read-only","access":{"type":"restricted","include_platform_defaults":false,"readable_roots":["/a/../b"]}}}`, forFile, lines("read-only none", "read /b")},
		{"restricted reading that says no more", `{"sandboxPolicy":{"type":"read-only","access":{"type":"restricted"}}}`, forFile, lines("read-only none", "read @platform")},

		{"workspace-write", `{"sandboxPolicy":{"type":"workspace-write"}}`, forProcess, workspace},
		{"workspace-write in the other spelling", `{"sandboxPolicy":{"type":"workspaceWrite","writableRoots":[],"readOnlyAccess":{"type":"fullAccess"},"networkAccess":false,"excludeTmpdirEnvVar":false,"excludeSlashTmp":false}}`, forProcess, workspace},
		{
			"workspace-write of less", `{"sandboxPolicy":{"type":"workspace-write","writable_roots":["/other"],"read_only_access":{"type":"restricted","include_platform_defaults":true,"readable_roots":["/doc","/other/in"]},"network_access":true,"exclude_tmpdir_env_var":true,"exclude_slash_tmp":true}}`, forProcess,
			lines("workspace-write full", "write /ws/sub", "write /other", "read @platform", "read /doc", protectedIn("/ws/sub"), protectedIn("/other")),
		},
		{
			"workspace-write of a file is about the object's directory", `{"sandboxPolicy":{"type":"workspace-write","exclude_tmpdir_env_var":true,"exclude_slash_tmp":true},"cwd":"/named"}`, forFile,
			lines("workspace-write none", "write /named", "read /", protectedIn("/named")),
		},
		{
			"and else about the server's", `{"sandboxPolicy":{"type":"workspace-write","exclude_tmpdir_env_var":true,"exclude_slash_tmp":true}}`, forFile,
			lines("workspace-write none", "write /srv", "read /", protectedIn("/srv")),
		},
		{
			"a TMPDIR that is no absolute path", `{"sandboxPolicy":{"type":"workspace-write","exclude_slash_tmp":true}}`,
			Environment{Cwd: "/ws", TmpDir: "tmp"},
			lines("workspace-write none", "write /ws", "read /", protectedIn("/ws")),
		},

		{
			"additional permissions", `{"sandboxPolicy":{"type":"read-only"},"additionalPermissions":{"network":{"enabled":true},"file_system":{"read":["/r"],"write":["/w"]}}}`, forFile,
			lines("workspace-write full", "read /", "write /w", "read /r", protectedIn("/w")),
		},
		{"no additional permissions", `{"sandboxPolicy":{"type":"read-only"},"additionalPermissions":{"network":null,"file_system":{"read":null,"write":null}}}`, forFile, lines("read-only none", "read /")},
		{"no network is no more", `{"sandboxPolicy":{"type":"read-only","network_access":true},"additionalPermissions":{"network":{"enabled":false},"fileSystem":null}}`, forFile, lines("read-only full", "read /")},

		{"disabled", `{"permissions":{"type":"disabled"},"windowsSandboxLevel":"disabled"}`, forProcess, lines("danger-full-access full")},
		{"disabled written out", `{"permissions":{"type":"disabled","file_system":null,"network":"enabled"},"windowsSandboxLevel":"disabled"}`, forProcess, lines("danger-full-access full")},
		{"newer external", `{"permissions":{"type":"external","network":"restricted"},"windowsSandboxLevel":"disabled"}`, forProcess, lines("external none")},
		{"unrestricted files", managed(`{"type":"unrestricted","entries":[]}`), forProcess, lines("danger-full-access none")},
		{"nothing at all", managed(`{"type":"restricted","entries":[]}`), forProcess, lines("read-only none")},
		{"a depth", managed(`{"type":"restricted","entries":[],"glob_scan_max_depth":3}`), forProcess, lines("read-only none")},

		{"root read", entries(kind(`"root"`, "read")), forProcess, lines("read-only none", "read /")},
		{"root write", entries(kind(`"root"`, "write")), forProcess, lines("workspace-write none", "write /", protectedIn(""))},
		{"minimal", entries(kind(`"minimal"`, "read")), forProcess, lines("read-only none", "read @platform")},
		{
			"roots of the workspace", entries(kind(`"project_roots"`, "write"), `"workspaceRoots":["/a","file:///b"]`), forProcess,
			lines("workspace-write none", "write /a", "write /b", protectedIn("/a"), protectedIn("/b")),
		},
		{"roots of the context", entries(kind(`"project_roots"`, "read"), `"cwd":"/c","policyContext":{"cwd":"/d","workspaceRoots":["/e"]}`), forFile, lines("read-only none", "read /e")},
		{"the object's directory", entries(kind(`"current_working_directory"`, "read"), `"cwd":"/c","policyContext":{"cwd":"/d","workspaceRoots":[]}`), forProcess, lines("read-only none", "read /c")},
		{"the context's directory", entries(kind(`"project_roots"`, "read"), `"policyContext":{"cwd":"/d"}`), forProcess, lines("read-only none", "read /d")},
		{"the process's directory", entries(kind(`"project_roots"`, "read")), forProcess, lines("read-only none", "read /ws/sub")},
		{"a path beneath", entries(`{"path":{"type":"special","value":{"kind":"project_roots","subpath":"x/./y"}},"access":"read","missing_path_behavior":"skip"}`), forProcess, lines("read-only none", "read /ws/sub/x/y ?")},
		{"TMPDIR", entries(kind(`"tmpdir"`, "read")), forFile, lines("read-only none", "read /var/tmp/me")},
		{"named temporary directories", entries(kind(`"tmpdir"`, "read"), `"temporaryDirectories":["/t1","/t2"]`), forFile, lines("read-only none", "read /t1", "read /t2")},
		{"no TMPDIR", entries(kind(`"tmpdir"`, "read")), Environment{ServerCwd: "/"}, lines("read-only none")},
		{"slash_tmp", entries(kind(`"slash_tmp"`, "read")), forFile, lines("read-only none", "read /tmp")},
		{"a path", entries(`{"path":{"type":"path","path":"file:///a/%62"},"access":"deny"}`), forFile, lines("read-only none", "deny /a/b")},
		{"none is deny", entries(`{"path":{"type":"path","path":"/a"},"access":"none","missing_path_behavior":null}`), forFile, lines("read-only none", "deny /a")},
		{"a pattern", entries(glob("/a/**/*.env")), forFile, lines("read-only none", "deny / :: a/**/*.env")},
		{"a pattern of the workspace", entries(glob("./**//[!a].env"), `"workspaceRoots":["/w[1]","/v"]`), forFile, lines("read-only none", "deny /w[1] :: **/[^a].env", "deny /v :: **/[^a].env")},
		{"a pattern of the workspace as codex writes it", entries(glob("codex-project-roots://**/*.env"), `"workspaceRoots":["/w","/v"]`), forFile, lines("read-only none", "deny /w :: **/*.env", "deny /v :: **/*.env")},
		{"a pattern without wildcards", entries(glob("secret/x"), `"cwd":"/c"`), forFile, lines("read-only none", "deny /c/secret/x")},
		{"the same root named twice", entries(kind(`"project_roots"`, "read"), `"workspaceRoots":["/a","/a/","/b"],"policyContext":{"workspaceRoots":["/b","/a"]}`), forFile, lines("read-only none", "read /a", "read /b")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Parse(json.RawMessage(tt.object), tt.env)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, said(c)); diff != "" {
				t.Errorf("%s\n%s", tt.object, diff)
			}
			for _, e := range entriesOf(c) {
				if !strings.HasPrefix(e.Member, "sandbox.") {
					t.Errorf("%v names no member", e)
				}
			}
		})
	}
}

func entriesOf(c *durward.Confinement) []durward.Entry {
	if c == nil {
		return nil
	}
	return c.Entries
}

func managed(files string) string {
	return `{"permissions":{"type":"managed","file_system":` + files + `,"network":"restricted"},"windowsSandboxLevel":"disabled"}`
}

// entries gives an object with one entry, and with other members.
func entries(entry string, members ...string) string {
	return strings.TrimSuffix(managed(`{"type":"restricted","entries":[`+entry+`]}`), "}") + strings.Join(append([]string{""}, members...), ",") + "}"
}

func kind(kind, access string) string {
	return `{"path":{"type":"special","value":{"kind":` + kind + `}},"access":"` + access + `"}`
}

func glob(pattern string) string {
	text, _ := json.Marshal(pattern)
	return `{"path":{"type":"glob_pattern","pattern":` + string(text) + `},"access":"deny"}`
}

func TestWhatIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name, object string
		want         durward.Reason
	}{
		{"a string", `"read-only"`, durward.WrongType},
		{"a list", `[]`, durward.WrongType},
		{"a repeated member", `{"permissions":{"type":"disabled"},"permissions":{"type":"disabled"},"windowsSandboxLevel":"disabled"}`, durward.WrongType},
		{"an empty object", `{}`, durward.MissingField},
		{"another case", `{"Permissions":{"type":"disabled"},"windowsSandboxLevel":"disabled"}`, durward.MissingField},
		{"both forms", `{"sandboxPolicy":{"type":"read-only"},"permissions":{"type":"disabled"},"windowsSandboxLevel":"disabled"}`, durward.WrongType},

		{"no type", `{"sandboxPolicy":{}}`, durward.MissingField},
		{"an unknown type", `{"sandboxPolicy":{"type":"read_only"}}`, durward.WrongType},
		{"a policy that is a word", `{"sandboxPolicy":"read-only"}`, durward.WrongType},
		{"a network that is a word", `{"sandboxPolicy":{"type":"read-only","network_access":"enabled"}}`, durward.WrongType},
		{"a network that is no word", `{"sandboxPolicy":{"type":"external-sandbox","network_access":true}}`, durward.WrongType},
		{"an unknown network", `{"sandboxPolicy":{"type":"external-sandbox","network_access":"some"}}`, durward.WrongType},
		{"two spellings", `{"sandboxPolicy":{"type":"workspace-write","writable_roots":[],"writableRoots":["/"]}}`, durward.WrongType},
		{"two spellings of access", `{"sandboxPolicy":{"type":"workspace-write","read_only_access":{"type":"full-access"},"readOnlyAccess":{"type":"restricted"}}}`, durward.WrongType},
		{"access without a type", `{"sandboxPolicy":{"type":"read-only","access":{}}}`, durward.MissingField},
		{"unknown access", `{"sandboxPolicy":{"type":"read-only","access":{"type":"most"}}}`, durward.WrongType},
		{"a relative root", `{"sandboxPolicy":{"type":"workspace-write","writable_roots":["a"]}}`, durward.BadPath},
		{"a root elsewhere", `{"sandboxPolicy":{"type":"workspace-write","writable_roots":["file://host/a"]}}`, durward.PathElsewhere},
		{"a NUL", `{"sandboxPolicy":{"type":"workspace-write","writable_roots":["file:///a%00"]}}`, durward.BadPath},
		{"a list of one", `{"sandboxPolicy":{"type":"workspace-write","writable_roots":"/a"}}`, durward.WrongType},
		{"additional permissions of another type", `{"sandboxPolicy":{"type":"read-only"},"additionalPermissions":[]}`, durward.WrongType},
		{"an additional network that does not say", `{"sandboxPolicy":{"type":"read-only"},"additionalPermissions":{"network":{}}}`, durward.MissingField},
		{"an additional path that is relative", `{"sandboxPolicy":{"type":"read-only"},"additionalPermissions":{"file_system":{"read":["x"]}}}`, durward.BadPath},

		{"restricted reading under another type's name", `{"sandboxPolicy":{"type":"read-only","read_only_access":{"type":"restricted"}}}`, durward.WrongType},
		{"and in the other spelling", `{"sandboxPolicy":{"type":"readOnly","readOnlyAccess":{"type":"restricted"}}}`, durward.WrongType},
		{"and the other way round", `{"sandboxPolicy":{"type":"workspace-write","access":{"type":"restricted"}}}`, durward.WrongType},
		{"roots to be written by who only reads", `{"sandboxPolicy":{"type":"read-only","writable_roots":["/a"]}}`, durward.WrongType},
		{"full access to some roots", `{"sandboxPolicy":{"type":"danger-full-access","writableRoots":["/a"]}}`, durward.WrongType},
		{"full access to restricted files", `{"sandboxPolicy":{"type":"danger-full-access","access":{"type":"restricted"}}}`, durward.WrongType},
		{"full access without a network", `{"sandboxPolicy":{"type":"danger-full-access","network_access":false}}`, durward.WrongType},
		{"full access without a network in a word", `{"sandboxPolicy":{"type":"danger-full-access","networkAccess":"restricted"}}`, durward.WrongType},
		{"external with roots", `{"sandboxPolicy":{"type":"external-sandbox","writable_roots":["/a"]}}`, durward.WrongType},

		{"disabled with files", `{"permissions":{"type":"disabled","file_system":{"type":"restricted","entries":[]}},"windowsSandboxLevel":"disabled"}`, durward.WrongType},
		{"disabled without a network", `{"permissions":{"type":"disabled","network":"restricted"},"windowsSandboxLevel":"disabled"}`, durward.WrongType},
		{"newer external with files", `{"permissions":{"type":"external","network":"enabled","file_system":{"type":"restricted","entries":[]}},"windowsSandboxLevel":"disabled"}`, durward.WrongType},
		{"unrestricted with entries", managed(`{"type":"unrestricted","entries":[{"path":{"type":"path","path":"/a"},"access":"deny"}]}`), durward.WrongType},
		{"no level", `{"permissions":{"type":"disabled"}}`, durward.MissingField},
		{"another level", `{"permissions":{"type":"disabled"},"windowsSandboxLevel":"elevated"}`, durward.WrongType},
		{"another level in the older form", `{"sandboxPolicy":{"type":"read-only"},"windowsSandboxLevel":"elevated"}`, durward.WrongType},
		{"a level of another type", `{"permissions":{"type":"disabled"},"windowsSandboxLevel":0}`, durward.WrongType},
		{"a flag of another type", `{"permissions":{"type":"disabled"},"windowsSandboxLevel":"disabled","useLegacyLandlock":"no"}`, durward.WrongType},
		{"permissions without a type", `{"permissions":{},"windowsSandboxLevel":"disabled"}`, durward.MissingField},
		{"unknown permissions", `{"permissions":{"type":"Disabled"},"windowsSandboxLevel":"disabled"}`, durward.WrongType},
		{"external without a network", `{"permissions":{"type":"external"},"windowsSandboxLevel":"disabled"}`, durward.MissingField},
		{"managed without files", `{"permissions":{"type":"managed"},"windowsSandboxLevel":"disabled"}`, durward.MissingField},
		{"managed without a network", `{"permissions":{"type":"managed","file_system":{"type":"unrestricted"}},"windowsSandboxLevel":"disabled"}`, durward.MissingField},
		{"files without a type", managed(`{}`), durward.MissingField},
		{"unknown files", managed(`{"type":"some"}`), durward.WrongType},
		{"restricted without entries", managed(`{"type":"restricted"}`), durward.MissingField},
		{"a depth that is none", managed(`{"type":"restricted","entries":[],"glob_scan_max_depth":-1}`), durward.WrongType},

		{"an entry without a path", entries(`{"access":"read"}`), durward.MissingField},
		{"an entry without access", entries(`{"path":{"type":"path","path":"/a"}}`), durward.MissingField},
		{"unknown access of an entry", entries(`{"path":{"type":"path","path":"/a"},"access":"execute"}`), durward.WrongType},
		{"a null entry", entries(`null`), durward.MissingField},
		{"a path without one", entries(`{"path":{"type":"path"},"access":"read"}`), durward.MissingField},
		{"a relative path", entries(`{"path":{"type":"path","path":"a"},"access":"read"}`), durward.BadPath},
		{"an unknown target", entries(`{"path":{"type":"device","path":"/a"},"access":"read"}`), durward.WrongType},
		{"unknown behaviour", entries(`{"path":{"type":"path","path":"/a"},"access":"read","missing_path_behavior":"create"}`), durward.WrongType},
		{"a special one without a value", entries(`{"path":{"type":"special"},"access":"read"}`), durward.MissingField},
		{"an unknown kind", entries(kind(`"unknown"`, "read")), durward.WrongType},
		{"another unknown kind", entries(kind(`"home"`, "deny")), durward.WrongType},
		{"minimal to be written", entries(kind(`"minimal"`, "write")), durward.WrongType},
		{"a path beneath what has none", entries(`{"path":{"type":"special","value":{"kind":"root","subpath":"a"}},"access":"read"}`), durward.WrongType},
		{"a path beneath that is absolute", entries(`{"path":{"type":"special","value":{"kind":"project_roots","subpath":"/a"}},"access":"read"}`), durward.WrongType},
		{"a path beneath that leads up", entries(`{"path":{"type":"special","value":{"kind":"project_roots","subpath":"a/../../b"}},"access":"read"}`), durward.WrongType},
		{"contradicting roots", entries(kind(`"project_roots"`, "read"), `"workspaceRoots":["/a"],"policyContext":{"workspaceRoots":["/b"]}`), durward.WrongType},
		{"a relative directory", entries(kind(`"root"`, "read"), `"cwd":"a"`), durward.BadPath},
		{"a relative home", entries(kind(`"root"`, "read"), `"userHomeDir":"~"`), durward.BadPath},
		{"a pattern that gives", entries(strings.Replace(glob("/a/*"), "deny", "read", 1)), durward.WrongType},
		{"no pattern", entries(`{"path":{"type":"glob_pattern"},"access":"deny"}`), durward.MissingField},
		{"a pattern with braces", entries(glob("/a/*.{env,key}")), durward.WrongType},
		{"a pattern with an open class", entries(glob("/a/[b")), durward.WrongType},
		{"a pattern with a named class", entries(glob("/a/[[:alpha:]]")), durward.WrongType},
		{"a pattern with dots", entries(glob("/a/../*")), durward.WrongType},
		{"a pattern with half of two stars", entries(glob("/a/b**")), durward.WrongType},
		{"a pattern of nothing", entries(glob("/")), durward.WrongType},
		{"a pattern as a URI", entries(glob("file:///a/*")), durward.WrongType},
		{"a pattern of something unknown", entries(glob("codex-homes://*.env"), `"workspaceRoots":["/w"]`), durward.WrongType},
		{"a pattern of the workspace that is absolute", entries(glob("codex-project-roots:///a/*"), `"workspaceRoots":["/w"]`), durward.WrongType},
		{"too many entries", entries(strings.TrimSuffix(strings.Repeat(kind(`"root"`, "read")+",", durward.MaxEntries+1), ",")), durward.WrongType},
		{"too many roots", `{"sandboxPolicy":{"type":"workspace-write","writable_roots":[` + strings.TrimSuffix(strings.Repeat(`"/a",`, durward.MaxEntries+1), ",") + `]}}`, durward.WrongType},
		{"too many entries by roots", entries(strings.TrimSuffix(strings.Repeat(kind(`"project_roots"`, "read")+",", durward.MaxEntries/2+1), ","), `"workspaceRoots":["/a","/b"]`), durward.WrongType},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Parse(json.RawMessage(tt.object), forProcess)
			if c != nil || durward.ReasonOf(err) != tt.want {
				t.Errorf("%s: %v, %v; want %s", tt.object, said(c), err, tt.want)
			}
		})
	}
}

// Where nobody names a directory what is about one is refused. It is not about the server's
// root, nor in the newer form about the directory that the server happens to be in.
func TestWithoutADirectory(t *testing.T) {
	for _, tt := range []struct {
		object string
		env    Environment
	}{
		{`{"sandboxPolicy":{"type":"workspace-write"}}`, Environment{Cwd: "relative"}},
		{entries(kind(`"project_roots"`, "read")), forFile},
		{entries(kind(`"current_working_directory"`, "write"), `"workspaceRoots":[],"policyContext":{}`), forFile},
		{entries(glob("*.env")), forFile},
	} {
		if c, err := Parse(json.RawMessage(tt.object), tt.env); c != nil || durward.ReasonOf(err) != durward.MissingField {
			t.Errorf("%s: %v, %v", tt.object, said(c), err)
		}
	}
}
