package mcpservers_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/source/mcpservers"
)

const exposeAll = `"expose": ["tools", "resources", "prompts"],`

func offering(t testing.TB, top string) (*mcpservers.Source, *fleet) {
	f := fleetOf("a: read", "b: read", "c: read")
	f.offer("prompt", "a", "review", "odd name")
	f.offer("prompt", "b", "review", "sum")
	f.offer("resource", "a", "memo://1", "memo://2")
	f.offer("resource", "b", "memo://2", "note://1")
	f.offer("template", "b", "note://{id}", "page://{+path}")
	f.offer("template", "c", "note://{id}", "page://c/{x}")
	return sourceOf(t, configOf(t, top, "a", "b", "c"), f, newSandbox(t)), f
}

// Prompts have names as tools have, and only where they are exposed.
func TestPrompts(t *testing.T) {
	s, f := offering(t, exposeAll)
	var names []string
	for _, e := range s.View().Prompts {
		names = append(names, fmt.Sprintf("%s=%s/%s", e.MCPName, e.Server, e.Original))
		found, err := s.Find(t.Context(), e.ID)
		must(t, err)
		if target := *found.Spec.(*hubconfig.Target); target != (hubconfig.Target{Server: e.Server, Tool: e.Original, Method: "prompts/get"}) {
			t.Errorf("%s is %+v", e.ID, target)
		}
	}
	if got := strings.Join(names, " "); got != "a__review=a/review b__review=b/review odd_name=a/odd name sum=b/sum" {
		t.Error(got)
	}
	if e, ok := s.View().OfPrompt("a__odd name"); !ok || e.Original != "odd name" || e.ID != "prompts/get:odd_name" {
		t.Errorf("the qualified name: %+v", e)
	}
	before := *s.View()
	f.offer("prompt", "b", "sum")
	if !s.Refresh() || s.View().PromptsVersion == before.PromptsVersion || s.View().Version != before.Version || s.View().ResourcesVersion != before.ResourcesVersion {
		t.Error("the versions do not tell what has changed")
	}
	f.stop("b", true)
	s.Refresh()
	if _, ok := s.View().OfPrompt("sum"); len(s.View().Prompts) != 2 || !ok {
		t.Errorf("with a server that is stopped: %+v", s.View().Prompts)
	}
}

// A URI is for the first server that has it, or a template of it.
func TestResources(t *testing.T) {
	s, f := offering(t, exposeAll)
	v := s.View()
	var list []string
	for _, r := range append(v.Resources, v.Templates...) {
		list = append(list, r.Server+" "+r.URI)
	}
	if got := strings.Join(list, ", "); got != "a memo://1, a memo://2, b note://1, b note://{id}, b page://{+path}, c page://c/{x}" {
		t.Error(got)
	}
	if got := strings.Join(v.Warnings, "\n"); !strings.Contains(got, `the resource "memo://2" of server "b" is left out`) || !strings.Contains(got, `the template "note://{id}" of server "c"`) {
		t.Error(got)
	}
	for uri, want := range map[string]string{
		"memo://2": "a", "note://1": "b", "note://7": "b", "note://7/8": "", "note://": "", "page://c/1": "b", "page://a/b?c": "b",
		"note://{id}": "b", "page://c/{x}": "c", "file:///etc": "", "xnote://7": "",
	} {
		if got, _ := v.OfResource(uri); got != want {
			t.Errorf("%s is for %q, want %q", uri, got, want)
		}
	}
	f.offer("resource", "a")
	f.offer("template", "c")
	if !s.Refresh() || s.View().ResourcesVersion == v.ResourcesVersion {
		t.Error("nothing has changed")
	}
	if server, ok := s.View().OfResource("any://thing"); server != "b" || !ok {
		t.Errorf("it is for %q", server)
	}
}

