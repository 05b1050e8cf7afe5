package execserver

import (
	"strings"
	"testing"
)

func TestDenialsAreSeen(t *testing.T) {
	for text, want := range map[string]bool{
		"cat: /etc/shadow: Permission denied\n":             true,
		"sh: 1: cannot create x: Read-only file system":     true,
		"Operation NOT permitted":                           true,
		"all is well, permission was given, nothing denied": false,
		"": false,
	} {
		for _, cut := range []int{1, 7, 1000} {
			var s denialScanner
			for rest := text; rest != ""; {
				n := min(cut, len(rest))
				s.scan([]byte(rest[:n]))
				rest = rest[n:]
			}
			if s.seen != want {
				t.Errorf("%q in pieces of %d: %v", text, cut, s.seen)
			}
		}
	}
	var s denialScanner
	s.scan([]byte(strings.Repeat("x", 1<<16)))
	if len(s.tail) > 64 {
		t.Errorf("%d bytes are kept", len(s.tail))
	}
}
