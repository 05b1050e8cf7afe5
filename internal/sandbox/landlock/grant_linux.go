package landlock

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

// For gives the rules of a grant whose mode confines files, with tmp as its private
// temporary directory: empty where it has none. Rules can only give; the gaps name what
// the grant takes back from within what it gives, which something else must hold: mounts,
// or a refusal. Nothing is looked up.
func For(g durward.Grant, tmp string) (Rules, []Gap, error) {
	if g.Mode != durward.ReadOnly && g.Mode != durward.WorkspaceWrite {
		return Rules{}, nil, failed("confine files", fmt.Errorf("mode %s confines none", g.Mode))
	}
	rules, err := sets(g, tmp)
	if err != nil {
		return Rules{}, nil, err
	}
	given := rules[:0]
	for _, rule := range rules {
		if rule = less(rule, g.Files, tmp); rule.Rights != 0 {
			given = append(given, rule)
		}
	}
	r := Rules{Paths: given, Network: g.Network.Mode != "" && g.Network.Mode != durward.NetNone}.normal()
	return r, taken(g, r, tmp), nil
}

// sets gives what the sets of a grant say, one rule for each entry.
func sets(g durward.Grant, tmp string) ([]Rule, error) {
	rules := devices(g.Mode)
	for _, set := range []struct {
		paths  []string
		rights Right
	}{
		{g.Files.Read, Read},
		{g.Files.Write, Read | Write},
		{g.Files.Exec, Execute},
		{g.Network.UnixSockets, Connect},
	} {
		for _, path := range set.paths {
			private := path == durward.PrivateTmp
			switch {
			case private && tmp == "":
				return nil, failed("give a private temporary directory", errors.New("there is none"))
			case private:
				path = tmp
			case set.rights&Write != 0 && g.Mode == durward.ReadOnly:
				return nil, failed("give "+path, errors.New("mode read-only writes nothing but its private temporary directory"))
			}
			rules = append(rules, Rule{Path: path, Rights: set.rights})
		}
	}
	return rules, nil
}

// devices gives those that programs take for granted. What is written to them is gone.
func devices(m durward.Mode) []Rule {
	written := Device
	if m == durward.ReadOnly {
		written = Read
	}
	rules := []Rule{
		{"/dev/null", Device, true},
		{"/dev/zero", written, true},
		{"/dev/full", written, true},
		{"/dev/random", Read, true},
		{"/dev/urandom", Read, true},
	}
	if m == durward.ReadOnly {
		return rules
	}
	return append(rules, Rule{"/dev/tty", Device, true}) // nobody's terminal but its own
}

// WithoutDevices leaves out those that programs take for granted: for who opens regular files
// and directories alone.
func (r Rules) WithoutDevices(m durward.Mode) Rules {
	devices := devices(m)
	r.Paths = slices.DeleteFunc(slices.Clone(r.Paths), func(rule Rule) bool { return slices.Contains(devices, rule) })
	return r
}

// less takes from a rule what Deny and Protect take back as a whole.
func less(r Rule, f durward.Files, tmp string) Rule {
	switch {
	case tmp != "" && r.Path == tmp: // it is nobody's but the call's, wherever it lies
	case anyContains(f.Deny, r.Path):
		r.Rights = 0
	case anyContains(f.Protect, r.Path):
		r.Rights &^= Write
		if r.Rights&Device != 0 {
			r.Rights = r.Rights&^Device | Read
		}
	}
	return r
}

// taken names what is taken back from beneath a rule.
func taken(g durward.Grant, r Rules, tmp string) []Gap {
	var list []Gap
	note := func(what string, breaks Right) {
		if gap := (Gap{What: what, Breaks: broken(breaks)}); len(gap.Breaks) > 0 {
			list = append(list, gap)
		}
	}
	for _, path := range unique(g.Files.Deny) {
		note("deny "+printable(path), r.above(path, tmp))
	}
	for _, glob := range unique(g.Files.DenyGlobs) {
		note("deny "+printable(glob), r.touched(glob, tmp))
	}
	for _, path := range unique(g.Files.Protect) {
		note("protect "+printable(path), r.above(path, tmp)&Write)
	}
	for _, path := range unique(g.Files.Read) {
		if r.at(path)&Write == 0 {
			note("read-only "+printable(path), r.above(path, tmp)&Write)
		}
	}
	if g.Files.CopyOnWrite {
		note("copy on write", Write)
	}
	if n := g.Network.Mode; n == durward.NetLoopback || n == durward.NetAllowlist {
		list = append(list, Gap{What: "network " + string(n), Breaks: []durward.Guarantee{durward.Net}})
	}
	return list
}

func broken(r Right) []durward.Guarantee {
	var list []durward.Guarantee
	if r&Read != 0 {
		list = append(list, durward.FSRead)
	}
	if r&Write != 0 {
		list = append(list, durward.FSWrite)
	}
	return list
}

// above gives what the rules for the directories around a path give to it.
func (r Rules) above(path, tmp string) Right {
	var all Right
	for _, rule := range r.Paths {
		if rule.Path != path && rule.Path != tmp && fsroot.Contains(rule.Path, path) {
			all |= rule.Rights
		}
	}
	return all
}

// at gives what the rule for exactly this path gives.
func (r Rules) at(path string) Right {
	for _, rule := range r.Paths {
		if rule.Path == path {
			return rule.Rights
		}
	}
	return 0
}

// touched gives what the rules give of what a pattern may match.
func (r Rules) touched(glob, tmp string) Right {
	var all Right
	for _, rule := range r.Paths {
		if rule.Path != tmp && touches(glob, rule.Path) {
			all |= rule.Rights
		}
	}
	return all
}

// touches reports whether a pattern may match a path, something beneath it or
// something it lies in. It errs to the side of yes.
func touches(glob, path string) bool {
	known := slices.Collect(names(path))
	i := 0
	for pattern := range names(glob) {
		if pattern == "**" || i >= len(known) {
			return true
		}
		if ok, err := filepath.Match(pattern, known[i]); !ok && err == nil {
			return false
		}
		i++
	}
	return true
}

func anyContains(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return fsroot.Contains(dir, path) })
}

func unique(paths []string) []string { return slices.Compact(slices.Sorted(slices.Values(paths))) }
