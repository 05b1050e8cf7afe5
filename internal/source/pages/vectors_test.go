package pages

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward"
)

// exceptions are the vectors that record what others do and we, on purpose, do not.
var exceptions = map[string]string{
	"bom":            "one leading byte order mark is no text",
	"lock_in_middle": "a lock that locks nothing is a mistake of the author",
}

type partVector struct {
	Literal *string `json:"literal"`
	Any     bool    `json:"any"`
	Regex   *string `json:"regex"`
}

type specVector struct {
	Parts  []partVector `json:"parts"`
	Locked bool         `json:"locked"`
}

func vectors[T any](t *testing.T, file string) []T {
	t.Helper()
	text, err := os.ReadFile("../../../testdata/vectors/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var all []T
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestFrontmatterVectors(t *testing.T) {
	type vector struct {
		Name, Document, Error, Why string
		Specs                      []specVector
	}
	all := vectors[vector](t, "site_frontmatter.json")
	excepted := 0
	for _, v := range all {
		t.Run(v.Name, func(t *testing.T) {
			f, err := ParseFrontmatter("page.md", []byte(v.Document))
			got := vector{Error: map[durward.Reason]string{"": "", durward.NoFrontmatter: "no_frontmatter", durward.BadFrontmatter: "invalid"}[durward.ReasonOf(err)]}
			for _, s := range f.Tools {
				got.Specs = append(got.Specs, vectorOf(s))
			}
			same := cmp.Equal(vector{Error: v.Error, Specs: v.Specs}, got) || len(v.Specs) == 0 && len(got.Specs) == 0 && v.Error == got.Error
			if why, ok := exceptions[v.Name]; ok {
				excepted++
				if same {
					t.Errorf("no longer an exception: %s", why)
				}
				return
			}
			if !same {
				t.Errorf("%s: got %v %+v, want %q %+v", v.Why, err, got.Specs, v.Error, v.Specs)
			}
		})
	}
	t.Logf("site_frontmatter.json: %d vectors, %d of them exceptions by name: bom, lock_in_middle", len(all), excepted)
	if len(all) != 58 || excepted != len(exceptions) {
		t.Errorf("%d vectors with %d exceptions ran; want 58 with %d", len(all), excepted, len(exceptions))
	}
}

func vectorOf(s ToolSpec) specVector {
	v := specVector{Locked: s.Locked}
	for _, p := range s.Parts {
		switch p.Kind {
		case Literal:
			v.Parts = append(v.Parts, partVector{Literal: &p.Text})
		case Pattern:
			v.Parts = append(v.Parts, partVector{Regex: &p.Text})
		default:
			v.Parts = append(v.Parts, partVector{Any: true})
		}
	}
	return v
}

func TestMatchVectors(t *testing.T) {
	type vector struct {
		Name, Format, Frontmatter, Why string
		Command                        []string
		Allow                          bool
	}
	all := vectors[vector](t, "site_match.json")
	for _, v := range all {
		t.Run(v.Name, func(t *testing.T) {
			delimiter := map[string]string{"yaml": "---\n", "toml": "+++\n"}[v.Format]
			f, err := ParseFrontmatter("page.md", []byte(delimiter+v.Frontmatter+delimiter))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Match(v.Command); (err == nil) != v.Allow {
				t.Errorf("%s: %q gives %v, want allowed: %t", v.Why, v.Command, err, v.Allow)
			}
		})
	}
	t.Logf("site_match.json: %d vectors", len(all))
	if len(all) != 122 {
		t.Errorf("%d vectors ran; want 122", len(all))
	}
}
