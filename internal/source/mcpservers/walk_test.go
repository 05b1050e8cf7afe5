//go:build linux || darwin

package mcpservers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/pathguard"
	"github.com/durward/durward/internal/source/mcpservers"
)

func TestVectors(t *testing.T) {
	text, err := os.ReadFile("../../../testdata/vectors/path_guard.json")
	must(t, err)
	type step struct{ Dir, File, Content, Symlink, To string }
	var file struct {
		BaseSetup []step
		Vectors   []struct {
			ID, Op, Path, Expect, Rule string
			Roots                      []string
			Setup                      []step
		}
	}
	must(t, json.Unmarshal(text, &file))
	ran := 0
	for _, v := range file.Vectors {
		if v.Op != "gateway" {
			continue
		}
		ran++
		t.Run(v.ID, func(t *testing.T) {
			top, err := filepath.EvalSymlinks(t.TempDir())
			must(t, err)
			for _, s := range append(file.BaseSetup, v.Setup...) {
				switch {
				case s.Dir != "":
					must(t, os.MkdirAll(filepath.Join(top, s.Dir), 0o700))
				case s.File != "":
					must(t, os.WriteFile(filepath.Join(top, s.File), []byte(s.Content), 0o600))
				case s.Symlink != "":
					must(t, os.Symlink(s.To, filepath.Join(top, s.Symlink)))
				}
			}
			in := func(text string) string { return strings.ReplaceAll(text, "${T}", top) }
			s := sourceOf(t, configOf(t, "", "a"), fleetOf("a: use"), guard(t, in(v.Roots[0])))
			given, err := json.Marshal(map[string]string{"path": in(v.Path)})
			must(t, err)
			_, err = bind(t, s, string(given))
			if v.Expect == "allow" {
				must(t, err)
				return
			}
			members := durward.DetailOf(err).Members
			if members["rule"] != v.Rule || members["pointer"] != "/path" || members["given"] != in(v.Path) {
				t.Errorf("%v; want %s", members, v.Rule)
			}
		})
	}
	if ran != 17 {
		t.Errorf("%d vectors are of a gateway, and not 17", ran)
	}
}

