//go:build unix

package mcppolicy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/durward/durward/internal/mcppolicy"
)

const referenceFile = "../../docs/policy.md"

// shape is what a row of the page tells of a schema.
type shape struct {
	Ref              string `json:"$ref"`
	Type             any
	Description      string
	Default          json.RawMessage
	Minimum, Maximum int64
	Enum             []string
	Required         []string
	AllOf            []struct{ OneOf []struct{ Required []string } }
	Properties       map[string]*shape
	Items            *shape
}

// TestThePageHasARowForEveryField holds docs/policy.md to the schema.
func TestThePageHasARowForEveryField(t *testing.T) {
	var s shape
	if err := json.Unmarshal(mcppolicy.Schema(), &s); err != nil {
		t.Fatal(err)
	}
	table := "| field | holds | default | what it says |\n|---|---|---|---|\n" + strings.Join(s.rows(""), "")
	page, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	const start, end = "<!-- fields -->\n", "<!-- end of fields -->\n"
	before, rest, _ := strings.Cut(string(page), start)
	_, after, found := strings.Cut(rest, end)
	if !found {
		t.Fatal("docs/policy.md has lost the marks of its table")
	}
	want := before + start + table + end + after
	if *update {
		if err := os.WriteFile(referenceFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(page) != want {
		t.Error("docs/policy.md is stale; go test ./internal/mcppolicy -update")
	}
}

func (s *shape) rows(prefix string) []string {
	var rows []string
	for name, p := range s.Properties {
		if p.Ref != "" {
			continue
		}
		rows = append(rows, fmt.Sprintf("| `%s%s` | %s | %s | %s |\n", prefix, name, p.holds(), p.preset(s.requires(name)), p.Description))
		rows = append(rows, p.rows(prefix+name+".")...)
		if p.Items != nil {
			rows = append(rows, p.Items.rows(prefix+name+"[].")...)
		}
	}
	slices.SortFunc(rows, func(a, b string) int { return strings.Compare(field(a), field(b)) })
	return rows
}

// field gives the name that a row begins with.
func field(row string) string { return strings.Split(row, "`")[1] }

func (s *shape) requires(name string) bool {
	required := slices.Contains(s.Required, name)
	for _, rule := range s.AllOf {
		for _, one := range rule.OneOf {
			required = required || slices.Contains(one.Required, name)
		}
	}
	return required
}

func (s *shape) holds() string {
	switch {
	case s.Items != nil && s.Items.Enum != nil:
		return "list of `" + strings.Join(s.Items.Enum, "`, `") + "`"
	case s.Items != nil && s.Items.Properties != nil:
		return "list of mappings"
	case s.Items != nil:
		return "list of strings"
	case s.Enum != nil:
		return "`" + strings.Join(s.Enum, "`, `") + "`"
	case s.Maximum > 0 && s.Minimum == s.Maximum:
		return fmt.Sprint(s.Minimum)
	case s.Maximum > 0:
		return fmt.Sprintf("%d to %d", s.Minimum, s.Maximum)
	case s.Type == "object":
		return "mapping"
	}
	return fmt.Sprint(s.Type)
}

func (s *shape) preset(required bool) string {
	switch {
	case required:
		return "required"
	case s.Default == nil:
		return ""
	}
	return "`" + string(s.Default) + "`"
}
