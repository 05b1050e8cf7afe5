//go:build linux || darwin

package pathguard

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
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
		"%zz":                       "/root/%zz",
		"50% of a/b":                "/root/50% of a/b",
		"50% of sub/../a":           "/root/a",
		"sub%2fa%5cb":               "/root/sub%2fa%5cb",
		"100%25/a%2zb%":             "/root/100%25/a%2zb%",
		"a..%2fb%2f...":             "/root/a..%2fb%2f...",
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
		"file:///%zz":                            "fileUriForm",
		"file://me@localhost/a":                  "fileUriHost",
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
		"%zz/../%2e%2e/%2e%2e/outside":                                        "encodedTraversal",
		"%2e%2e/outside/100%":                                                 "encodedTraversal",
		"sub/%2e%2e%5Ca":                                                      "encodedTraversal",
		"..%5c..%5coutside":                                                   "encodedTraversal",
		"%252e%252e/outside":                                                  "encodedTraversal",
		"%25252e%25252E%255coutside":                                          "encodedTraversal",
		"%2%35%32%65./outside":                                                "encodedTraversal",
		"file://" + top + "/root/%252e%252e/outside":                          "encodedTraversal",
		"file://" + top + "/root/..%255coutside":                              "encodedTraversal",
		"file://" + top + "/root/..%5coutside":                                "backslashTraversal",
		"%2fetc/passwd":                                                       "outsideSandbox",
		"%252Fetc%252Fpasswd":                                                 "outsideSandbox",
		"o%75t/x":                                                             "outsideSandbox",
		"f%69le:///etc/passwd":                                                "outsideSandbox",
		"%7e/x":                                                               "tilde",
		"a%00b":                                                               "nulInPath",
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

// The percent signs in the name of the root are nobody's to decode.
func TestForeignPathsInARootWithPercentSigns(t *testing.T) {
	top := plant(t, map[string]string{"a%2Fb/c": "c"})
	g, err := Open([]string{top + "/a%2Fb"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for _, path := range []string{"c", top + "/a%2Fb/c", "file://" + top + "/a%252Fb/c"} {
		if got, err := g.JudgeForeign(t.Context(), path); err != nil || got != top+"/a%2Fb/c" {
			t.Errorf("%q: %q, %v", path, got, err)
		}
	}
	if _, err := g.JudgeForeign(t.Context(), top+"/a%2Fb/%2e%2e/x"); durward.AsError(err) == nil || durward.AsError(err).Rule != "encodedTraversal" {
		t.Error(err)
	}
}

// Whatever is let in stays inside however often it is decoded, for who takes a backslash for a
// slash, too.
func FuzzForeignPaths(f *testing.F) {
	top := plant(f, map[string]string{"root/sub/": ""})
	root := top + "/root"
	g, err := Open([]string{root}, Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { g.Close() })
	for _, seed := range []string{
		"%zz/../%2e%2e/%2e%2e/x", "..%5c..", "%252e%252e/x", "file:///%252e%252e/x", "%2%35%32%65./x", "%2fetc", "%7e", "50% of a/b", root + "/%2e./x",
	} {
		f.Add(seed)
	}
	escape := regexp.MustCompile("%[0-9A-Fa-f]{2}")
	f.Fuzz(func(t *testing.T, given string) {
		reading, err := g.JudgeForeign(t.Context(), given)
		if err != nil {
			return
		}
		if len(given) < 5 || !strings.EqualFold(given[:5], "file:") {
			reading = given
		}
		for before := ""; before != reading; {
			full := join(root, reading)
			slashes := filepath.Clean(strings.ReplaceAll(full, `\`, "/"))
			if !fsroot.Contains(root, filepath.Clean(full)) || !fsroot.Contains(root, slashes) || strings.HasPrefix(reading, "~") {
				t.Fatalf("%q is let in, and may be %q", given, reading)
			}
			before, reading = reading, escape.ReplaceAllStringFunc(reading, func(coded string) string {
				c, _ := hex.DecodeString(coded[1:])
				return string(c)
			})
		}
	})
}
