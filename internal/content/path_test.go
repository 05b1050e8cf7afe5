package content

import (
	"testing"

	"github.com/durward/durward"
)

func TestCleanPath(t *testing.T) {
	for _, test := range []struct {
		path, want string
		reason     durward.Reason
	}{
		{"", "", ""},
		{"docs/query", "docs/query", ""},
		{"docs//query///", "docs/query", ""},
		{"v1.2", "v1.2", ""},
		{".well-known/x", ".well-known/x", ""},
		{"/x", "", durward.OutsideRoot},
		{"//", "", durward.OutsideRoot},
		{"..", "", durward.OutsideRoot},
		{"a/../b", "", durward.OutsideRoot},
		{"a..b.md", "", durward.OutsideRoot},
		{"a\x00", "", durward.OutsideRoot},
		{`a\b`, "", durward.OutsideRoot},
		{"\xff", "", durward.OutsideRoot},
		{"a\x00/../.env", "", durward.OutsideRoot},
		{".env", "", durward.FileNotFound},
		{"docs/.git/config", "", durward.FileNotFound},
		{".", "", durward.FileNotFound},
		{"docs/./x", "", durward.FileNotFound},
		{"docs/.well-known/x", "", durward.FileNotFound},
		{".env/../x", "", durward.OutsideRoot},
	} {
		got, err := cleanPath(test.path, false)
		if got != test.want || durward.ReasonOf(err) != test.reason {
			t.Errorf("%q: %q, %v; want %q, %q", test.path, got, err, test.want, test.reason)
		}
	}
}

func TestCleanPathOnWindows(t *testing.T) {
	for path, good := range map[string]bool{
		"docs/query.md": true, "console.md": true, "com.md": true, "lpt10.txt": true, "nullable": true,
		"C:/x": false, "c:x": false, "x:y": false, "NUL": false, "docs/con.txt": false, "aux ": false, "a./b": false,
		"COM1": false, "lpt9.md": false, "com¹.txt": false, "x ": false, "x?y": false, "conout$": false,
	} {
		if _, err := cleanPath(path, true); (err == nil) != good {
			t.Errorf("%q: %v, want it to pass: %t", path, err, good)
		}
		if _, err := cleanPath(path, false); err != nil {
			t.Errorf("%q elsewhere: %v", path, err)
		}
	}
}

func FuzzCleanPath(f *testing.F) {
	for _, seed := range []string{"", "docs/query", "a/../b", "//x", ".env", "a\\b", "\x00", "é/ü.md", "a/./b", "...", "%2e%2e/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		clean, err := CleanPath(path)
		if err != nil {
			if r := durward.ReasonOf(err); r != durward.OutsideRoot && r != durward.FileNotFound {
				t.Fatalf("%q: %v", path, err)
			}
			return
		}
		if again, err := CleanPath(clean); err != nil || again != clean {
			t.Fatalf("%q becomes %q, and that %q, %v", path, clean, again, err)
		}
	})
}
