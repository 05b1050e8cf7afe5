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

// What a client would not take is left out alone; what is null is as if it were not there, and all
// else stays to the byte.
func TestItemsThatHaveAnotherForm(t *testing.T) {
	for _, test := range []struct {
		kind    kind
		members string
		want    string // of the members; empty where the item is left out
		warning string
	}{
		{tools, `"title":"b","description":"c", "x" :[ 1.0, null]`, `"title":"b","description":"c", "x" :[ 1.0, null]`, ""},
		{tools, `"description":null,"x":1,"inputSchema":null,"annotations":null`, `"x":1`, ""},
		{tools, `"description":["c"]`, "", "description that is no text"},
		{tools, `"title":{}`, "", "title that is no text"},
		{tools, `"inputSchema":{"type":"object","properties":{"a":true}}`, `"inputSchema":{"type":"object","properties":{"a":true}}`, ""},
		{tools, `"inputSchema":{}`, `"inputSchema":{}`, ""},
		{tools, `"inputSchema":5`, "", "inputSchema that is no object"},
		{tools, `"inputSchema":{"type":"array"}`, "", "inputSchema.type that is not object"},
		{tools, `"inputSchema":{"type":["object"]}`, "", "inputSchema.type that is no text"},
		{tools, `"inputSchema":{"type":"object","required":"a"}`, "", "inputSchema.required that is no list"},
		{tools, `"outputSchema":7`, "", "outputSchema that is no object"},
		{tools, `"annotations":"x"`, "", "annotations that is no object"},
		{tools, `"annotations":{"readOnlyHint":"yes"}`, "", "annotations.readOnlyHint that is no truth value"},
		{tools, `"annotations":{"readOnlyHint":false,"x":"yes"}`, `"annotations":{"readOnlyHint":false,"x":"yes"}`, ""},
		{tools, `"_meta":[]`, "", "_meta that is no object"},
		{resources, `"name":"n","size":-1e3,"annotations":{"priority":0.5}`, `"name":"n","size":-1e3,"annotations":{"priority":0.5}`, ""},
		{resources, `"name":7`, "", "name that is no text"},
		{resources, `"size":"7"`, "", "size that is no number"},
		{resources, `"annotations":{"audience":"user"}`, "", "annotations.audience that is no list"},
		{templates, `"mimeType":true`, "", "mimeType that is no text"},
		{prompts, `"arguments":{}`, "", "arguments that is no list"},
		{prompts, `"arguments":null,"title":"x"`, `"title":"x"`, ""},
	} {
		item := func(name, members string) string {
			return `{"` + kinds[test.kind].key + `":"` + name + `",` + members + `}`
		}
		l := newListing(test.kind)
		odd, fine := l.add([]byte(item("a", test.members))), l.add([]byte(item("b", `"x":1`)))
		var got string
		if len(l.items) == 2 {
			got = string(l.items[0].Raw)
		}
		want := ""
		if test.want != "" {
			want = item("a", test.want)
		}
		if got != want || fine != "" || (odd == "") != (test.warning == "") || !strings.Contains(odd, test.warning) {
			t.Errorf("%s: %q, %q, %q", test.members, got, odd, fine)
		}
	}
}
