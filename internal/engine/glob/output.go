package glob

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/durward/durward"
)

// A shortlist counts all names and keeps those that sort first.
type shortlist struct {
	limit int
	total int
	names []string
}

func (s *shortlist) add(name string) {
	s.total++
	s.names = append(s.names, name)
	if len(s.names)/2 >= s.limit {
		s.sorted()
	}
}

// sorted gives the names that are kept.
func (s *shortlist) sorted() []string {
	slices.Sort(s.names)
	s.names = s.names[:min(len(s.names), s.limit)]
	return s.names
}

// notes says what the list lacks.
func (w *walk) notes() []byte {
	var b strings.Builder
	if w.found.total > w.found.limit {
		fmt.Fprintf(&b, "glob: cut off after %d of %d matches\n", w.found.limit, w.found.total)
	}
	if w.spent {
		fmt.Fprintf(&b, "glob: stopped after looking at %d names; there may be more matches\n", w.visits)
	}
	switch {
	case w.unread == 1:
		b.WriteString("glob: 1 directory could not be read\n")
	case w.unread > 1:
		fmt.Fprintf(&b, "glob: %d directories could not be read\n", w.unread)
	}
	return []byte(b.String())
}

// capture keeps as much of a text as the grant has room for.
func (p *prepared) capture(text []byte) durward.Capture {
	sum := sha256.Sum256(text)
	c := durward.Capture{Head: text, Total: int64(len(text)), SHA256: hex.EncodeToString(sum[:])}
	limit := p.limits.Output
	if limit < 0 || c.Total <= limit {
		return c
	}
	c.Head = text[:limit]
	if p.keep == durward.KeepHeadTail {
		c.Head, c.Tail = text[:limit-limit/2], text[c.Total-limit/2:]
	}
	return c
}
