package hubedit

import (
	"errors"
	"testing"

	"github.com/durward/durward/internal/config/edit"
	"github.com/durward/durward/internal/hubconfig"
)

var entry = Entry{
	Name: "notes", Command: "npx", Args: []string{"-y", "a \"b\""}, Env: []Pair{{"A", "1"}, {"B", "${C}"}}, Dir: "d", Timeout: 5, Disabled: true,
	DenyTools: []string{"rm*"},
}

// documents are in every shape, on one line and on many, with and without servers.
var documents = []string{
	Seed,
	`{"servers": []}`,
	`{"servers":[]}` + "\n",
	`{"servers": [{"name": "a", "command": "b"}]}`,
	"{\n  \"servers\": [\n    {\n      \"name\": \"a\",\n      \"command\": \"b\"\n    }\n  ],\n  \"prefix\": \"always\"\n}\n",
	"{\r\n\t\"servers\": [\r\n\t\t{\"name\": \"a\", \"command\": \"b\"}\r\n\t]\r\n}",
	`{"mcpServers": {}}`,
	"{\n  \"mcpServers\": {}\n}\n",
	`{"mcpServers":{"a":{"command":"b"}}}`,
	"{\n    \"mcpServers\": {\n        \"a\": {\n            \"command\": \"b\",\n            \"args\": [\"c\"]\n        }\n    }\n}\n",
	`{"servers": {}, "inputs": []}`,
	"{\n\t\"servers\": {\n\t\t\"a\": {\"type\": \"stdio\", \"command\": \"b\"}\n\t},\n\t\"inputs\": []\n}\n",
}

func TestWhatIsAddedIsReadAndRemovedToTheByte(t *testing.T) {
	for _, text := range documents {
		d, err := edit.Parse("c.json", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := Add(d, entry); err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		c, problems := hubconfig.Parse("c.json", d.Bytes(), hubconfig.Setting{Dir: "/", Environ: map[string]string{"C": "3"}})
		if len(problems) > 0 {
			t.Errorf("%s: %v", d.Bytes(), problems)
			continue
		}
		s := c.Servers[len(c.Servers)-1]
		if s.Name != "notes" || s.Command != "npx" || len(s.Args) != 2 || s.Args[1] != `a "b"` || s.Env["B"] != "3" || s.Dir != "/d" || !s.Disabled || s.Timeout.Seconds() != 5 || len(s.DenyTools) != 1 {
			t.Errorf("%s is read as %+v", d.Bytes(), s)
		}
		if err := Remove(d, "notes"); err != nil || string(d.Bytes()) != text {
			t.Errorf("%q became %q: %v", text, d.Bytes(), err)
		}
		if err := Remove(d, "notes"); !errors.Is(err, ErrUnknown) {
			t.Errorf("a server that is gone is removed again: %v", err)
		}
	}
}

func TestPinsAreSetInEveryShape(t *testing.T) {
	const one, two = "sha256:0000000000000000000000000000000000000000000000000000000000000001", "sha256:0000000000000000000000000000000000000000000000000000000000000002"
	for _, text := range []string{
		`{"servers": [{"name": "a.b", "command": "c"}]}`,
		"{\n  \"mcpServers\": {\n    \"a.b\": {\n      \"command\": \"c\",\n      \"x-gateway\": {\"concurrency\": 2}\n    }\n  }\n}\n",
		`{"servers": {"a.b": {"command": "c", "x-gateway": {}}}}`,
	} {
		d, err := edit.Parse("c.json", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(Pin(d, "a_b", "read.file", one), Pin(d, "a_b", "other", one), Pin(d, "a_b", "read.file", two), Unpin(d, "a_b", "other"))
		c, problems := hubconfig.Parse("c.json", d.Bytes(), hubconfig.Setting{Dir: "/"})
		if err != nil || len(problems) > 0 || len(c.Servers[0].ToolHashes) != 1 || c.Servers[0].ToolHashes["read.file"] != two {
			t.Errorf("%s became %s: %v %v", text, d.Bytes(), err, problems)
		}
		if err := Pin(d, "other", "x", one); !errors.Is(err, ErrUnknown) {
			t.Errorf("a server that is not there is pinned: %v", err)
		}
	}
}

func TestRemoteServersAreWrittenWithTheirType(t *testing.T) {
	for _, text := range documents {
		d, err := edit.Parse("c.json", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		err = Add(d, Entry{Name: "far", Type: "http", URL: "https://example.org/mcp", Headers: []Pair{{"Authorization", "Bearer ${T}"}}})
		c, problems := hubconfig.Parse("c.json", d.Bytes(), hubconfig.Setting{Dir: "/", Environ: map[string]string{"T": "x"}})
		if err != nil || len(problems) > 0 || c.Servers[len(c.Servers)-1].Remote == nil {
			t.Errorf("%s: %v %v", d.Bytes(), err, problems)
		}
	}
}
