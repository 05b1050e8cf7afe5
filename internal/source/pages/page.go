package pages

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/durward/durward"
)

// A Page is what a tool of this source is made of.
type Page struct {
	// Path is the page's own path below the root; Dir the directory its commands run
	// in; Root the one they may not name a program outside of. Both are absolute, or
	// empty where commands cannot run.
	Path, Dir, Root string

	frontmatter Frontmatter
	// refused says why the page allows nothing; nil where it may allow something.
	refused    error
	components []string
	hash       string
	vars       map[string]string // of the server
	allowed    []string          // reserved variables that a request may set
}

// Frontmatter gives what the page allows, or why it allows nothing.
func (p *Page) Frontmatter() (Frontmatter, error) { return p.frontmatter, p.refused }

// A parsed page is what its bytes alone say. It is shared and never changes.
type parsed struct {
	document    string
	frontmatter Frontmatter
	refused     error
	components  []string
	hash        string
}

func parse(path string, document []byte) *parsed {
	p := &parsed{document: string(document)}
	p.frontmatter, p.refused = ParseFrontmatter(path, document)
	for _, c := range Components(document) {
		p.components = append(p.components, c.Code)
	}
	block, _ := findBlock(document)
	sum := sha256.Sum256(block.text)
	p.hash = hex.EncodeToString(sum[:])
	return p
}

// Carry gives a call as it is carried out: in the page's directory, with the variables
// that the author placed in it expanded. The words of the caller stay as they are.
func (p *Page) Carry(c durward.Call) (durward.Call, error) {
	c.Dir = p.Dir
	if c.Surface == ComponentSurface {
		return c, nil
	}
	i, err := p.frontmatter.Match(c.Argv)
	if err != nil {
		return c, err
	}
	env, err := requested(c.Env, p.allows())
	if err != nil {
		return c, err
	}
	c.Argv = p.frontmatter.Tools[i].expand(c.Argv, env, p.vars)
	return c, nil
}

// RootDir is the directory that a program named by a path must lie in.
func (p *Page) RootDir() string { return p.Root }

// allows lists the reserved variables that a request may set.
func (p *Page) allows() []string {
	return append(append([]string{}, p.allowed...), p.frontmatter.Env...)
}

// ComponentSurface is the surface of the calls that run a page's own components.
const ComponentSurface = "component"

// hasComponent reports whether a command is the code of one of the page's components,
// as the door runs it.
func (p *Page) hasComponent(argv []string) bool {
	if len(argv) != 3 || argv[0] != "sh" || argv[1] != "-c" || !strings.HasSuffix(p.Path, ".md") {
		return false
	}
	for _, code := range p.components {
		if code == argv[2] {
			return true
		}
	}
	return false
}
