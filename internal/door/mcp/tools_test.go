package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type shownTool struct {
	Name, Title, Description  string
	InputSchema, OutputSchema map[string]any
	Annotations               map[string]bool
}

func toolsShown(t *testing.T, s Surface, line string) (list []shownTool, answer string) {
	t.Helper()
	o := options(nothing(t))
	o.Surface = func() Surface { return s }
	answer = behindHello(t, converse(t, o, initialize+line))
	var got struct {
		Result struct{ Tools []shownTool }
	}
	if err := json.Unmarshal([]byte(answer), &got); err != nil {
		t.Fatal(err)
	}
	return got.Result.Tools, answer
}

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

func TestToolsList(t *testing.T) {
	list, answer := toolsShown(t, surface(), listTools)
	want := []struct {
		name  string
		hints map[string]bool
	}{
		{"cmd_run", map[string]bool{"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true}},
		{"fs_read", map[string]bool{"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false}},
		{"fs_write", map[string]bool{"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": false}},
	}
	if len(list) != len(want) {
		t.Fatalf("%d tools", len(list))
	}
	for i, tool := range list {
		if tool.Name != want[i].name || tool.Title == "" || tool.Description == "" {
			t.Errorf("tool %d is %q, %q, %q", i, tool.Name, tool.Title, tool.Description)
		}
		if diff := cmp.Diff(want[i].hints, tool.Annotations); diff != "" {
			t.Errorf("%s: %s", tool.Name, diff)
		}
		for _, schema := range []map[string]any{tool.InputSchema, tool.OutputSchema} {
			if schema["$schema"] != "https://json-schema.org/draft/2020-12/schema" || schema["additionalProperties"] != false || schema["type"] != "object" {
				t.Errorf("%s has the schema %v", tool.Name, schema)
			}
		}
	}
	if !strings.HasPrefix(answer, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"cmd_run","title":`) {
		t.Errorf("the answer is %.100s", answer)
	}
}

func TestCommandsAreListedByTheirIDs(t *testing.T) {
	list, _ := toolsShown(t, surface(), listTools)
	id := list[0].InputSchema["properties"].(map[string]any)["commandId"].(map[string]any)
	if diff := cmp.Diff([]any{"git", "rg"}, id["enum"]); diff != "" {
		t.Error(diff)
	}
	if want := "Run one of the commands that the policy allows, without a shell:\n- git: version control\n- rg"; list[0].Description != want {
		t.Errorf("the description is %q", list[0].Description)
	}
	list, _ = toolsShown(t, Surface{}, listTools)
	id = list[0].InputSchema["properties"].(map[string]any)["commandId"].(map[string]any)
	if id["enum"] != nil || list[0].Description != "Run a command. The policy allows none." {
		t.Errorf("without commands: %v, %q", id, list[0].Description)
	}
}

func TestDottedNames(t *testing.T) {
	s := surface()
	s.Dotted = true
	list, _ := toolsShown(t, s, listTools)
	for i, want := range []string{"cmd.run", "fs.read", "fs.write"} {
		if list[i].Name != want {
			t.Errorf("tool %d is %q", i, list[i].Name)
		}
	}
}

func TestModernListsMayBeKept(t *testing.T) {
	_, answer := toolsShown(t, surface(), modernCall("tools/list", ""))
	if want := `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","ttlMs":60000,"cacheScope":"private","tools":[`; !strings.HasPrefix(answer, want) {
		t.Errorf("the answer is %.200s", answer)
	}
}

func TestResources(t *testing.T) {
	const catalog = `{\"commands\":[{\"id\":\"git\",\"description\":\"version control\",\"allow\":[],\"patterns\":[],\"cwdPolicy\":\"none\",\"timeoutMs\":5000,\"maxOutputBytes\":1000},` +
		`{\"id\":\"rg\",\"description\":\"\",\"allow\":[\"-n\"],\"patterns\":[\"[a-z]+\"],\"cwdPolicy\":\"withinRoot\",\"timeoutMs\":30000,\"maxOutputBytes\":1000}]}`
	const list = `"resources":[{"uri":"mdmcp://commands/catalog","name":"commands","description":"the commands that cmd_run can be asked for","mimeType":"application/json"},` +
		`{"uri":"mdmcp://policy/summary","name":"policy","description":"what the policy allows","mimeType":"application/json"}]}`
	const mark = `"resultType":"complete","ttlMs":60000,"cacheScope":"private",`
	read := func(uri string) string { return `"uri":"mdmcp://` + uri + `",` }
	contents := func(uri, text string) string {
		return `"contents":[{"uri":"mdmcp://` + uri + `","mimeType":"application/json","text":"` + text + `"}]}`
	}
	missing := func(code string) string {
		return `{"jsonrpc":"2.0","id":1,"error":{"code":` + code + `,"message":"there is no such resource","data":{"uri":"mdmcp://x"}}}` + "\n"
	}
	tests := []struct{ name, method, members, legacy, modern string }{
		{"the list", "resources/list", "", result("1", "{"+list), result("1", "{"+mark+list)},
		{"a cursor", "resources/list", `"cursor":"x",`, refusal("1", "-32602", "the cursor is not known: there is one page"), refusal("1", "-32602", "the cursor is not known: there is one page")},
		{"templates", "resources/templates/list", "", result("1", `{"resourceTemplates":[]}`), result("1", "{"+mark+`"resourceTemplates":[]}`)},
		{"the commands", "resources/read", read("commands/catalog"), result("1", "{"+contents("commands/catalog", catalog)), result("1", "{"+mark+contents("commands/catalog", catalog))},
		{"the policy", "resources/read", read("policy/summary"), result("1", "{"+contents("policy/summary", `{\"allowedRoots\":1}`)), result("1", "{"+mark+contents("policy/summary", `{\"allowedRoots\":1}`))},
		{"an unknown one", "resources/read", read("x"), missing("-32002"), missing("-32602")},
		{"none", "resources/read", "", refusal("1", "-32602", "uri is missing or no string"), refusal("1", "-32602", "uri is missing or no string")},
	}
	o := options(nothing(t))
	o.Surface = func() Surface {
		s := surface()
		s.Resources = true
		return s
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			line := modernCall(tt.method, tt.members)
			if got := converse(t, o, line); got != tt.modern {
				t.Errorf("modern: got  %swant %s", got, tt.modern)
			}
			legacy := strings.Replace(strings.Replace(line, modernMeta, "", 1), ",}", "}", 1)
			if got := behindHello(t, converse(t, o, initialize+legacy)); got != tt.legacy {
				t.Errorf("legacy: got  %swant %s", got, tt.legacy)
			}
		})
	}
}