// Templates of all forms match what they may stand for, and what is none matches nothing.
func TestTemplates(t *testing.T) {
	for _, tt := range []struct {
		template, uri string
		want          bool
	}{
		{"a://{x}/b", "a://1/b", true},
		{"a://{x}/b", "a://1/2/b", false},
		{"a://{x,y}", "a://1,2", true},
		{"a://{path*}", "a://1/2", true},
		{"a://x{/path*}", "a://x/1/2", true},
		{"a://x{/path*}", "a://x", true},
		{"a://x{?q,r}", "a://x?q=1&r=2", true},
		{"a://x{?q,r}", "a://y?q=1", false},
		{"a://x{.ext}", "a://x.txt", true},
		{"a://x{#f}", "a://x#f", true},
		{"a.b://(+)[x]", "aXb://(+)[x]", false},
		{"a.b://(+)[x]{y}", "a.b://(+)[x]1", true},
		{"a://{x", "a://{x}", false},
		{"a://{}", "a://", false},
		{"{x}-{y}/{z}.txt", "a-b-c/d.e.txt", true},
		{"{x}-{y}/{z}.txt", "a-/d.txt", false},
		{"{+x}/{y}.txt", "a/b/c.txt", true},
		{"{+x}/{y}.txt", "a/b/.txt", false},
		{"a:{+x}{+y}{z}b", "a:/b", true},
		{"a:{/p*}{?q}", "a:?q=/", true},
		{"a:{/p*}{?q}b", "a:xb", false},
		{"a:{x}", "a:ü", true},
		{"{+x}", strings.Repeat("x", 8<<10), true},
		{"{+x}", strings.Repeat("x", 8<<10+1), false},
		{strings.Repeat("{+x}y", 8), strings.Repeat("xy", 8), true},
		{strings.Repeat("{+x}y", 9), strings.Repeat("xy", 9), false},
		{"a://{x}" + strings.Repeat("x", 1024), "a://x" + strings.Repeat("x", 1024), false},
	} {
		f := fleetOf("a:", "b:")
		f.offer("template", "a", tt.template)
		f.offer("resource", "b", "b://")
		s := sourceOf(t, configOf(t, exposeAll, "a", "b"), f, newSandbox(t))
		if server, ok := s.View().OfResource(tt.uri); ok != tt.want || ok && server != "a" {
			t.Errorf("%.40s %.40s: %q, %t", tt.template, tt.uri, server, ok)
		}
	}
}

// A server with templates without end, each of them made to be tried for long, has only so many of
// them looked at.
func TestTemplatesAreBounded(t *testing.T) {
	f := fleetOf("a:", "b:")
	var all []string
	for i := range 300 {
		all = append(all, strings.Repeat("{+a}x", 8)+"Q"+strconv.Itoa(i))
	}
	f.offer("template", "a", all...)
	f.offer("resource", "b", "b://")
	v := sourceOf(t, configOf(t, exposeAll, "a", "b"), f, newSandbox(t)).View()
	for at, want := range map[string]bool{"0": true, "255": true, "256": false} {
		if _, ok := v.OfResource(strings.Repeat("yx", 1000) + "Q" + at); ok != want {
			t.Errorf("Q%s: %t", at, ok)
		}
	}
	if got := strings.Join(v.Warnings, "\n"); !strings.Contains(got, `server "a" has 44 templates of resources too many`) {
		t.Error(got)
	}
	if len(v.Templates) != 300 {
		t.Errorf("%d are listed", len(v.Templates))
	}
}

// Requests are found where the configuration exposes what they are about.
func TestRequestsAreFound(t *testing.T) {
	for _, tt := range []struct{ expose, want string }{
		{`"tools"`, ""},
		{`"tools", "prompts"`, "completion/complete prompts/get"},
		{`"resources"`, "resources/read resources/subscribe resources/unsubscribe completion/complete"},
		{`"resources", "prompts"`, "resources/read resources/subscribe resources/unsubscribe completion/complete prompts/get"},
	} {
		s, _ := offering(t, `"expose": [`+tt.expose+`],`)
		var found []string
		for _, method := range []string{"resources/read", "resources/subscribe", "resources/unsubscribe", "completion/complete"} {
			if tool, err := s.Find(t.Context(), hubconfig.RequestID("b", method)); err == nil {
				found = append(found, method)
				if target := *tool.Spec.(*hubconfig.Target); target != (hubconfig.Target{Server: "b", Method: method}) {
					t.Errorf("it is %+v", target)
				}
			}
		}
		if _, err := s.Find(t.Context(), hubconfig.PromptID("sum")); err == nil {
			found = append(found, "prompts/get")
		}
		if got := strings.Join(found, " "); got != tt.want {
			t.Errorf("%s: %s", tt.expose, got)
		}
		for _, id := range []durward.ToolID{"d:resources/read", "b:tools/call", "b:initialize", ":resources/read"} {
			if _, err := s.Find(t.Context(), id); durward.ReasonOf(err) != durward.ToolNotFound {
				t.Errorf("%s: %v", id, err)
			}
		}
	}
	s := sourceOf(t, configOf(t, exposeAll, "a", "b"), fleetOf("a:", "b: a:resources/read prompts/get:x ok"), newSandbox(t))
	if v := s.View(); len(v.HTTP) != 1 || len(v.Warnings) != 2 {
		t.Errorf("tools that are called as requests are: %+v, %v", v.HTTP, v.Warnings)
	}
}

