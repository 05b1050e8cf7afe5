package mcpspec_test

import (
	"strings"
	"testing"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/mcpspec"
)

const full = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}},
"io.modelcontextprotocol/clientInfo":{"name":"n","version":"v","title":"t"},"io.modelcontextprotocol/logLevel":"warning","progressToken":"p","other":1}`

func TestMetaSaysEverything(t *testing.T) {
	m, bad := mcpspec.MetaOf([]byte(full))
	if bad != nil || !m.Modern || m.Version != mcpspec.Modern || string(m.Capabilities) != `{"roots":{}}` || m.Client.Name != "n" || m.Client.Version != "v" ||
		m.Level.String() != "warning" || m.Progress == nil || *m.Progress != jsonrpc.StringID("p") {
		t.Fatalf("%+v, %v", m, bad)
	}
	if bad := m.Complete(); bad != nil {
		t.Fatal(bad)
	}
}

func TestMetaOfTheOlderEra(t *testing.T) {
	for _, text := range []string{``, `{}`, `{"progressToken":1}`, `{"traceparent":"broken","io.modelcontextprotocol/related-task":{}}`} {
		var value []byte
		if text != "" {
			value = []byte(text)
		}
		m, bad := mcpspec.MetaOf(value)
		if bad != nil || m.Modern || m.Level != mcpspec.Silent {
			t.Errorf("%s: %+v, %v", text, m, bad)
		}
	}
}

func TestMetaThatIsRefused(t *testing.T) {
	for text, what := range map[string]string{
		`[]`: "not an object", `1`: "not an object",
		`{"io.modelcontextprotocol/protocolVersion":1}`:                      "not a string",
		`{"io.modelcontextprotocol/clientCapabilities":true}`:                "not an object",
		`{"io.modelcontextprotocol/clientInfo":{"name":1}}`:                  "a name and a version",
		`{"io.modelcontextprotocol/clientInfo":"x"}`:                         "a name and a version",
		`{"io.modelcontextprotocol/logLevel":"loud"}`:                        "eight levels",
		`{"progressToken":1.5}`:                                              "neither a string nor an integer",
		`{"progressToken":null}`:                                             "neither a string nor an integer",
		`{"io.modelcontextprotocol/\u006cogLevel":"loud"}`:                   "eight levels",
		`{"io.modelcontextprotocol/clientInfo":{"name":"a","version":null}}`: "a name and a version",
	} {
		if _, bad := mcpspec.MetaOf([]byte(text)); bad == nil || bad.Code != jsonrpc.InvalidParams || !strings.Contains(bad.Message, what) {
			t.Errorf("%s: %v", text, bad)
		}
	}
}

func TestIncompleteMeta(t *testing.T) {
	for text, code := range map[string]int{
		`{}`: jsonrpc.InvalidParams,
		`{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`:                                                             jsonrpc.InvalidParams,
		`{"io.modelcontextprotocol/clientCapabilities":{}}`:                                                                    jsonrpc.InvalidParams,
		`{"io.modelcontextprotocol/protocolVersion":"2031-01-01","io.modelcontextprotocol/clientCapabilities":{}}`:             mcpspec.CodeVersion,
		`{"io.modelcontextprotocol/protocolVersion":"` + mcpspec.Newest + `","io.modelcontextprotocol/clientCapabilities":{}}`: mcpspec.CodeVersion,
	} {
		m, bad := mcpspec.MetaOf([]byte(text))
		if bad != nil {
			t.Fatal(bad)
		}
		if bad = m.Complete(); bad == nil || bad.Code != code {
			t.Errorf("%s: %v", text, bad)
		}
	}
}

func TestNamesOfClientsAreCut(t *testing.T) {
	c, ok := mcpspec.ClientOf([]byte(`{"name":"` + strings.Repeat("é", 200) + `"}`))
	if !ok || len(c.Name) != 128 || !strings.HasSuffix(c.Name, "é") {
		t.Fatalf("%d bytes, %v", len(c.Name), ok)
	}
}

func TestAgree(t *testing.T) {
	for asked, want := range map[string]string{"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2031-01-01": "2025-11-25", mcpspec.Modern: "2025-11-25", "": "2025-11-25"} {
		if got := mcpspec.Agree(asked); got != want {
			t.Errorf("Agree(%q) = %q, want %q", asked, got, want)
		}
	}
}
