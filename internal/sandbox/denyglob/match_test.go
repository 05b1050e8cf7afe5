package denyglob

import "testing"

func TestMatch(t *testing.T) {
	tests := []struct {
		pattern, path string
		want          bool
	}{
		{"/w/**/.env", "/w/.env", true},
		{"/w/**/.env", "/w/a/b/.env", true},
		{"/w/**/.env", "/w/a/.env/beneath/it", true},
		{"/w/**/.env", "/w/a/.envrc", false},
		{"/w/**/.env", "/w", false},
		{"/w/**/.env", "/v/.env", false},
		{"/w/*.key", "/w/a.key", true},
		{"/w/*.key", "/w/sub/a.key", false},
		{"/w/[*]", "/w/*", true},
		{"/w/[*]", "/w/a", false},
		{"/w/plain", "/w/plain/f", true},
		{"/**", "/", true},
		{"/**", "/a", true},
		{"/w/**", "/w", true},
	}
	for _, tt := range tests {
		p, err := Compile([]string{"/no/such", tt.pattern})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Match(tt.path); got != tt.want {
			t.Errorf("%s on %s: %t", tt.pattern, tt.path, got)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	for _, pattern := range []string{"relative/*", "/a/[", "/a/b**", "/a/../*", "/a\x00*"} {
		if _, err := Compile([]string{pattern}); err == nil {
			t.Errorf("%q is compiled", pattern)
		}
	}
}
