package clientconfig

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	started = Entry{Command: "/opt/durward", Args: []string{"mcp", "--config", "/home/me/my policy.yaml"}}
	asked   = Entry{URL: "http://127.0.0.1:8002/mcp", TokenVariable: "HUB_TOKEN"}
)

// writings say what becomes of a text, in each layout that people have.
var writings = []struct {
	name      string
	client    Client
	was, want string
}{
	{"nothing", ClaudeDesktop, "", `{
  "mcpServers": {
    "durward": {
      "command": "/opt/durward",
      "args": ["mcp", "--config", "/home/me/my policy.yaml"]
    }
  }
}
`},
	{"an empty object", Cursor, "{}", `{
  "mcpServers": {
    "durward": {
      "command": "/opt/durward",
      "args": ["mcp", "--config", "/home/me/my policy.yaml"]
    }
  }
}`},
	{"other things, and a mark", ClaudeCode, "\ufeff{\n\t\"numStartups\": 5,\n\t\"projects\": {}\n}\n", "\ufeff{\n\t\"numStartups\": 5,\n\t\"projects\": {},\n\t\"mcpServers\": {\n\t\t\"durward\": {\n\t\t\t\"type\": \"stdio\",\n\t\t\t\"command\": \"/opt/durward\",\n\t\t\t\"args\": [\"mcp\", \"--config\", \"/home/me/my policy.yaml\"]\n\t\t}\n\t}\n}\n"},
	{"comments and commas", VSCode, `// mine
{
    "servers": {
        "a": {"command": "x"}, // the first
        /* the second */
        "b": {
            "command": "y",
        }, // done
        // "c": {}
    },
    "inputs": [],
}
`, `// mine
{
    "servers": {
        "a": {"command": "x"}, // the first
        /* the second */
        "b": {
            "command": "y",
        }, // done
        "durward": {
            "type": "stdio",
            "command": "/opt/durward",
            "args": ["mcp", "--config", "/home/me/my policy.yaml"]
        },
        // "c": {}
    },
    "inputs": [],
}
`},
	{"a comment behind the last", Cursor, `{
   "mcpServers": {
      "a": {"command": "x"} /* one
      and two */ // three
   }
}`, `{
   "mcpServers": {
      "a": {"command": "x"}, /* one
      and two */ // three
      "durward": {
         "command": "/opt/durward",
         "args": ["mcp", "--config", "/home/me/my policy.yaml"]
      }
   }
}`},
	{"only a comment", Gemini, "{\r\n  \"theme\": \"x\",\r\n  \"mcpServers\": {\r\n    // none yet\r\n  }\r\n}\r\n", "{\r\n  \"theme\": \"x\",\r\n  \"mcpServers\": {\r\n    // none yet\r\n    \"durward\": {\r\n      \"command\": \"/opt/durward\",\r\n      \"args\": [\"mcp\", \"--config\", \"/home/me/my policy.yaml\"]\r\n    }\r\n  }\r\n}\r\n"},
	{"one line", Windsurf, `{"mcpServers":{"a":{"command":"x"}}}`, `{"mcpServers":{"a":{"command":"x"},"durward":{"command":"/opt/durward","args":["mcp","--config","/home/me/my policy.yaml"]}}}`},
	{"one line with spaces", Cursor, `{ "x": 1, "mcpServers": {} }`, `{ "x": 1, "mcpServers": {"durward": {"command": "/opt/durward", "args": ["mcp", "--config", "/home/me/my policy.yaml"]}} }`},
	{"one line with a comma too many", Cursor, `{"x": 1, }`, `{"x": 1, "mcpServers": {"durward": {"command": "/opt/durward", "args": ["mcp", "--config", "/home/me/my policy.yaml"]}}, }`},
	{"a line in lines", Cursor, "{\n  \"mcpServers\": {\"a\": {\"command\": \"x\"}}\n}\n", "{\n  \"mcpServers\": {\"a\": {\"command\": \"x\"}, \"durward\": {\"command\": \"/opt/durward\", \"args\": [\"mcp\", \"--config\", \"/home/me/my policy.yaml\"]}}\n}\n"},
	{"opencode", OpenCode, "{\n  \"$schema\": \"https://opencode.ai/config.json\"\n}\n", "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"mcp\": {\n    \"durward\": {\n      \"type\": \"local\",\n      \"command\": [\"/opt/durward\", \"mcp\", \"--config\", \"/home/me/my policy.yaml\"],\n      \"enabled\": true\n    }\n  }\n}\n"},
	{"a newer opencode", OpenCode, "{\n  \"mcp\": {\n    \"servers\": {}\n  }\n}\n", "{\n  \"mcp\": {\n    \"servers\": {\n      \"durward\": {\n        \"type\": \"local\",\n        \"command\": [\"/opt/durward\", \"mcp\", \"--config\", \"/home/me/my policy.yaml\"],\n        \"enabled\": true\n      }\n    }\n  }\n}\n"},
	{"no TOML yet", Codex, "", "[mcp_servers.durward]\ncommand = \"/opt/durward\"\nargs = [\"mcp\", \"--config\", \"/home/me/my policy.yaml\"]\n"},
	{"TOML", Codex, "# mine\nmodel = \"x\"\n\n[mcp_servers.a]\ncommand = \"a\" # one\n\n[mcp_servers.a.env]\nK = \"v\"\n# the end", "# mine\nmodel = \"x\"\n\n[mcp_servers.a]\ncommand = \"a\" # one\n\n[mcp_servers.a.env]\nK = \"v\"\n# the end\n\n[mcp_servers.durward]\ncommand = \"/opt/durward\"\nargs = [\"mcp\", \"--config\", \"/home/me/my policy.yaml\"]\n"},
	{"TOML of Windows", Codex, "\ufeffmodel = \"x\"\r\n", "\ufeffmodel = \"x\"\r\n\r\n[mcp_servers.durward]\r\ncommand = \"/opt/durward\"\r\nargs = [\"mcp\", \"--config\", \"/home/me/my policy.yaml\"]\r\n"},
}

