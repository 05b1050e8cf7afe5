package render

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
)

// ids gives each heading of a page an id of its own. Zero is not ready: see newIDs.
type ids struct {
	taken map[string]bool
	next  map[string]int
}

// newIDs keeps the ids that the page around the text uses.
func newIDs() *ids {
	return &ids{
		taken: map[string]bool{idContent: true, idCommands: true, idAgents: true},
		next:  map[string]int{},
	}
}

// Generate makes an id of the letters, digits, dashes and underscores of a heading.
func (s *ids) Generate(value []byte, _ ast.NodeKind) []byte {
	base := slug(string(value))
	id := base
	for s.taken[id] {
		s.next[base]++
		id = base + "-" + strconv.Itoa(s.next[base])
	}
	s.taken[id] = true
	return []byte(id)
}

// Put notes an id that is used elsewhere.
func (s *ids) Put(value []byte) { s.taken[string(value)] = true }

const maxSlug = 80

func slug(heading string) string {
	var b strings.Builder
	for _, r := range strings.TrimSpace(heading) {
		switch {
		case b.Len() >= maxSlug:
		case unicode.IsLetter(r), unicode.IsDigit(r):
			b.WriteRune(unicode.ToLower(r))
		case r == '-', r == '_':
			b.WriteRune(r)
		case unicode.IsSpace(r):
			b.WriteByte('-')
		}
	}
	if b.Len() == 0 {
		return "heading"
	}
	return b.String()
}
