package mcpservers_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/core/coretest"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/schema"
	"github.com/durward/durward/internal/source/mcpservers"
)

func TestSource(t *testing.T) {
	coretest.Source(t, func(t *testing.T) core.Source {
		return sourceOf(t, configOf(t, "", "a", "b"), fleetOf("a: read write", "b: read list"), newSandbox(t))
	})
}

// onHTTP lists the names on the HTTP API with who is meant, and onMCP those that clients of MCP
// see.
func onHTTP(v *mcpservers.View) []string {
	var list []string
	for _, e := range v.HTTP {
		list = append(list, string(e.ID)+"="+e.Server+"/"+e.Original)
	}
	return list
}

func onMCP(v *mcpservers.View) []string {
	var list []string
	for _, e := range v.MCP {
		list = append(list, e.MCPName+"="+e.Server+"/"+e.Original)
	}
	return list
}

func TestNames(t *testing.T) {
	long := strings.Repeat("x", 70)
	for name, test := range map[string]struct {
		top       string
		servers   []string
		tools     []string
		http, mcp []string
		warnings  []string
	}{
		"each its own": {
			"",
			[]string{"b", "a"},
			[]string{"a: read", "b: write"},
			[]string{"read=a/read", "write=b/write"},
			[]string{"read=a/read", "write=b/write"},
			nil,
		},
		"two have one": {
			"",
			[]string{"b", "a", "c"},
			[]string{"a: read", "b: read list", "c: read"},
			[]string{"a__read=a/read", "c__read=c/read", "list=b/list", "read=b/read"},
			[]string{"a__read=a/read", "b__read=b/read", "c__read=c/read", "list=b/list"},
			[]string{`several servers have a tool called "read": that of "b" has the name, and the others are a__read, c__read`},
		},
		"always with the server": {
			`"prefix": "always",`,
			[]string{"a"},
			[]string{"a: read"},
			[]string{"read=a/read"},
			[]string{"a__read=a/read"},
			nil,
		},
		"never with the server": {
			`"prefix": "never",`,
			[]string{"b", "a"},
			[]string{"a: read x", "b: read"},
			[]string{"a__read=a/read", "read=b/read", "x=a/x"},
			[]string{"read=b/read", "x=a/x"},
			[]string{
				`several servers have a tool called "read": that of "b" has the name, and the others are a__read`,
				`clients of MCP do not see a__read, since server "b" has a tool "read", too, and prefix is never`,
			},
		},
		"characters and lengths": {
			"",
			[]string{"a"},
			[]string{"a: a.b a_b ü " + long},
			[]string{"a.b=a/a.b", "a_b=a/a_b", long + "=a/" + long, "ü=a/ü"},
			[]string{"_=a/ü", "a_b=a/a_b", "a_b_33fff52e=a/a.b", strings.Repeat("x", 55) + "_df1902eb=a/" + long},
			nil,
		},
		"twice in one server": {
			"",
			[]string{"a"},
			[]string{"a: read read"},
			[]string{"read=a/read"},
			[]string{"read=a/read"},
			[]string{`server "a" has two tools called "read"; the first is kept`},
		},
		"qualified names of others": {
			"",
			[]string{"a", "b", "a__b"},
			[]string{"a: b__c b__c.d", "b: c b__x a_b a__b__y", "a__b: c"},
			[]string{"a__b__c=a__b/c", "a_b=b/a_b", "b__a__b__y=b/a__b__y", "b__b__x=b/b__x", "c=b/c"},
			[]string{"a__b__c=a__b/c", "a_b=b/a_b", "b__a__b__y=b/a__b__y", "b__b__x=b/b__x", "b__c=b/c"},
			[]string{
				`the tool "b__c" of server "a" is left out, since a__b__c would be one of server "a__b"; rename it, or one of the servers`,
				`the tool "b__c.d" of server "a" is left out, since a__b__c.d would be one of server "a__b"; rename it, or one of the servers`,
				`several servers have a tool called "c": that of "b" has the name, and the others are a__b__c`,
			},
		},
		"names that clients cannot tell apart": {
			"",
			[]string{"a", "b"},
			[]string{"a: read.file " + long, "b: read_file a._read " + strings.Repeat("x", 55) + "_df1902eb"},
			[]string{"a._read=b/a._read", "read.file=a/read.file", "read_file=b/read_file", strings.Repeat("x", 55) + "_df1902eb=b/" + strings.Repeat("x", 55) + "_df1902eb", long + "=a/" + long},
			[]string{
				"a__read_file=a/read.file", "b__a__read=b/a._read", "b__read_file=b/read_file",
				strings.Repeat("x", 55) + "_5ad4a61a=b/" + strings.Repeat("x", 55) + "_df1902eb", strings.Repeat("x", 55) + "_df1902eb=a/" + long,
			},
			nil,
		},
		"never, and names that clients cannot tell apart": {
			`"prefix": "never",`,
			[]string{"a", "b"},
			[]string{"a: x.y", "b: x_y"},
			[]string{"x.y=a/x.y", "x_y=b/x_y"},
			[]string{"x_y=a/x.y"},
			[]string{`clients of MCP do not see b__x_y, since server "a" has a tool "x_y", too, and prefix is never`},
		},
		"a qualified name of its own": {
			"",
			[]string{"a"},
			[]string{"a: x a__x"},
			[]string{"a__a__x=a/a__x", "x=a/x"},
			[]string{"a__a__x=a/a__x", "x=a/x"},
			[]string{`the tool "a__x" of server "a" is called a__a__x, since its tool "x" is always called the other`},
		},
		"allowed, denied and renamed": {
			"",
			[]string{`a "allowTools": ["r*", "x"], "denyTools": ["rm*"], "rename": {"read": "get", "gone": "there"}`},
			[]string{"a: read rmdir x write"},
			[]string{"get=a/read", "x=a/x"},
			[]string{"get=a/read", "x=a/x"},
			[]string{`rename of server "a" names a tool "gone", which it does not have`},
		},
	} {
		s := sourceOf(t, configOf(t, test.top, test.servers...), fleetOf(test.tools...), newSandbox(t))
		v := s.View()
		if diff := cmp.Diff(test.http, onHTTP(v)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(test.mcp, onMCP(v)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(test.warnings, v.Warnings); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Names by which clients of MCP know something else are nobody's there.
func TestNamesThatAreTaken(t *testing.T) {
	for _, prefix := range []string{"collisions", "always", "never"} {
		s, err := mcpservers.New(configOf(t, `"prefix": "`+prefix+`",`, "a", "b"), mcpservers.Options{
			Servers: fleetOf("a: find.tool find_tool", "b: find_tool"), Judge: newSandbox(t), Taken: []string{"find_tool"},
		})
		must(t, err)
		if _, ok := s.View().OfMCP("find_tool"); ok {
			t.Errorf("%s: find_tool is one of %v", prefix, onMCP(s.View()))
		}
		for _, name := range []string{"a__find_tool", "b__find_tool"} {
			if e, ok := s.View().OfMCP(name); !ok || e.Original != "find_tool" || !slices.Contains(onMCP(s.View()), name+"="+e.Server+"/find_tool") {
				t.Errorf("%s: %s is not there: %v", prefix, name, onMCP(s.View()))
			}
		}
	}
}

// Whatever servers have: names are good and nobody's twice, qualified ones always work, and what
// clients of MCP see does not depend on the order of the servers.
func TestNamesAreNobodysTwice(t *testing.T) {
	box := newSandbox(t)
	good := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	rapid.Check(t, func(r *rapid.T) {
		names := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "a__b", "a_", "c-d"}), func(s string) string { return s }).Draw(r, "servers")
		word := rapid.OneOf(rapid.StringMatching(`[ab_.]{1,6}`), rapid.StringMatching(`b__[ab]`), rapid.StringMatching(`[a-b.]{1}x{60,70}`))
		f := fleetOf()
		for _, name := range names {
			for _, one := range rapid.SliceOfN(word, 0, 6).Draw(r, name) {
				f.tools[name] = append(f.tools[name], tool(one))
			}
		}
		top := `"prefix": "` + rapid.SampledFrom([]string{"collisions", "always"}).Draw(r, "prefix") + `",`
		s := sourceOf(t, configOf(t, top, names...), f, box)
		v := s.View()
		seen := map[string]bool{}
		for _, e := range v.MCP {
			if !good.MatchString(e.MCPName) || seen[e.MCPName] {
				r.Errorf("clients see %q", onMCP(v))
			}
			seen[e.MCPName] = true
			if found, ok := v.OfMCP(e.MCPName); !ok || found != e {
				r.Errorf("%s is somebody else", e.MCPName)
			}
		}
		for _, e := range v.HTTP {
			for _, name := range []string{string(e.ID), e.Qualified} {
				if found, err := s.Find(t.Context(), durward.ToolID(name)); err != nil || !reflect.DeepEqual(found, e.Tool) {
					r.Errorf("%s is %v, %v", name, found.Spec, err)
				}
			}
			if found, ok := v.OfMCP(e.Qualified); !ok || found != e {
				r.Errorf("%s is somebody else for clients of MCP", e.Qualified)
			}
		}
		if len(v.HTTP) != len(v.MCP) {
			r.Errorf("%d of %d tools have a name for clients", len(v.MCP), len(v.HTTP))
		}
		slices.Reverse(names)
		if diff := cmp.Diff(onMCP(v), onMCP(sourceOf(t, configOf(t, top, names...), f, box).View())); diff != "" {
			r.Error(diff)
		}
	})
}

// A server that comes by at run time, whatever it calls its tools, is never called by a name that
// clients were shown for a tool of another server.
func TestNamesAreNotTakenOver(t *testing.T) {
	box := newSandbox(t)
	rapid.Check(t, func(r *rapid.T) {
		names := []string{"a", "b", "a_", "a__b"}
		word := rapid.OneOf(rapid.StringMatching(`[ab_.]{1,6}`), rapid.StringMatching(`[a-b.]{1}x{60,70}`))
		f := fleetOf()
		for _, name := range names {
			for _, one := range rapid.SliceOfN(word, 0, 4).Draw(r, name) {
				f.tools[name] = append(f.tools[name], tool(one))
			}
		}
		s := sourceOf(t, configOf(t, "", append([]string{"evil"}, names...)...), f, box)
		before := s.View()
		var evil []mcpservers.Tool
		for _, e := range before.MCP {
			for _, one := range []string{e.MCPName, e.Qualified, e.Original, strings.ReplaceAll(e.MCPName, "_", ".")} {
				evil = append(evil, tool(one))
			}
		}
		f.set("evil", evil...)
		s.Refresh()
		for _, e := range before.MCP {
			if now, ok := s.View().OfMCP(e.MCPName); ok && now.Server != e.Server {
				r.Errorf("%s was of %s and is of %s", e.MCPName, e.Server, now.Server)
			}
			if now, ok := s.View().OfMCP(e.Qualified); !ok || now.Server != e.Server {
				r.Errorf("%s is of somebody else", e.Qualified)
			}
		}
	})
}

func TestAToolIsWhatItsServerSays(t *testing.T) {
	f := fleetOf()
	said := mcpservers.Tool{
		Name: "read", Title: "Read", Description: "reads", InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: json.RawMessage(`{}`),
		Annotations: json.RawMessage(`{"readOnlyHint":true,"idempotentHint":true,"destructiveHint":"yes","title":"x"}`), Raw: json.RawMessage(`{"name":"read"}`),
	}
	f.set("a", said, mcpservers.Tool{Name: ""})
	s := sourceOf(t, configOf(t, "", "a"), f, newSandbox(t))
	want := durward.Tool{
		ID: "read", Title: "Read", Doc: "reads", Input: said.InputSchema, Output: said.OutputSchema, Effect: durward.Effect{ReadOnly: true, Idempotent: true},
		Engine: "mcpclient", Server: "a", Spec: &hubconfig.Target{Server: "a", Tool: "read"},
	}
	got, err := s.Find(t.Context(), "a__read")
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if e := s.View().HTTP[0]; e.Server != "a" || e.Original != "read" || e.Qualified != "a__read" || !reflect.DeepEqual(e.Said, said) {
		t.Errorf("%+v", e)
	}
	if w := s.View().Warnings; len(w) != 1 {
		t.Errorf("a tool without a name: %q", w)
	}
}

func TestToolsOfStoppedServersAreKnownAndNotListed(t *testing.T) {
	f := fleetOf("a: read", "b: read write")
	s := sourceOf(t, configOf(t, "", "a", "b"), f, newSandbox(t))
	before := s.View().Version
	f.stop("a", true)
	if !s.Refresh() {
		t.Error("nothing has changed")
	}
	v := s.View()
	if got := append(onHTTP(v), onMCP(v)...); !slices.Equal(got, []string{"b__read=b/read", "write=b/write", "b__read=b/read", "write=b/write"}) {
		t.Errorf("listed: %q", got)
	}
	for name, server := range map[string]string{"read": "a", "a__read": "a", "b__read": "b"} {
		if found, err := s.Find(t.Context(), durward.ToolID(name)); err != nil || found.Spec.(*hubconfig.Target).Server != server {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
		if e, ok := v.OfMCP(name); name != "read" && (!ok || e.Server != server) {
			t.Errorf("%s: %+v", name, e)
		}
	}
	f.stop("a", false)
	if !s.Refresh() || s.View().Version != before || s.Refresh() {
		t.Error("what is as it was has another version")
	}
}

func TestDisabledServersOfferNothing(t *testing.T) {
	c := parse(t, `{"servers": [{"name": "a", "command": "x", "disabled": true}]}`)
	s := sourceOf(t, c, fleetOf("a: use"), newSandbox(t))
	if _, err := s.Find(t.Context(), "use"); durward.ReasonOf(err) != durward.ToolNotFound {
		t.Error(err)
	}
}

func TestPinnedTools(t *testing.T) {
	box := newSandbox(t)
	pinned := tool("read")
	reordered := pinned
	reordered.InputSchema = json.RawMessage("{ \"type\"\n:\"object\"}")
	reordered.Annotations = json.RawMessage(`{"a":1}`)
	for name, test := range map[string]struct {
		change func(*mcpservers.Tool)
		held   bool
	}{
		"as it was":          {func(*mcpservers.Tool) {}, false},
		"written otherwise":  {func(t *mcpservers.Tool) { *t = reordered }, false},
		"another text":       {func(t *mcpservers.Tool) { t.Description += "!" }, true},
		"another schema":     {func(t *mcpservers.Tool) { t.InputSchema = json.RawMessage(`{"type":"object","x":1}`) }, true},
		"no schema":          {func(t *mcpservers.Tool) { t.InputSchema = nil }, true},
		"a number too large": {func(t *mcpservers.Tool) { t.InputSchema = json.RawMessage(`{"maximum":1e999}`) }, true},
	} {
		now := pinned
		test.change(&now)
		f := fleetOf("b: read")
		f.set("a", now, tool("other"))
		s := sourceOf(t, configOf(t, "", `a "toolHashes": {"read": "`+mcpservers.Pin(pinned)+`"}`), f, box)
		found, err := s.Find(t.Context(), "read")
		must(t, err)
		_, err = s.Bind(t.Context(), found, durward.Call{Tool: "read", Input: json.RawMessage(`{}`)})
		if held := durward.ReasonOf(err) == durward.ToolsChanged; held != test.held {
			t.Errorf("%s: %v", name, err)
		}
		if shown := len(s.View().HTTP) == 2 && len(s.View().MCP) == 2; shown == test.held {
			t.Errorf("%s: %d are shown", name, len(s.View().HTTP))
		}
		if _, err := s.Find(t.Context(), "other"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want := []mcpservers.Withheld{{Server: "a", Want: mcpservers.Pin(pinned), Got: mcpservers.Pin(now), Tool: now}}
		if !test.held {
			want = nil
		}
		if diff := cmp.Diff(want, s.View().Withheld); diff != "" || len(s.View().Warnings) != len(want) {
			t.Errorf("%s: %s %q", name, diff, s.View().Warnings)
		}
	}
	if a, b := mcpservers.Pin(mcpservers.Tool{Name: "a", Description: "b"}), mcpservers.Pin(mcpservers.Tool{Name: "a\",\"b", Description: ""}); a == b {
		t.Error("two tools have one digest")
	}
}

// A tool that is withheld keeps its names: who calls it by one gets no other server's.
func TestWithheldToolsKeepTheirNames(t *testing.T) {
	pinned := tool("read")
	for _, prefix := range []string{"collisions", "never"} {
		f := fleetOf("a: read", "b: read")
		c := configOf(t, `"prefix": "`+prefix+`",`, `a "toolHashes": {"read": "`+mcpservers.Pin(pinned)+`"}`, "b")
		s := sourceOf(t, c, f, newSandbox(t))
		calls := func(id durward.ToolID) (server string, err error) {
			found, err := s.Find(t.Context(), id)
			must(t, err)
			_, err = s.Bind(t.Context(), found, durward.Call{Tool: id, Input: json.RawMessage(`{}`)})
			return found.Server, err
		}
		before, _ := s.View().OfMCP("read")
		changed := pinned
		changed.Description += "!"
		f.set("a", changed)
		s.Refresh()
		for _, id := range []durward.ToolID{"read", "a__read"} {
			if server, err := calls(id); server != "a" || durward.ReasonOf(err) != durward.ToolsChanged {
				t.Errorf("%s: %s is of %s, %v", prefix, id, server, err)
			}
		}
		if server, err := calls("b__read"); server != "b" || err != nil {
			t.Errorf("%s: %s, %v", prefix, server, err)
		}
		if after, _ := s.View().OfMCP("read"); (before == nil) != (after == nil) || after != nil && after.Server != "a" {
			t.Errorf("%s: clients of MCP find another tool", prefix)
		}
		f.set("a", pinned)
		s.Refresh()
		if server, err := calls("read"); server != "a" || err != nil {
			t.Errorf("%s: once it is what it was, it is of %s, %v", prefix, server, err)
		}
	}
}

func TestArgumentsAreHeldToTheSchema(t *testing.T) {
	f := fleetOf()
	one := tool("use")
	one.InputSchema = json.RawMessage(`{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"],"$defs":{"n":{"type":"integer"}}}`)
	bad, away := tool("bad"), tool("away")
	bad.InputSchema = json.RawMessage(`{"type":"nothing"}`)
	away.InputSchema = json.RawMessage(`{"$ref":"https://elsewhere/x.json"}`)
	f.set("a", one, bad, away)
	for top, held := range map[string]bool{"": false, `"validateArguments": true,`: true} {
		var warned []string
		s, err := mcpservers.New(configOf(t, top, "a"), mcpservers.Options{Servers: f, Judge: newSandbox(t), Warn: func(w string) { warned = append(warned, w) }})
		must(t, err)
		if gets, err := bind(t, s, `{"n":1,"path":"a"}`); err != nil || !strings.Contains(gets, "/root/a") {
			t.Errorf("%s, %v", gets, err)
		}
		_, err = bind(t, s, `{"n":"s3cret"}`)
		violations, _ := durward.DetailOf(err).Members["errors"].([]schema.Violation)
		if (durward.ReasonOf(err) == durward.InputMismatch) != held || (len(violations) == 1) != held {
			t.Errorf("%s: %v", top, err)
		}
		if _, err = bind(t, s, `{"n":"x","path":"/etc"}`); durward.ReasonOf(err) != durward.OutsideRoot {
			t.Errorf("the path is not judged first: %v", err)
		}
		if (len(warned) == 2) != held {
			t.Errorf("warned of %q", warned)
		}
		s.Refresh()
		if len(warned) > 2 {
			t.Errorf("warned again: %q", warned)
		}
		for _, id := range []durward.ToolID{"bad", "away"} {
			found, err := s.Find(t.Context(), id)
			must(t, err)
			if _, err := s.Bind(t.Context(), found, durward.Call{Input: json.RawMessage(`{}`)}); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
	}
}

func TestStrangersAreNotBound(t *testing.T) {
	s := sourceOf(t, configOf(t, "", "a"), fleetOf("a: use"), newSandbox(t))
	for _, spec := range []any{nil, &hubconfig.Target{Server: "b", Tool: "use"}} {
		if _, err := s.Bind(t.Context(), durward.Tool{ID: "use", Spec: spec}, durward.Call{Input: json.RawMessage(`{}`)}); err == nil {
			t.Errorf("a tool with %v is bound", spec)
		}
	}
	if _, err := bind(t, s, `[]`); durward.KindOf(err) != durward.Invalid {
		t.Errorf("arguments that are a list: %v", err)
	}
	if _, err := mcpservers.New(&hubconfig.Config{}, mcpservers.Options{}); err == nil {
		t.Error("a source without its parts is made")
	}
}

// Whoever looks while servers come and go sees one state of things.
func TestTheViewChangesAtOnce(t *testing.T) {
	f := fleetOf("a: x1 x2 x3")
	s := sourceOf(t, configOf(t, "", "a", "b"), f, newSandbox(t))
	sets := map[string]bool{"x1 x2 x3": true, "y1 y2": true, "": true}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range 200 {
				switch (i + j) % 3 {
				case 0:
					f.set("a", tool("x1"), tool("x2"), tool("x3"))
				case 1:
					f.set("a", tool("y1"), tool("y2"))
				case 2:
					f.set("a")
				}
				s.Refresh()
			}
		})
		all.Go(func() {
			for range 400 {
				var ids []string
				for _, e := range s.View().HTTP {
					ids = append(ids, string(e.ID))
				}
				if !sets[strings.Join(ids, " ")] {
					t.Errorf("half of two states: %q", ids)
				}
			}
		})
	}
	all.Wait()
	f.set("a", tool("y1"), tool("y2"))
	s.Refresh()
	if got := slices.Sorted(maps.Keys(sets)); len(got) != 3 || len(s.View().HTTP) != 2 {
		t.Errorf("%q", onHTTP(s.View()))
	}
}
