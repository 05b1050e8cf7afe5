package fileuri_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fileuri"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"/a/b":                          "/a/b",
		"/":                             "/",
		"/a//b/":                        "/a/b",
		"/a/link/../b":                  "/a/b",
		"/../..":                        "/",
		"/a%20b":                        "/a%20b",
		"file:///a/b":                   "/a/b",
		"FILE:///a/b":                   "/a/b",
		"file:/a/b":                     "/a/b",
		"file://localhost/a/b":          "/a/b",
		"file://LocalHost/a":            "/a",
		"file:///a%20b%25":              "/a b%",
		"file:///a%2Fb%2f..%2Fc":        "/a/c",
		"file:///ws/link/../x":          "/ws/x",
		"file:///a/%2e%2E/b":            "/b",
		"file:///%ff%FE":                "/\xff\xfe",
		"file:///a;b=c&d:e@f":           "/a;b=c&d:e@f",
		"file:////a":                    "/a",
		"file:///":                      "/",
		"file:///\u00e9":                "/\u00e9",
		"file:///trailing/":             "/trailing",
		"file:///a/./b/././c":           "/a/b/c",
		"file:///%E4%BD%A0%E5%A5%BD%0A": "/你好\n",
	} {
		got, isURI, err := fileuri.Parse(text)
		if err != nil || got != want || isURI != (text[0] != '/') {
			t.Errorf("Parse(%q) = %q, %v, %v; want %q", text, got, isURI, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]durward.Reason{
		"":                   durward.BadPath,
		"a/b":                durward.BadPath,
		"./a":                durward.BadPath,
		"~/a":                durward.BadPath,
		"/a\x00b":            durward.BadPath,
		"http:///a":          durward.BadPath,
		"http://localhost/a": durward.BadPath,
		"file:":              durward.BadPath,
		"file://":            durward.BadPath,
		"file://localhost":   durward.BadPath,
		"file:a/b":           durward.BadPath,
		"file:///a?b":        durward.BadPath,
		"file:///a#b":        durward.BadPath,
		"file:///a%00":       durward.BadPath,
		"file:///a%":         durward.BadPath,
		"file:///a%2":        durward.BadPath,
		"file:///a%zz":       durward.BadPath,
		"file://host/a":      durward.PathElsewhere,
		"file://127.0.0.1/a": durward.PathElsewhere,
	} {
		if got, _, err := fileuri.Parse(text); durward.ReasonOf(err) != want {
			t.Errorf("Parse(%q) = %q, %v; want reason %s", text, got, err, want)
		}
	}
}

func TestFormat(t *testing.T) {
	for name, want := range map[string]string{
		"/":           "file:///",
		"/a b":        "file:///a%20b",
		"/100%":       "file:///100%25",
		"/a#b?c":      "file:///a%23b%3Fc",
		"/\xff":       "file:///%FF",
		"/é":          "file:///%C3%A9",
		"/a+b,c;d=e@": "file:///a+b,c;d=e@",
	} {
		if got := fileuri.Format(name); got != want {
			t.Errorf("Format(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestWhatIsFormattedIsParsedBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := "/" + rapid.StringMatching(`([^\x00/]{1,6}/)*[^\x00/.]{1,9}`).Draw(t, "name")
		plain, _, err := fileuri.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if back, isURI, err := fileuri.Parse(fileuri.Format(plain)); err != nil || !isURI || back != plain {
			t.Errorf("%q is formatted as %q and parsed as %q, %v", plain, fileuri.Format(plain), back, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("file:///a%20b/../c")
	f.Add("/a/b")
	f.Fuzz(func(t *testing.T, text string) {
		name, _, err := fileuri.Parse(text)
		if err != nil {
			return
		}
		if again, _, err := fileuri.Parse(name); err != nil || again != name {
			t.Errorf("Parse(%q) = %q, which is parsed as %q, %v", text, name, again, err)
		}
	})
}
