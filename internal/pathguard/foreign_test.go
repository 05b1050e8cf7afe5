//go:build linux || darwin

package pathguard

import (
	"os"
	"strings"
	"testing"

	"github.com/durward/durward"
)

// What another program is given is inside by every reading that it may have.
func TestForeignPaths(t *testing.T) {
	top := plant(t, map[string]string{
		"root/a": "a", "root/sub/b": "b", "root/out": "-> ../outside/deep", "outside/deep/x": "x", "root-evil/x": "x", "root/loop": "-> loop",
	})
	g, err := Open([]string{top + "/root"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for path, want := range map[string]string{
		"a":                         "/root/a",
		"./sub/../a":                "/root/a",
		"new/er":                    "/root/new/er",
		"new/../a":                  "/root/a",
		"":                          "/root",
		"%41":                       "/root/%41",
		"100%":                      "/root/100%",
		`b\\c`:                      `/root/b\\c`,
		"file://" + top + "/root/a": "/root/a",
		"FILE:" + top + "/root/a":   "/root/a",
		"file://LocalHost" + top + "/root/sub%2Fb": "/root/sub/b",
		top + "/root/sub/b":                        "/root/sub/b",
	} {
		if got, err := g.JudgeForeign(t.Context(), path); err != nil || got != top+want {
			t.Errorf("%q: %q, %v; want %q", path, got, err, top+want)
		}
	}
	for path, want := range map[string]string{
		"out":                                    "outsideSandbox",
		"out/x":                                  "outsideSandbox",
		"out/../a":                               "outsideSandbox",
		"out/none":                               "outsideSandbox",
		"new/../../outside":                      "outsideSandbox",
		"loop":                                   "outsideSandbox",
		top + "/root-evil/x":                     "outsideSandbox",
		top + "/root/../outside/deep/x":          "outsideSandbox",
		"/":                                      "outsideSandbox",
		"file://" + top + "/root/%2e%2e/outside": "outsideSandbox",
		"~":                                      "tilde",
		"~root/x":                                "tilde",
		"a\x00b":                                 "nulInPath",
		"file://other" + top + "/root/a":         "fileUriHost",
		"file://%zz":                             "fileUriHost",
		"file:":                                  "fileUriForm",
		"file://":                                "fileUriForm",
		"file://localhost":                       "fileUriForm",
		"file:a":                                 "fileUriForm",
		`file:\a`:                                "fileUriForm",
		"file://" + top + "/root/a?/../../../../../../../../../../etc/passwd": "fileUriForm",
		"file://" + top + "/root/a#/../../../../../../../../../../etc/passwd": "fileUriForm",
		"file:///../.." + top + "/root/a":                                     "outsideSandbox",
		"sub/%2e%2E/a":                                                        "encodedTraversal",
		"sub%2f..%2fa":                                                        "encodedTraversal",
		`sub\\..\\a`:                                                          "backslashTraversal",
		`..\\a`:                                                               "backslashTraversal",
		strings.Repeat("a", 5000):                                             "pathTooLong",
	} {
		_, err := g.JudgeForeign(t.Context(), path)
		if e := durward.AsError(err); e == nil || e.Rule != want {
			t.Errorf("%.60q: %v; want %s", path, err, want)
		}
	}
	if _, err := os.Lstat(top + "/root/new"); err == nil {
		t.Error("something was made")
	}
}
