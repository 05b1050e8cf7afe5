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

// What is no text could not be held to what was approved.
func TestToolsWhoseWordsAreNone(t *testing.T) {
	for text, kept := range map[string]bool{
		`{"name":"a","title":"b","description":"c"}`: true, `{"name":"a","description":null}`: true,
		`{"name":"a","description":["c"]}`: false, `{"name":"a","title":{}}`: false, `{"name":["a"]}`: false,
	} {
		l := newListing(tools)
		if warning := l.add([]byte(text)); (warning == "") != kept || len(l.items) == 1 != kept {
			t.Errorf("%s: %q, %d items", text, warning, len(l.items))
		}
	}
}