// What the check makes of arguments: $ is the sandbox directory, and what is not named stays as it
// is. The rule is empty where they pass.
func TestArguments(t *testing.T) {
	const plain, files = "", `"fileServer": true`
	box := newSandbox(t)
	long := strings.Repeat("a", 4097)
	deep := func(n int, inner string) string {
		return strings.Repeat(`{"a":`, n) + inner + strings.Repeat("}", n)
	}
	for _, test := range []struct{ extras, given, gets, rule, pointer string }{
		{plain, `{}`, `{}`, "", ""},
		{plain, ` { "path" : "a.txt" , "n": 12345678901234567890123, "z": 1.0, "a": "\u00e9" } `, ` { "path" : "$/a.txt" , "n": 12345678901234567890123, "z": 1.0, "a": "\u00e9" } `, "", ""},
		{plain, `{"path":"a","file":"b","filepath":"c","directory":"d","dir":"e","filename":"f"}`, `{"path":"$/a","file":"$/b","filepath":"$/c","directory":"$/d","dir":"$/e","filename":"$/f"}`, "", ""},
		{plain, `{"source":"a","destination":"b","target":"c","src":"d","to":"e","files":["f"],"uri":"g"}`, `{"source":"a","destination":"b","target":"c","src":"d","to":"e","files":["f"],"uri":"g"}`, "", ""},
		{plain, `{"FILE_PATH":"a","File-Name":"b","p\u0061th":"./c/../d"}`, `{"FILE_PATH":"$/a","File-Name":"$/b","p\u0061th":"$/d"}`, "", ""},
		{plain, `{"path":""}`, `{"path":"$"}`, "", ""},
		{plain, `{"path":"$/sub/new/er"}`, `{"path":"$/sub/new/er"}`, "", ""},
		{plain, `{"path":"file://$/a.txt"}`, `{"path":"file://$/a.txt"}`, "", ""},
		{plain, `{"path":null,"x":{"path":["a",["b",null,7,{"path":"c","q":"/etc"}]]}}`, `{"path":null,"x":{"path":["$/a",["$/b",null,7,{"path":"$/c","q":"/etc"}]]}}`, "", ""},
		{plain, `{"path":7,"file":true,"dir":{"x":"/etc"}}`, `{"path":7,"file":true,"dir":{"x":"/etc"}}`, "", ""},
		{plain, `{"path":"https://h/a?b=c#d"}`, `{"path":"https://h/a?b=c#d"}`, "", ""},
		{plain, `{"uri":"https://h/` + long + `"}`, `{"uri":"https://h/` + long + `"}`, "", ""},
		{plain, `{"uri":"https://h/a/../b"}`, `{"uri":"https://h/a/../b"}`, "", ""},
		{plain, `{"text":"/etc/passwd","xpath":"//a","profile":"~"}`, `{"text":"/etc/passwd","xpath":"//a","profile":"~"}`, "", ""},
		{plain, `{"path":"a b\"\\c\n"}`, `{"path":"$/a b\"\\c\n"}`, "", ""},
		{plain, deep(64, `{"path":"a"}`), deep(64, `{"path":"$/a"}`), "", ""},
		{plain, deep(65, `{"path":"a"}`), "", "tooDeep", "/" + strings.TrimSuffix(strings.Repeat("a/", 65), "/")},

		{plain, `{"path":"/etc/passwd"}`, "", "outsideSandbox", "/path"},
		{plain, `{"path":"$-evil"}`, "", "outsideSandbox", "/path"},
		{plain, `{"path":"$/../outside"}`, "", "outsideSandbox", "/path"},
		{plain, `{"a":[{"b":{"to":"../x"}}]}`, "", "outsideSandbox", "/a/0/b/to"},
		{plain, `{"paths":["a","/etc"]}`, "", "outsideSandbox", "/paths/1"},
		{plain, `{"x/y~":{"dir":[[{"FILES":"/etc"}]]}}`, "", "outsideSandbox", "/x~1y~0/dir/0/0/FILES"},
		{plain, `{"path":"out/x"}`, "", "outsideSandbox", "/path"},
		{plain, `{"path":"~/x"}`, "", "tilde", "/path"},
		{plain, `{"path":"a\u0000b"}`, "", "nulInPath", "/path"},
		{plain, `{"path":"` + long + `"}`, "", "pathTooLong", "/path"},
		{plain, `{"path":"file://h$/a"}`, "", "fileUriHost", "/path"},
		{plain, `{"path":"file:a"}`, "", "fileUriForm", "/path"},
		{plain, `{"path":" f\tile:///etc/passwd"}`, "", "outsideSandbox", "/path"},
		{plain, `{"path":"sub/%2e%2e/a"}`, "", "encodedTraversal", "/path"},
		{plain, `{"source":"%zz/../%2e%2e/%2e%2e/etc/passwd"}`, "", "encodedTraversal", "/source"},
		{plain, `{"source":"..%5c..%5cetc"}`, "", "encodedTraversal", "/source"},
		{plain, `{"uri":"file://$/%252e%252e/outside"}`, "", "encodedTraversal", "/uri"},
		{plain, `{"source":"%2fetc/passwd"}`, "", "outsideSandbox", "/source"},
		{plain, `{"source":"50% of a/b","path":"%zz"}`, `{"source":"50% of a/b","path":"$/%zz"}`, "", ""},
		{plain, `{"path":"sub\\..\\a"}`, "", "backslashTraversal", "/path"},
		{plain, `{"path":"x://../../outside"}`, "", "outsideSandbox", "/path"},
		{plain, `{"path":"xy://../../outside"}`, "", "outsideSandbox", "/path"},
		{plain, `{"path":"xy://%2e%2e/%2e%2e/etc"}`, "", "encodedTraversal", "/path"},
		{plain, `{"path":"xy://..\\..\\etc"}`, "", "backslashTraversal", "/path"},
		{plain, `{"path":"xy://` + long + `/../../../../etc"}`, "", "outsideSandbox", "/path"},
		{plain, `{"path":"xy://` + long + `/%2e%2e/%2E./../../etc"}`, "", "outsideSandbox", "/path"},
		{plain, `{"path":"xy://` + long + `/%zz/%252e./..%5c../../etc"}`, "", "outsideSandbox", "/path"},
		{plain, `{"files":["a` + strings.Repeat(`","a`, 4096) + `"]}`, "", "tooManyPaths", "/files/4096"},

		{files, `{"repo_path":"a","logFile":"b","workdir":"c"}`, `{"repo_path":"a","logFile":"b","workdir":"c"}`, "", ""},
		{files, `{"repo_path":"/etc"}`, "", "outsideSandbox", "/repo_path"},
		{files, `{"logFile":"/etc"}`, "", "outsideSandbox", "/logFile"},
		{files, `{"work-DIR":"/etc"}`, "", "outsideSandbox", "/work-DIR"},
		{files, `{"path":7}`, "", "notAPath", "/path"},
		{files, `{"paths":["a",true]}`, "", "notAPath", "/paths/1"},
		{files, `{"path":"https://h/"}`, "", "uriScheme", "/path"},
		{files, `{"path":null,"n":7}`, `{"path":null,"n":7}`, "", ""},

		{`"pathArgs": ["blob_Name"]`, `{"x":{"BlobName":"/etc"}}`, "", "outsideSandbox", "/x/BlobName"},
		{`"pathArgs": ["blob"]`, `{"blob":"a"}`, `{"blob":"a"}`, "", ""},
		{`"pathArgs": ["/a~1b/0/x"]`, `{"a/b":[{"x":"/etc"}]}`, "", "outsideSandbox", "/a~1b/0/x"},
		{`"pathArgs": ["/a"]`, `{"a":["b",["/etc"]]}`, "", "outsideSandbox", "/a/1/0"},
		{`"pathArgs": ["/a/1"]`, `{"a":["/etc",{"b":1},"x"],"b":{"a":"/etc"}}`, `{"a":["/etc",{"b":1},"x"],"b":{"a":"/etc"}}`, "", ""},
		{`"pathArgs": ["/a/1"]`, `{"a":[{"b":[1]},"/etc"]}`, "", "outsideSandbox", "/a/1"},

		{`"pathPolicy": "off"`, `{"path":"/etc/passwd","dir":"a"}`, `{"path":"/etc/passwd","dir":"a"}`, "", ""},
		{`"pathPolicy": "off"`, deep(100, `7`), deep(100, `7`), "", ""},
	} {
		in := func(text string) string { return strings.ReplaceAll(text, "$", box.root) }
		s := sourceOf(t, configOf(t, "", "a "+test.extras), fleetOf("a: use"), box)
		given := in(test.given)
		gets, err := bind(t, s, given)
		if test.rule == "" {
			if err != nil || gets != in(test.gets) {
				t.Errorf("%.200s gets %.200s, %v; want %.200s", given, gets, err, in(test.gets))
			}
			continue
		}
		members := durward.DetailOf(err).Members
		if members["rule"] != test.rule || members["pointer"] != test.pointer || durward.AsError(err).Rule != test.rule {
			t.Errorf("%.200s: %v %.200v; want %s at %s", given, members, err, test.rule, test.pointer)
		}
		if text, _ := members["given"].(string); len(text) > 600 || len(err.Error()) > 4000 {
			t.Errorf("%.200s: a refusal has %d bytes", given, len(err.Error()))
		}
	}
}

