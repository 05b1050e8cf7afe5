package cli

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/durward/durward/internal/mcppolicy"
)

// TestJSONHasOneFormEverywhere runs commands that do and that fail: each prints one
// object in its envelope, with keys in snake case. What the audit log, a report and a
// policy hold keeps the names it has there.
func TestJSONHasOneFormEverywhere(t *testing.T) {
	env := home(t)
	dir := env["HOME"]
	t.Chdir(dir)
	if err := os.WriteFile("policy.yaml", []byte(mcppolicy.Starter(dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args, schema string
		ok           bool
	}{
		{"version", "version", true},
		{"doctor", "doctor", true},
		{"links --dry-run .", "links", true},
		{"links", "links", false},
		{"exec -- true", "exec", true},
		{"exec -- no-such-program", "exec", false},
		{"exec --write . --level 1 -- true", "exec", false},
		{"exec --dry-run -- true", "exec", true},
		{"explain -- true", "explain", true},
		{"explain -- no-such-program", "explain", false},
		{"explain tool", "explain", false},
		{"exec --no-such-flag", "exec", false},
		{"audit verify", "audit.verify", true},
		{"audit verify no-such-file", "audit.verify", false},
		{"audit search --phase intent", "audit.search", true},
		{"audit tail -n 1", "audit.record", true},
		{"audit show x", "audit.show", false},
		{"version --config no-such-file", "version", false},
		{"init --dry-run site", "init", true},
		{"init --template nothing", "init", false},
		{"serve . --check", "serve", false},
		{"policy validate --policy policy.yaml", "policy.validate", true},
		{"policy validate --policy none.yaml", "policy.validate", false},
		{"policy show --policy policy.yaml", "policy.show", true},
		{"policy add-root --policy policy.yaml --dry-run /usr", "policy.add-root", true},
		{"policy remove-root --policy policy.yaml /", "policy.remove-root", false},
		{"policy edit --policy policy.yaml", "policy.edit", false},
		{"cmd add --policy policy.yaml true --exec true", "cmd.add", true},
		{"cmd add --policy policy.yaml true --exec true", "cmd.add", false},
		{"cmd list --policy policy.yaml", "cmd.list", true},
		{"cmd remove --policy policy.yaml false", "cmd.remove", false},
		{"nonsense", "durward", false},
	} {
		r := durwardIn(t.Context(), t, env, dir, append([]string{"--json"}, strings.Fields(test.args)...)...)
		var e struct {
			Schema string         `json:"schema"`
			OK     *bool          `json:"ok"`
			Data   any            `json:"data"`
			Error  map[string]any `json:"error"`
		}
		if err := json.Unmarshal([]byte(r.stdout), &e); err != nil || strings.Count(r.stdout, "\n") != 1 {
			t.Errorf("%s: %q is not one object: %v", test.args, r.stdout, err)
			continue
		}
		if e.Schema != "durward/"+test.schema+"/v1" || e.OK == nil || *e.OK != test.ok || (e.Error == nil) != test.ok || (test.ok && e.Data == nil) {
			t.Errorf("%s: %s", test.args, r.stdout)
		}
		if (r.status == 0) != test.ok && test.schema != "exec" {
			t.Errorf("%s: status %d", test.args, r.status)
		}
		for _, key := range append(oddKeys(e.Data), oddKeys(any(e.Error))...) {
			t.Errorf("%s: the key %q", test.args, key)
		}
	}
}

var snakeCase = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// oddKeys lists the keys that are not in snake case, outside of reports, records and policies.
func oddKeys(value any) []string {
	var odd []string
	switch v := value.(type) {
	case map[string]any:
		if v["seq"] != nil && v["prev"] != nil {
			return nil
		}
		for key, below := range v {
			if !snakeCase.MatchString(key) {
				odd = append(odd, key)
			}
			if key != "sandbox" && key != "policy" {
				odd = append(odd, oddKeys(below)...)
			}
		}
	case []any:
		for _, below := range v {
			odd = append(odd, oddKeys(below)...)
		}
	}
	return odd
}