// The params of requests are held to the sandbox directory as arguments are, and URIs of resources
// may have any scheme.
func TestBindRequests(t *testing.T) {
	box := newSandbox(t)
	f := fleetOf("a: use")
	f.offer("prompt", "a", "review")
	for _, tt := range []struct {
		id     durward.ToolID
		params string
		ok     bool
	}{
		{"a:resources/read", `{"uri":"file://ROOT/a.txt"}`, true},
		{"a:resources/read", `{"uri":"file:///etc/passwd"}`, false},
		{"a:resources/read", `{"uri":"FILE:///etc/passwd"}`, false},
		{"a:resources/read", `{"uri":"file://ROOT/out/x"}`, false},
		{"a:resources/read", `{"uri":"file://ROOT/%252e%252e/x"}`, false},
		{"a:resources/read", `{"uri":"memo://..%5c..%5cetc"}`, false},
		{"a:resources/read", `{"uri":"memo://1"}`, true},
		{"a:resources/read", `{"uri":"urn:isbn:1"}`, true},
		{"a:resources/read", `{"uri":"/etc/passwd"}`, false},
		{"a:resources/subscribe", `{"uri":"file:///etc/passwd"}`, false},
		{"prompts/get:review", `{"name":"review","arguments":{"path":"/etc/passwd"}}`, false},
		{"prompts/get:review", `{"name":"review","arguments":{"path":"ROOT/a.txt","text":"/etc"}}`, true},
		{"a:completion/complete", `{"ref":{"type":"ref/prompt","name":"review"},"argument":{"name":"path","value":"/etc/pa"}}`, false},
		{"a:completion/complete", `{"ref":{"type":"ref/prompt","name":"review"},"argument":{"name":"path","value":"su"}}`, true},
		{"a:completion/complete", `{"ref":{"type":"ref/prompt","name":"review"},"argument":{"name":"text","value":"/etc"}}`, true},
		{"a:completion/complete", `{"ref":{"type":"ref/resource","uri":"memo://{x}"},"argument":{"name":"x","value":""},"context":{"arguments":{"dir":"/etc"}}}`, false},
		{"a:completion/complete", `{"ref":{"type":"ref/resource","uri":"memo://{x}"},"argument":[]}`, true},
	} {
		for _, extras := range []string{``, ` "fileServer": true`} {
			s := sourceOf(t, configOf(t, exposeAll, "a"+extras), f, box)
			found, err := s.Find(t.Context(), tt.id)
			must(t, err)
			params := strings.ReplaceAll(tt.params, "ROOT", box.root)
			input, err := s.Bind(t.Context(), found, durward.Call{Tool: tt.id, Input: json.RawMessage(params)})
			if (err == nil) != tt.ok || tt.ok && string(input) != params {
				t.Errorf("%s%s %s: %s, %v", tt.id, extras, tt.params, input, err)
			}
		}
	}
}

// What the configuration says of the arguments of a server holds for those of its prompts, and for
// those that go with what is to be completed.
func TestArgumentsOfPromptsAreAsOfTools(t *testing.T) {
	box := newSandbox(t)
	f := fleetOf("a: use")
	f.offer("prompt", "a", "review")
	const complete = `{"ref":{"type":"ref/prompt","name":"review"},"argument":{"name":"x","value":""},"context":{"arguments":`
	for _, tt := range []struct {
		extras, arguments string
		ok                bool
	}{
		{`"fileServer": true`, `{"logfile":"/etc/passwd"}`, false},
		{`"fileServer": true`, `{"logfile":"ROOT/a.txt"}`, true},
		{`"fileServer": false`, `{"logfile":"/etc/passwd"}`, true},
		{`"pathArgs": ["/in/here"]`, `{"in":{"here":"/etc/passwd"}}`, false},
		{`"pathArgs": ["/in/here"]`, `{"in":{"here":"ROOT/a.txt","there":"/etc/passwd"}}`, true},
		{`"pathArgs": ["/here"]`, `{"in":{"here":"/etc/passwd"}}`, true},
		{`"pathArgs": ["/here"]`, `{"here":"/etc/passwd"}`, false},
		{`"pathArgs": ["here"]`, `{"in":{"here":"/etc/passwd"}}`, false},
	} {
		arguments := strings.ReplaceAll(tt.arguments, "ROOT", box.root)
		s := sourceOf(t, configOf(t, exposeAll, "a "+tt.extras), f, box)
		for id, params := range map[durward.ToolID]string{
			"use": arguments, "prompts/get:review": `{"name":"review","arguments":` + arguments + `}`, "a:completion/complete": complete + arguments + `}}`,
		} {
			found, err := s.Find(t.Context(), id)
			must(t, err)
			input, err := s.Bind(t.Context(), found, durward.Call{Tool: id, Input: json.RawMessage(params)})
			if (err == nil) != tt.ok || tt.ok && string(input) != params {
				t.Errorf("%s %s %s: %s, %v", id, tt.extras, params, input, err)
			}
		}
	}
}