func TestRelativePathsCanStayAsTheyAre(t *testing.T) {
	s := sourceOf(t, configOf(t, `"forwardPaths": "verbatim",`, "a"), fleetOf("a: use"), newSandbox(t))
	if gets, err := bind(t, s, `{"path":"a"}`); err != nil || gets != `{"path":"a"}` {
		t.Errorf("%s, %v", gets, err)
	}
	if _, err := bind(t, s, `{"path":"../a"}`); durward.AsError(err) == nil {
		t.Error("it is not judged")
	}
}

// A relative path that the server gets as it is is inside by the server's own working directory,
// too.
func TestRelativePathsFromTheServersDirectory(t *testing.T) {
	box := newSandbox(t)
	must(t, os.Symlink("../../outside", box.root+"/sub/link"))
	for _, test := range []struct{ top, dir, extras, given, rule string }{
		{"", box.root + "/sub", "", `{"source":"link/x"}`, "outsideSandbox"},
		{"", box.root + "/sub", "", `{"source":"x"}`, ""},
		{"", box.root + "/sub", "", `{"path":"link/x"}`, ""}, // it gets the absolute one
		{`"forwardPaths": "verbatim",`, box.root + "/sub", "", `{"path":"link/x"}`, "outsideSandbox"},
		{"", box.root + "/sub", "", `{"source":"` + box.root + `/x"}`, ""},
		{"", box.top, "", `{"to":"somebody"}`, ""},
		{"", box.top, `"fileServer": true`, `{"to":"somebody"}`, "outsideSandbox"},
	} {
		c := parse(t, `{`+test.top+` "servers": [{"name": "a", "command": "x", "cwd": "`+test.dir+`", "x-gateway": {`+test.extras+`}}]}`)
		_, err := bind(t, sourceOf(t, c, fleetOf("a: use"), box), test.given)
		if rule, _ := durward.DetailOf(err).Members["rule"].(string); rule != test.rule || (err == nil) != (test.rule == "") {
			t.Errorf("%s in %s: %v; want %q", test.given, test.dir, err, test.rule)
		}
	}
}

