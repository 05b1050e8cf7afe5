package confined

import (
	"slices"
	"sync"

	"github.com/durward/durward"
)

// accesses are the operations of the grants that came last: calls of one tool come with the
// same grant again and again, and what follows from a grant never changes.
type accesses struct {
	mu    sync.Mutex
	known []*known // guarded by mu; the one that was wanted last comes last
}

// A known is a grant that nobody else can change, and what it came to.
type known struct {
	grant  durward.Grant
	access *Access
}

// of gives what a grant came to before, or else what it comes to now, unless that is an
// error.
func (a *accesses) of(g durward.Grant, now func(durward.Grant) (*Access, error)) (*Access, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, found := range slices.Backward(a.known) {
		if equal(&found.grant, &g) {
			a.known = append(slices.Delete(a.known, i, i+1), found)
			return found.access, nil
		}
	}
	g = own(g)
	access, err := now(g)
	if err != nil {
		return nil, err
	}
	if len(a.known) == mostPools {
		a.known = slices.Delete(a.known, 0, 1)
	}
	a.known = append(a.known, &known{g, access})
	return access, nil
}

// aboutFilesAlone leaves of a grant what decides over its file operations.
func aboutFilesAlone(g durward.Grant) durward.Grant {
	return durward.Grant{Mode: g.Mode, StepDown: g.StepDown, Require: g.Require, Files: g.Files}
}

// equal reports whether two grants that are about files alone say the same.
func equal(a, b *durward.Grant) bool {
	f, o := &a.Files, &b.Files
	return a.Mode == b.Mode && a.StepDown == b.StepDown && slices.Equal(a.Require, b.Require) &&
		slices.Equal(f.Read, o.Read) && slices.Equal(f.Write, o.Write) && slices.Equal(f.Deny, o.Deny) &&
		slices.Equal(f.Protect, o.Protect) && slices.Equal(f.Exec, o.Exec) && slices.Equal(f.Links, o.Links) &&
		slices.Equal(f.DenyGlobs, o.DenyGlobs) && f.HostReadOnly == o.HostReadOnly && f.CopyOnWrite == o.CopyOnWrite
}

// own gives a grant that is about files alone lists of its own.
func own(g durward.Grant) durward.Grant {
	g.Require = slices.Clone(g.Require)
	f := &g.Files
	for _, set := range []*[]string{&f.Read, &f.Write, &f.Deny, &f.Protect, &f.Exec, &f.DenyGlobs} {
		*set = slices.Clone(*set)
	}
	f.Links = slices.Clone(f.Links)
	return g
}
