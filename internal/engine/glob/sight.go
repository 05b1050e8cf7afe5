package glob

import (
	"fmt"
	"slices"
	"strings"

	"github.com/durward/durward"
)

// A sight is what the path sets of a grant show.
type sight struct {
	all   bool
	sets  []string // paths that show everything below them
	deny  []string
	globs []pattern
}

// sightOf reads the path sets of a grant. A pattern that cannot be read is refused: what
// it denies would be shown.
func sightOf(g durward.Grant) (sight, error) {
	f := g.Files
	s := sight{sets: slices.Concat(f.Read, f.Write), deny: f.Deny}
	confined := !g.StepDown && g.Mode.Confines()
	s.all = f.HostReadOnly || (len(s.sets) == 0 && !confined)
	for _, text := range f.DenyGlobs {
		p, err := parseSegments(text)
		if err != nil {
			return sight{}, &durward.Error{
				Reason: durward.SandboxUnavailable, Op: "glob", Rule: string(durward.FieldFiles),
				Hint: "write the pattern with *, ?, [a-z] and ** alone", Err: fmt.Errorf("the denied pattern %q: %w", text, err),
			}
		}
		s.globs = append(s.globs, p)
	}
	return s, nil
}

// shows tells whether a physical path may be seen.
func (s sight) shows(path string) bool {
	holds := func(dir string) bool { return isWithin(path, dir) }
	if !s.all && !slices.ContainsFunc(s.sets, holds) {
		return false
	}
	return !slices.ContainsFunc(s.deny, holds) && !slices.ContainsFunc(s.globs, func(p pattern) bool { return p.covers(path) })
}

// isWithin tells whether a path is dir or below it, component by component.
func isWithin(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/"))
	return ok && (rest == "" || rest[0] == '/')
}