func open(t *testing.T, c Client, was string) *Text {
	t.Helper()
	text, err := OpenText(c, "file", []byte(was))
	if err != nil {
		t.Fatalf("%s: %v", was, err)
	}
	return text
}

func TestSetWritesInTheStyleOfTheFile(t *testing.T) {
	for _, test := range writings {
		t.Run(test.name, func(t *testing.T) {
			text := open(t, test.client, test.was)
			held := text.Holds()
			if err := text.Set("durward", started); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(text.Bytes())); diff != "" {
				t.Error(diff)
			}
			if !text.Leads("durward", started) || text.Leads("durward", asked) || text.Leads("other", started) {
				t.Error("what was written is read otherwise")
			}
			if err := text.Remove("durward", !held); err != nil {
				t.Fatal(err)
			}
			if got := string(text.Bytes()); got != test.was && !text.Empty() && strings.TrimRight(got, "\r\n") != test.was && test.name != "only a comment" {
				t.Errorf("it is left as %q", got)
			}
		})
	}
}

// Each client has its own words for a server that is there, and for the variable with its token.
func TestServersThatAreThere(t *testing.T) {
	for c, want := range map[Client]string{
		ClaudeCode: `{"mcpServers":{"hub":{"type":"http","url":"http://127.0.0.1:8002/mcp","headers":{"Authorization":"Bearer ${HUB_TOKEN}"}}}}`,
		Cursor:     `{"mcpServers":{"hub":{"url":"http://127.0.0.1:8002/mcp","headers":{"Authorization":"Bearer ${env:HUB_TOKEN}"}}}}`,
		VSCode:     `{"servers":{"hub":{"type":"http","url":"http://127.0.0.1:8002/mcp","headers":{"Authorization":"Bearer ${env:HUB_TOKEN}"}}}}`,
		Windsurf:   `{"mcpServers":{"hub":{"serverUrl":"http://127.0.0.1:8002/mcp","headers":{"Authorization":"Bearer ${env:HUB_TOKEN}"}}}}`,
		Gemini:     `{"mcpServers":{"hub":{"httpUrl":"http://127.0.0.1:8002/mcp","headers":{"Authorization":"Bearer ${HUB_TOKEN}"}}}}`,
		OpenCode:   `{"mcp":{"hub":{"type":"remote","url":"http://127.0.0.1:8002/mcp","enabled":true,"headers":{"Authorization":"Bearer {env:HUB_TOKEN}"}}}}`,
		Codex:      "[mcp_servers.hub]\nurl = \"http://127.0.0.1:8002/mcp\"\nbearer_token_env_var = \"HUB_TOKEN\"\n",
	} {
		was := map[bool]string{true: "", false: `{"x":1}`}[c == Codex]
		text := open(t, c, was)
		if err := text.Set("hub", asked); err != nil {
			t.Error(err)
		}
		if got := strings.Replace(string(text.Bytes()), `"x":1,`, "", 1); got != want {
			t.Errorf("%s: %s, want %s", c, got, want)
		}
		if !text.Leads("hub", asked) {
			t.Errorf("%s: what was written is read otherwise", c)
		}
	}
	if err := open(t, ClaudeDesktop, "{}").Set("hub", asked); !errors.Is(err, ErrNoURL) {
		t.Error(err)
	}
}

