package pages

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"unicode"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
)

// A Finding is something that the author of a page should know.
type Finding struct {
	Where durward.Position
	// Fatal is set where something that the page declares cannot run.
	Fatal   bool
	Message string
}

// String gives "file:line:column: error: message", or warning.
func (f Finding) String() string {
	severity := "warning"
	if f.Fatal {
		severity = "error"
	}
	return fmt.Sprintf("%s: %s: %s", f.Where, severity, f.Message)
}

// Lint looks for what the author of a page may not have meant; file stands in every
// place. program tells why a program could not be run, or gives nil.
//
// A file that is not called *.md and is no page by its content has no findings: data
// may begin with dashes.
func Lint(file string, document []byte, program func(name string) error) []Finding {
	f, err := ParseFrontmatter(file, document)
	if err != nil && path.Ext(file) != ".md" {
		return nil
	}
	if err != nil {
		return lintRefused(file, document, err)
	}
	found := lintKeys(file, document)
	for i, s := range f.Tools {
		found = append(found, s.lint(i, program)...)
	}
	return found
}

// lintKeys tells of keys that mean nothing and are spelt nearly like one that does.
func lintKeys(file string, document []byte) []Finding {
	b, _ := findBlock(document)
	n, err := b.parse(file)
	if n == nil || err != nil {
		return nil
	}
	var found []Finding
	meant := []string{"tools", "env"}
	for _, field := range n.Fields {
		if near := config.Nearest(field.Name, meant); near != "" && n.Get(near) == nil {
			found = append(found, Finding{field.Where, false, fmt.Sprintf("the key %q means nothing (did you mean %q?)", field.Name, near)})
		}
	}
	return found
}

// lintRefused tells why a page allows nothing, unless it does not seem to want to.
func lintRefused(file string, document []byte, err error) []Finding {
	var found []Finding
	for _, p := range config.ProblemsOf(err) {
		found = append(found, Finding{p.Where, true, p.Message})
	}
	if durward.ReasonOf(err) == durward.NoFrontmatter && looksLikeBlock(document) {
		text := bytes.TrimLeftFunc(bytes.TrimPrefix(document, []byte("\ufeff")), unicode.IsSpace)
		line := 1 + bytes.Count(document[:len(document)-len(text)], []byte("\n"))
		found = append(found, Finding{durward.Position{File: file, Line: line, Column: 1}, false, whyOf(err)})
	}
	return found
}

func whyOf(err error) string {
	var e *durward.Error
	if errors.As(err, &e) && e.Err != nil {
		return e.Err.Error()
	}
	return err.Error()
}

func (s ToolSpec) lint(index int, program func(string) error) []Finding {
	var found []Finding
	add := func(fatal bool, format string, args ...any) {
		found = append(found, Finding{s.Where, fatal, fmt.Sprintf(format, args...)})
	}
	if err := program(s.Parts[0].Text); err != nil {
		add(true, "tools[%d]: %s: %v", index, s.Parts[0].Text, err)
	}
	if !s.Locked {
		add(false, `tools[%d] allows any further words; end it with ";" to forbid them`, index)
	}
	for i, p := range s.Parts {
		if p.Kind == Pattern && !p.bounded {
			add(false, "tools[%d][%d]: the pattern %q is not anchored on both sides and may be found anywhere in a word; begin it with ^ and end it with $", index, i, p.Text)
		}
	}
	return found
}
