package manifest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/core/coretest"
	"github.com/durward/durward/internal/domain"
	"github.com/durward/durward/internal/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const two = `domain_id: d
version: "1"
tools:
  - tool_id: web.fetch
    display_name: Fetch
    description: Fetches a page.
    transport: {type: http, base_url: "http://w:8080"}
    input_schema_ref: schemas/in.json
    output_schema_ref: schemas/out.json
  - tool_id: a
    transport: {type: http, base_url: "http://w:8080"}
`

const in = `{"type": "object", "required": ["url"], "properties": {"url": {"$ref": "common.json#/$defs/url"}}, "additionalProperties": false}`

// sample is a package without a mistake.
func sample() map[string]string {
	return map[string]string{
		"manifest.yaml": two, "policies.yaml": "concurrency: {per_tool_max_inflight: {a: 3}}\n",
		"schemas/in.json": in, "schemas/out.json": `{"type": "object"}`, "schemas/common.json": `{"$defs": {"url": {"type": "string", "format": "uri"}}}`,
	}
}

// lay writes a package into a fresh folder and gives where it is.
func lay(t testing.TB, files map[string]string) (Options, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, os.WriteFile(file, []byte(text), 0o644))
	}
	return Options{Manifest: filepath.Join(dir, "manifest.yaml"), Policies: filepath.Join(dir, "policies.yaml")}, dir
}

func load(t testing.TB, files map[string]string) *domain.Domain {
	t.Helper()
	o, _ := lay(t, files)
	d, err := Load(o)
	must(t, err)
	return d
}

func TestSource(t *testing.T) {
	coretest.Source(t, func(t *testing.T) core.Source { return New(load(t, sample())) })
}

func TestTools(t *testing.T) {
	s := New(load(t, sample()))
	tool, err := s.Find(t.Context(), "web.fetch")
	must(t, err)
	if tool.Title != "Fetch" || tool.Doc != "Fetches a page." || string(tool.Input) != in || string(tool.Output) != `{"type": "object"}` || tool.Engine != "worker" || tool.Concurrent != 0 {
		t.Errorf("%+v", tool)
	}
	other, err := s.Find(t.Context(), "a")
	must(t, err)
	if other.Title != "a" || other.Input != nil || other.Output != nil || other.Concurrent != 3 || other.Spec.(*domain.Tool).MaxInflight != 3 {
		t.Errorf("%+v", other)
	}
}

func TestBind(t *testing.T) {
	s := New(load(t, sample()))
	for _, test := range []struct {
		tool  durward.ToolID
		input string
		want  []schema.Violation
	}{
		{"web.fetch", `{"url": "https://a/"}`, nil},
		{"a", ` {"anything": [1]}`, nil},
		{"a", `[]`, []schema.Violation{{Path: "", Keyword: "type", Message: "must be an object"}}},
		{"web.fetch", `"x"`, []schema.Violation{{Path: "", Keyword: "type", Message: "must be an object"}}},
		{"web.fetch", ``, []schema.Violation{{Path: "", Keyword: "type", Message: "must be an object"}}},
		{"web.fetch", `{"url": "s3cret", "s3cret": 1}`, []schema.Violation{
			{Path: "/url", Keyword: "format", Message: "must be an absolute URI"},
			{Path: "/s3cret", Keyword: "additionalProperties", Message: "must not be there"},
		}},
	} {
		tool, err := s.Find(t.Context(), test.tool)
		must(t, err)
		input, err := s.Bind(t.Context(), tool, durward.Call{Input: json.RawMessage(test.input)})
		if err == nil && string(input) != test.input {
			t.Errorf("%s: the tool gets %s", test.input, input)
		}
		got, _ := durward.DetailOf(err).Members["errors"].([]schema.Violation)
		if diff := cmp.Diff(test.want, got); diff != "" || (err == nil) != (test.want == nil) {
			t.Errorf("%s: %v %s", test.input, err, diff)
		}
		if err != nil && (durward.ReasonOf(err) != durward.InputMismatch || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%s: %v", test.input, err)
		}
	}
	if _, err := s.Bind(t.Context(), durward.Tool{ID: "else"}, durward.Call{}); err == nil {
		t.Error("a tool of another source is taken")
	}
}

func TestHashesFollowTheTexts(t *testing.T) {
	first := load(t, sample())
	for name, what := range map[string]string{"manifest.yaml": "both", "policies.yaml": "hash", "schemas/common.json": "both", "schemas/in.json": "both", "schemas/unread.json": "none"} {
		files := sample()
		files[name] += "\n"
		d := load(t, files)
		got := map[[2]bool]string{{false, false}: "both", {false, true}: "hash", {true, true}: "none"}[[2]bool{d.Hash == first.Hash, d.CatalogHash == first.CatalogHash}]
		if got != what {
			t.Errorf("after a change of %s %s changed; want %s", name, got, what)
		}
	}
	if d := load(t, sample()); d.Hash != first.Hash || !strings.HasPrefix(d.Hash, "sha256:") || d.Hash == d.CatalogHash {
		t.Errorf("%s and %s", d.Hash, first.Hash)
	}
}

// Every mistake of every file is told, in the order of the places.
func TestMistakes(t *testing.T) {
	change := func(name, from, to string) map[string]string {
		files := sample()
		if from == "" {
			files[name] = to
			return files
		}
		changed := strings.Replace(files[name], from, to, 1)
		if changed == files[name] {
			t.Fatalf("%s has no %q", name, from)
		}
		files[name] = changed
		return files
	}
	without := func(name string) map[string]string {
		files := sample()
		delete(files, name)
		return files
	}
	const refused = "$DIR/manifest.yaml:8: tools[0].input_schema_ref: "
	for name, test := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"no manifest":              {without("manifest.yaml"), []string{"$DIR/manifest.yaml: cannot be read: no such file or directory"}},
		"no policies":              {without("policies.yaml"), []string{"$DIR/policies.yaml: cannot be read: no such file or directory"}},
		"no schema":                {without("schemas/out.json"), []string{`$DIR/manifest.yaml:9: tools[0].output_schema_ref: "schemas/out.json": no such file or directory`}},
		"no other file":            {without("schemas/common.json"), []string{`$DIR/schemas/in.json:1: /properties/url/$ref: "common.json#/$defs/url": no such file or directory`}},
		"a manifest over its size": {change("manifest.yaml", "", strings.Repeat("#", 1<<20+1)), []string{"$DIR/manifest.yaml: cannot be read: it is over 1048576 bytes"}},
		"a schema over its size":   {change("schemas/out.json", "", strings.Repeat(" ", 1<<20)+"{}"), []string{`$DIR/manifest.yaml:9: tools[0].output_schema_ref: "schemas/out.json": the file is over its size limit`}},
		"no schema at all":         {change("schemas/out.json", "", "no"), []string{`$DIR/schemas/out.json:1: not strict JSON: expected a value`}},
		"a folder for a schema":    {change("manifest.yaml", "schemas/in.json", "schemas"), []string{refused + `"schemas": not a regular file`}},
		"a URL":                    {change("manifest.yaml", "schemas/in.json", "https://example.com/in.json"), []string{refused + `"https://example.com/in.json": a URL is never fetched; name a file in the manifest's folder`}},
		"an absolute path":         {change("manifest.yaml", "schemas/in.json", "/etc/passwd"), []string{refused + `"/etc/passwd": the path is absolute; write it relative to the manifest's folder`}},
		"a path out":               {change("manifest.yaml", "schemas/in.json", "schemas/../../in.json"), []string{refused + `"schemas/../../in.json": it leads out of the manifest's folder`}},
		"mistakes everywhere": {
			map[string]string{"manifest.yaml": strings.Replace(two, "type: http", "type: grpc", 1), "policies.yaml": "concurrency:\n  max_inflight: 0\n  per_tool_max_inflight: {b: 1}\n", "schemas/in.json": "{\n\"type\": 1}", "schemas/out.json": "{\n\n\"pattern\": \"(\"}"},
			[]string{
				`$DIR/manifest.yaml:7: tools[0].transport.type: must be one of http, not "grpc"`,
				"$DIR/policies.yaml:2: concurrency.max_inflight: must be between 1 and 100000, not 0",
				`$DIR/policies.yaml:3: concurrency.per_tool_max_inflight: the manifest has no tool "b" (did you mean "a"?)`,
				`$DIR/schemas/in.json:2: /type: must be one of "array", "boolean", "integer", "null", "number", "object", "string"`,
				`$DIR/schemas/out.json:3: /pattern: "(" is no pattern of RE2, which has no lookaround and no backreferences: missing closing ): "("`,
			},
		},
	} {
		o, dir := lay(t, test.files)
		d, err := Load(o)
		got := strings.Split(strings.ReplaceAll(errorText(err), dir, "$DIR"), "\n")
		if diff := cmp.Diff(test.want, got); diff != "" || d != nil {
			t.Errorf("%s: %v %s", name, d, diff)
		}
		if e := durward.AsError(err); e == nil || e.Reason != durward.DomainNotLoaded || e.Where != config.ProblemsOf(err)[0].Where || e.Where.File == "" {
			t.Errorf("%s: %#v", name, e)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return config.ProblemsOf(err).Error()
}

// A link may lead within the folder, as in volumes that are swapped in one step, and not out of it.
func TestLinks(t *testing.T) {
	o, dir := lay(t, sample())
	must(t, os.Rename(filepath.Join(dir, "schemas"), filepath.Join(dir, "now")))
	must(t, os.Symlink("now", filepath.Join(dir, "schemas")))
	_, err := Load(o)
	must(t, err)
	outside := filepath.Join(t.TempDir(), "in.json")
	must(t, os.WriteFile(outside, []byte(in), 0o644))
	must(t, os.Remove(filepath.Join(dir, "now", "in.json")))
	must(t, os.Symlink(outside, filepath.Join(dir, "now", "in.json")))
	if _, err = Load(o); !strings.HasSuffix(errorText(err), `manifest.yaml:8: tools[0].input_schema_ref: "schemas/in.json": it leads out of the manifest's folder`) {
		t.Error(err)
	}
}

func TestPaths(t *testing.T) {
	for _, test := range []struct {
		env                map[string]string
		manifest, policies string
	}{
		{nil, "domain/example_domain/manifest.yaml", "domain/example_domain/policies.yaml"},
		{map[string]string{"DOMAIN_ID": "d"}, "domain/d/manifest.yaml", "domain/d/policies.yaml"},
		{map[string]string{"DOMAIN_ID": "", "DOMAIN_MANIFEST_PATH": "/m"}, "/m", "domain/example_domain/policies.yaml"},
		{map[string]string{"DOMAIN_ID": "d", "DOMAIN_POLICIES_PATH": "p"}, "domain/d/manifest.yaml", "p"},
	} {
		manifest, policies := Variables(test.env).Paths()
		if manifest != filepath.FromSlash(test.manifest) || policies != filepath.FromSlash(test.policies) {
			t.Errorf("%v: %s and %s", test.env, manifest, policies)
		}
	}
	if _, err := Load(Options{ID: "../etc"}); errorText(err) != "DOMAIN_ID: a domain's id is 1 to 128 letters, digits and characters out of _.-" {
		t.Error(err)
	}
	o, dir := lay(t, sample())
	o.ID = "other"
	if _, err := Load(o); errorText(err) != filepath.Join(dir, "manifest.yaml")+`:1: domain_id: is "d", and DOMAIN_ID asks for "other"` {
		t.Error(err)
	}
}