// What stands there already is put in the place, and can be put back.
func TestEntriesArePutInThePlaceAndBack(t *testing.T) {
	for _, test := range []struct {
		client    Client
		was, want string
	}{
		{Cursor, "{\n  \"mcpServers\": {\n    // first\n    \"durward\": {\"command\": \"old\" /* ! */},\n    \"b\": {\"command\": \"y\"}\n  }\n}", "{\n  \"mcpServers\": {\n    // first\n    \"durward\": {\n      \"command\": \"/opt/durward\",\n      \"args\": [\"mcp\", \"--config\", \"/home/me/my policy.yaml\"]\n    },\n    \"b\": {\"command\": \"y\"}\n  }\n}"},
		{Codex, "[mcp_servers.durward]\ncommand = \"old\"\n# own\n[mcp_servers.durward.env]\nA = '''\n[mcp_servers.b]\n'''\n# of b\n[mcp_servers.b]\ncommand = \"y\"\n", "[mcp_servers.durward]\ncommand = \"/opt/durward\"\nargs = [\"mcp\", \"--config\", \"/home/me/my policy.yaml\"]\n# own\n# of b\n[mcp_servers.b]\ncommand = \"y\"\n"},
	} {
		text := open(t, test.client, test.was)
		raw := text.Raw("durward")
		if err := text.Set("durward", started); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, string(text.Bytes())); diff != "" {
			t.Error(diff)
		}
		if err := text.Restore("durward", raw); err != nil {
			t.Error(err)
		}
		if s, _ := text.Find("durward"); s.Command != "old" {
			t.Errorf("%+v in %s", s, text.Bytes())
		}
		if test.client == Cursor && string(text.Bytes()) != test.was {
			t.Errorf("%s", text.Bytes())
		}
	}
}