// A refusal tells what the caller sent, and nothing of where that led.
func TestRefusalsDoNotTellWhereAPathLeads(t *testing.T) {
	box := newSandbox(t)
	s := sourceOf(t, configOf(t, "", "a"), fleetOf("a: use"), box)
	_, err := bind(t, s, `{"path":"out/../x"}`)
	if durward.ReasonOf(err) != durward.OutsideRoot || strings.Contains(err.Error(), box.top) || durward.AsError(err).Path != "out/../x" {
		t.Error(err)
	}
}

func TestAnEndedCallIsNoRefusal(t *testing.T) {
	s := sourceOf(t, configOf(t, "", "a"), fleetOf("a: use"), judge(func(string) (string, error) {
		return "", &durward.Error{Reason: durward.DeadlineExceeded}
	}))
	_, err := bind(t, s, `{"path":"a"}`)
	if durward.KindOf(err) != durward.Timeout || durward.DetailOf(err).Members != nil {
		t.Error(err)
	}
}

// However arguments are made, only the values of placed members change, and what comes out is what
// the guard lets in.
func FuzzArguments(f *testing.F) {
	box := newSandbox(f)
	for _, seed := range []string{
		`{"path":"a","n":1e400,"x":[{"dir":["b",{"file":"file:///x"}]}]}`, `{"uri":"x://../../etc","to":"~"}`, `{"path":"\ud83d\ude00%2e"}`, `[]`, `{"a":{"a":{"path":"..\\x"}}}`,
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, arguments string, files bool) {
		if jsonx.Check([]byte(arguments), jsonx.Limits{}) != nil || jsonx.TrimSpace([]byte(arguments))[0] != '{' {
			return
		}
		extras := ""
		if files {
			extras = `"fileServer": true, "pathArgs": ["/x/0", "blob"]`
		}
		s := sourceOf(t, configOf(t, "", "a "+extras), fleetOf("a: use"), box)
		gets, err := bind(t, s, arguments)
		if err != nil {
			if members := durward.DetailOf(err).Members; members["rule"] == "" || members["pointer"] == nil {
				t.Errorf("%s: %v", arguments, err)
			}
			return
		}
		must(t, jsonx.Check([]byte(gets), jsonx.Limits{Bytes: 16 << 20}))
		before, after := shape(arguments), shape(gets)
		if before != after {
			t.Errorf("%s\nbecomes\n%s", arguments, gets)
		}
		if again, err := bind(t, s, gets); err != nil && durward.AsError(err).Rule != "pathTooLong" || err == nil && again != gets {
			t.Errorf("%s is judged another way the second time: %s, %v", gets, again, err)
		}
	})
}

// shape is a text without the strings that are values.
func shape(text string) string {
	var out bytes.Buffer
	done := 0
	for token := range jsonx.Tokens([]byte(text)) {
		if token.Kind == '"' {
			out.WriteString(text[done:token.From])
			done = token.To
		}
	}
	out.WriteString(text[done:])
	return out.String()
}

// A judge is what a test says of a path.
type judge func(string) (string, error)

func (j judge) JudgeForeign(_ context.Context, path string) (string, error) { return j(path) }

func guard(t *testing.T, root string) mcpservers.Judge {
	t.Helper()
	g, err := pathguard.Open([]string{root}, pathguard.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, g.Close()) })
	return g
}
