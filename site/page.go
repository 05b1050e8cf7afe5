package site

import (
	doorsite "github.com/durward/durward/internal/door/site"
	"github.com/durward/durward/internal/source/pages"
)

// A Frontmatter is what a page allows.
type Frontmatter struct {
	// Specs are the members of tools, in the order of the page.
	Specs []ToolSpec
	// Env names the reserved variables that a request may set nevertheless.
	Env []string
}

// A ToolSpec allows commands of one form, and a ToolPart is one element of it.
type (
	ToolSpec = pages.ToolSpec
	ToolPart = pages.ToolPart
	PartKind = pages.PartKind
)

// The kinds of parts.
const (
	Literal     = pages.Literal
	Placeholder = pages.Placeholder
	Regex       = pages.Pattern
)

// ParseFrontmatter reads the frontmatter of a page. An error is an [*Error] with code
// [NoFrontmatter] or [BadFrontmatter], whose message names every mistake by line.
func ParseFrontmatter(document []byte) (Frontmatter, error) {
	f, err := pages.ParseFrontmatter("page", document)
	return Frontmatter{Specs: f.Tools, Env: f.Env}, outward(err)
}

// Match gives the index of the first spec that allows a command. An error is an
// [*Error] with code [BadRequest] for no command at all, and [NotAllowed].
func (f Frontmatter) Match(command []string) (int, error) {
	i, err := pages.Frontmatter{Tools: f.Specs}.Match(command)
	return i, outward(err)
}

// CheckEnv judges the form of the variables that a request brings. An error is an
// [*Error] with code [BadEnv].
func CheckEnv(env map[string]string) error { return outward(doorsite.CheckEnv(env)) }

// Expand replaces each $NAME in an author's literal by its value, once.
func Expand(text string, vars map[string]string) string { return pages.Expand(text, vars) }

// An ActionRequest is the body of a POST.
type ActionRequest struct {
	Command []string          `json:"command"`
	Env     map[string]string `json:"env,omitempty"`
}

// An ActionResponse is the body of the answer to a command that ran.
type ActionResponse struct {
	Stdout     string `json:"stdout"`
	Stderr     string `json:"stderr"`
	ReturnCode int    `json:"returncode"`
}