// An entry is taken out from wherever it stands, and comments of others stay.
func TestRemove(t *testing.T) {
	for _, test := range []struct {
		client    Client
		was, want string
	}{
		{Cursor, "{\"mcpServers\": {\"durward\": {}, \"b\": {}}}", "{\"mcpServers\": { \"b\": {}}}"},
		{Cursor, "{\"mcpServers\": {\n  \"durward\": {}, // mine\n  \"b\": {}\n}}", "{\"mcpServers\": { // mine\n  \"b\": {}\n}}"},
		{Cursor, "{\"mcpServers\": {\n  // a\n  \"durward\": {\"x\": 1},\n  \"b\": {}\n}}", "{\"mcpServers\": {\n  // a\n  \"b\": {}\n}}"},
		{Cursor, "{\"mcpServers\": {\"a\": {}, // a\n\"durward\": {} } }", "{\"mcpServers\": {\"a\": {} // a\n } }"},
		{Cursor, "{\"mcpServers\": {\n \"durward\": {}\n}}", "{}"},
		{Cursor, "{\"x\": 1,\n \"mcpServers\": {\n \"durward\": {}\n} // which\n}", "{\"x\": 1 // which\n}"},
		{VSCode, "{\"servers\": {\n \"durward\": {}, /* none */\n}}", "{\"servers\": { /* none */\n}}"},
		{Codex, "a = 1\n\n[mcp_servers.durward]\ncommand = \"x\" # y\nargs = [\n # z\n]\n\n# b\n[b]\n", "a = 1\n\n# b\n[b]\n"},
		{Codex, "[mcp_servers]\n[mcp_servers.durward]\n[b]\n[mcp_servers.durward.env]\nA = \"x\"", "[mcp_servers]\n[b]\n"},
	} {
		text := open(t, test.client, test.was)
		if err := text.Remove("durward", true); err != nil {
			t.Errorf("%s: %v", test.was, err)
		}
		if got := string(text.Bytes()); got != test.want {
			t.Errorf("%q became %q, want %q", test.was, got, test.want)
		}
	}
}

// What is laid out in another way, or is no place for servers, is refused and stays.
func TestOddLayoutsStay(t *testing.T) {
	for _, test := range []struct {
		client Client
		was    string
	}{
		{Cursor, `{"mcpServers": []}`},
		{Cursor, `{"mcpServers": null}`},
		{Cursor, `{"mcpServers": {"durward": {}, "durw\u0061rd": {}}}`},
		{Codex, `mcp_servers = {}`},
		{Codex, "[mcp_servers]\ndurward = {command = \"x\"}\n"},
		{Codex, "[[mcp_servers]]\n"},
	} {
		text, err := OpenText(test.client, "file", []byte(test.was))
		if err == nil {
			err = text.Set("durward", started)
		}
		if err == nil || !strings.Contains(err.Error(), "file") {
			t.Errorf("%s: %v", test.was, err)
		}
		if text != nil && string(text.Bytes()) != test.was {
			t.Errorf("%s became %s", test.was, text.Bytes())
		}
	}
}

func TestBrokenFilesAreRefusedWithTheirPlace(t *testing.T) {
	for _, test := range []struct {
		client    Client
		was, want string
	}{
		{Cursor, "{\n  \"mcpServers\": {\n", "file:3:1: not JSON: "},
		{Cursor, "{\n  \"a\": 1\n  \"b\": 2\n}", "file:3:3: not JSON: "},
		{VSCode, "[]", "file: "},
		{OpenCode, "// only\n", "file:2:1: not JSON: "},
		{Codex, "a = 1\nb = = 2\n", "file:2:5: not TOML: "},
	} {
		if _, err := OpenText(test.client, "file", []byte(test.was)); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%q: %v, want %s", test.was, err, test.want)
		}
	}
}

// Nothing is written that a client would not read as it is meant.
func TestWhatAClientWouldTakeForSomethingElse(t *testing.T) {
	for c, path := range map[Client]string{Cursor: "/a/${b}", Gemini: "/a/$b", OpenCode: "/a/{env:B}", Codex: "/a/${b}"} {
		if err := open(t, c, "").Set("durward", Entry{Command: path}); err == nil {
			t.Errorf("%s takes %s", c, path)
		}
	}
	for _, name := range []string{"", "a b", "a.b", "ä", strings.Repeat("a", 65)} {
		if err := open(t, Codex, "").Set(name, started); err == nil {
			t.Errorf("%q is a name", name)
		}
	}
	text := open(t, Codex, "")
	odd := Entry{Command: "/a\x7f\"\\\n\tü", Args: []string{}}
	if err := text.Set("durward", odd); err != nil || !text.Leads("durward", odd) {
		t.Errorf("%v: %q", err, text.Bytes())
	}
}
