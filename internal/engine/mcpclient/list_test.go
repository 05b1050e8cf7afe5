package mcpclient

import (
	"fmt"
	"strings"
	"testing"
)

// One item without end is left out, and said to be; the others stay.
func TestItemsOfAListAreBounded(t *testing.T) {
	for _, kind := range []kind{tools, resources, templates, prompts} {
		k := kinds[kind]
		item := func(key string, size int) string {
			return fmt.Sprintf(`{%q:%q,"x":"%s"}`, k.key, key, strings.Repeat("x", size))
		}
		l := newListing(kind)
		more, warning := l.take([]byte(`{"` + k.member + `":[` + item("a", 10) + `,` + item("b", mostItemBytes) + `,` + item("c", mostItemBytes/2) + `]}`))
		if more || !strings.Contains(warning, "one is longer than 262144 bytes") {
			t.Errorf("%s: %t, %q", k.member, more, warning)
		}
		if len(l.items) != 2 || l.items[0].Key != "a" || l.items[1].Key != "c" {
			t.Errorf("%s: there are %d", k.member, len(l.items))
		}
	}
}
