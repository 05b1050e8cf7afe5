package edit_test

import (
	"strings"
	"testing"

	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/config/edit"
)

func TestValuesThatNoDocumentHolds(t *testing.T) {
	for name, v := range map[string]edit.Value{
		"nothing":           nil,
		"nothing in a list": edit.List{nil},
		"bytes":             edit.String("\xff"),
		"bytes in a name":   edit.Map{{Name: "\xff", Value: edit.Int(1)}},
		"a name twice":      edit.Map{{Name: "a", Value: edit.Int(1)}, {Name: "a", Value: edit.Int(1)}},
		"too deep":          deep(config.MaxBytes / (1 << 14)),
		"too long":          edit.String(strings.Repeat("x", config.MaxBytes)),
	} {
		for _, text := range []string{"a: [1]\n", "a:\n  - 1\n", "a:\n", `{"a": []}`} {
			doc, err := edit.Parse("policy.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range []error{doc.Append(edit.Member("a"), v), doc.Append(edit.Member("b", "c"), v), doc.Set(edit.Member("b"), v)} {
				if config.ProblemsOf(err) == nil || string(doc.Bytes()) != text {
					t.Errorf("%s in %q: %v, and then %q", name, text, err, doc.Bytes())
				}
			}
		}
	}
}

func deep(levels int) edit.Value {
	v := edit.Value(edit.Int(1))
	for range levels {
		v = edit.List{v}
	}
	return v
}

func TestOtherFormats(t *testing.T) {
	if _, err := edit.Parse("policy.toml", []byte("a = 1\n")); err == nil {
		t.Error("TOML was read")
	}
	doc, err := edit.Parse("policy.json", []byte(`{"a": ["yes"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Append(edit.Member("a"), edit.String("no")); err != nil || string(doc.Bytes()) != `{"a": ["yes", "no"]}` {
		t.Errorf("%v: %s", err, doc.Bytes())
	}
}

// An edit leads to another tree and leaves the one that was given alone.
func TestTree(t *testing.T) {
	doc, err := edit.Parse("policy.yaml", []byte("a:\n  - b\n"))
	if err != nil {
		t.Fatal(err)
	}
	was := doc.Tree()
	if err := doc.Append(edit.Member("a"), edit.Strings("c", "d")); err != nil {
		t.Fatal(err)
	}
	if len(was.Get("a").Items) != 1 || doc.Tree().Get("a").Items[1].Items[1].Where.Line != 4 {
		t.Errorf("%q", doc.Bytes())
	}
}

func TestPathsDoNotShare(t *testing.T) {
	one := edit.Member("a").Item(0)
	x, y := one.Member("x", "z"), one.Item(3)
	if got := one.String() + " " + x.String() + " " + y.String() + " " + (edit.Path{}).String(); got != "a[0] a[0].x.z a[0][3] the document" {
		t.Error(got)
	}
}

// Large documents, over many lines and on one, are edited in a moment.
func TestLargeDocuments(t *testing.T) {
	for _, text := range []string{
		"a:\n" + strings.Repeat("  - {id: é, n: [x]} # c\n", 3_000),
		"a:\n" + strings.Repeat("  - id: x\n    n:\n      - [y]\n", 3_000),
		"a: [" + strings.Repeat(`{"id": "é", "n": [1]}, `, 3_000) + "x]\n",
		`{"a": [` + strings.Repeat(`{"a": [1]}, `, 6_000) + "1]}",
	} {
		doc, err := edit.Parse("policy.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		n := len(doc.Tree().Get("a").Items)
		if err := doc.Append(edit.Member("a"), edit.Map{{Name: "id", Value: edit.String("z")}}); err != nil {
			t.Fatal(err)
		}
		if err := doc.Remove(edit.Member("a").Item(n)); err != nil || string(doc.Bytes()) != text {
			t.Fatalf("it is not what it was: %v", err)
		}
	}
}
