package confined

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
	"github.com/durward/durward/internal/sandbox/denyglob"
	"github.com/durward/durward/internal/sandbox/landlock"
)

// terms are what operations under a grant are held to.
type terms struct {
	key   string // tells terms apart that are not the same
	rules landlock.Rules

	// said is what the grant says of paths within what it gives, as far as rules cannot.
	said     map[string]standing
	globs    []string
	patterns *denyglob.Patterns // of globs
}

// A standing is a set of what a grant says about a path.
type standing uint8

const (
	denied standing = 1 << iota
	protected
	readable // and not to be written
	writable
)

// confine gives the operations of a mode that confines files.
func (k *Keeper) confine(g durward.Grant) (*Access, error) {
	return k.accesses.of(aboutFilesAlone(g), k.accessOf)
}

func (k *Keeper) accessOf(g durward.Grant) (*Access, error) {
	abi, err := landlock.Probe()
	if err != nil {
		return nil, err
	}
	t, gaps, err := termsOf(g)
	if err != nil {
		return nil, err
	}
	r, err := t.report(g, abi, slices.Concat(gaps, t.rules.Gaps(abi)))
	if err != nil {
		return nil, err
	}
	return &Access{keeper: k, terms: t, report: r}, nil
}

// termsOf gives the terms, and names what of them the rules do not hold.
func termsOf(g durward.Grant) (*terms, []landlock.Gap, error) {
	f := &g.Files
	for _, set := range []*[]string{&f.Read, &f.Write, &f.Exec} {
		*set = slices.DeleteFunc(slices.Clone(*set), func(path string) bool { return path == durward.PrivateTmp })
	}
	rules, gaps, err := landlock.For(g, "")
	if err != nil {
		return nil, nil, err
	}
	rules = rules.WithoutDevices(g.Mode)
	rules.FilesOnly = true
	patterns, err := denyglob.Compile(f.DenyGlobs)
	if err != nil {
		return nil, nil, err
	}
	return &terms{
		key:   fmt.Sprintf("%s %q %q %q %q %q %q", g.Mode, f.Read, f.Write, f.Exec, f.Deny, f.DenyGlobs, f.Protect),
		rules: rules, said: saidBy(*f), globs: f.DenyGlobs, patterns: patterns,
	}, gaps, nil
}

// saidBy leaves out what lies nowhere in what is given: rules keep that closed.
func saidBy(f durward.Files) map[string]standing {
	said := make(map[string]standing)
	readOnly := slices.DeleteFunc(slices.Clone(f.Read), func(path string) bool { return slices.Contains(f.Write, path) })
	for _, set := range []struct {
		paths  []string
		stands standing
		within []string
	}{
		{f.Deny, denied, slices.Concat(f.Read, f.Write)},
		{f.Protect, protected, f.Write},
		{readOnly, readable, f.Write},
		{f.Write, writable, f.Write},
	} {
		for _, path := range set.paths {
			if anyAbove(set.within, path) {
				said[path] |= set.stands
			}
		}
	}
	return said
}

func anyAbove(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		_, below := fsroot.Below(dir, path)
		return below
	})
}

// judged reports whether there is anything to be judged that rules do not hold.
func (t *terms) judged(to access) bool {
	taken := denied
	if to == writing {
		taken |= protected | readable
	}
	for _, stands := range t.said {
		if stands&taken != 0 {
			return true
		}
	}
	return len(t.globs) > 0
}

// within lists the directories to search for what a pattern denies. Where all of the
// machine is given, that is all but what holds no files that could be opened.
func (t *terms) within() ([]string, error) {
	var dirs []string
	for _, rule := range t.rules.Paths {
		if rule.Rights&(landlock.Read|landlock.Write) != 0 && !strings.HasPrefix(rule.Path, "/dev/") {
			dirs = append(dirs, rule.Path)
		}
	}
	if !slices.Contains(dirs, "/") {
		return dirs, nil
	}
	entries, err := os.ReadDir("/")
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 && e.Name() != "proc" && e.Name() != "sys" {
			dirs = append(dirs, "/"+e.Name())
		}
	}
	return slices.DeleteFunc(dirs, func(dir string) bool { return dir == "/" }), err
}
