package policy

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/durward/durward"
)

// files settles the path sets.
func (c *compiler) files() {
	f, d := &c.grant.Files, c.doc.Filesystem
	f.HostReadOnly, f.CopyOnWrite = d.HostReadOnly, d.CopyOnWrite
	c.workspace()
	if !c.grant.Mode.Confines() {
		c.unconfined()
	} else {
		c.defaults(&d)
	}
	f.Read = append(f.Read, c.paths("filesystem.read", d.Read, setSystem)...)
	f.Write = append(f.Write, c.paths("filesystem.write", d.Write, setTmp)...)
	f.Exec = append(f.Exec, c.paths("filesystem.exec", d.Exec, setSystem, setTmp)...)
	if d.HostReadOnly {
		f.Read = append(f.Read, c.root())
	}
	if d.Exec == nil && len(f.Exec) == 0 {
		f.Exec = slices.Concat(f.Read, f.Write)
	}
	c.deny(d.Deny)
	f.Protect = append(f.Protect, c.protect(d.Protect)...)
	c.secrets()
	c.hidden()
	c.readOnly()
	f.Links = c.links()
	c.planted()
}

// planted refuses an entry that goes through what commands can write and leads out of it: a
// command could have put a symlink there.
func (c *compiler) planted() {
	roots := filter(c.grant.Files.Write, func(root string) bool { return root != durward.PrivateTmp })
	for _, p := range c.p.paths {
		set := p.Member == "filesystem.read" || p.Member == "filesystem.write" || p.Member == "filesystem.exec"
		if !set || p.path == "" || p.Physical == "" || strings.HasPrefix(p.Written, "@") {
			continue
		}
		if _, root := c.leadsOut(p.path, roots); root != "" {
			c.problems.Add(p.Where, "%s leads out of %s, which a command can write: name %s itself if that is meant", p.Written, root, p.Physical)
		}
	}
}

// leadsOut gives the symlink in one of some directories by which a path leads out of that,
// and the directory; or nothing.
func (c *compiler) leadsOut(path string, roots []string) (link, root string) {
	if physical, _, err := c.physical(path); err == nil && physical == path {
		return "", "" // there is no link on the way
	}
	for at := path; at != filepath.Dir(at); at = filepath.Dir(at) {
		parent, _, err := c.physical(filepath.Dir(at))
		to, _, gone := c.physical(at)
		if err != nil || gone != nil {
			continue // it would have been refused
		}
		name := filepath.Join(parent, filepath.Base(at))
		for _, root := range roots {
			if name != to && name != root && contains(root, name) && !contains(root, to) {
				return name, root
			}
		}
	}
	return "", ""
}

// hidden denies what is nobody's business. What cannot be resolved is not there.
func (c *compiler) hidden() {
	for _, path := range c.host.Hidden {
		if physical, _, err := c.physical(path); err == nil && c.grant.Mode.Confines() {
			c.grant.Files.Deny = append(c.grant.Files.Deny, physical)
		}
	}
}

// links gives the names by which the sets know what lies elsewhere.
func (c *compiler) links() []durward.Link {
	var list []durward.Link
	for _, p := range c.p.paths {
		given := p.Member == "filesystem.read" || p.Member == "filesystem.write" || p.Member == "filesystem.exec"
		if given && p.path != "" && p.Physical != "" && p.path != p.Physical {
			list = append(list, durward.Link{Path: p.path, To: p.Physical})
		}
	}
	return list
}

// workspace resolves the directory that the others are named after.
func (c *compiler) workspace() {
	if c.host.Workspace == "" {
		return
	}
	physical, exists, err := c.physical(c.host.Workspace)
	if err != nil || !exists || !filepath.IsAbs(c.host.Workspace) {
		c.problems.Add(c.doc.Where, "the workspace %s is not an existing absolute path", c.host.Workspace)
		return
	}
	c.p.root = [2]string{filepath.Clean(c.host.Workspace), physical}
	c.p.workspace = sorted(c.p.root[:])
}

// defaults fills in the sets that were not written. Exec follows from the others.
func (c *compiler) defaults(d *Filesystem) {
	at := c.doc.Where
	own := []Text{}
	if c.host.Workspace != "" {
		own = append(own, Text{Value: "${workspace}", Where: at})
	}
	if d.Read == nil {
		d.Read = append([]Text{{Value: setSystem, Where: at}}, own...)
	}
	if d.Write == nil {
		d.Write = []Text{{Value: setTmp, Where: at}}
		if c.grant.Mode == durward.WorkspaceWrite {
			d.Write = append(d.Write, own...)
		}
	}
	if d.Protect == nil {
		d.Protect = []Text{{Value: setVCS, Where: at}, {Value: setAgent, Where: at}}
	}
}

// unconfined gives all files to a mode that confines none. An outer sandbox may be
// described by sets; full access may not pretend to have any.
func (c *compiler) unconfined() {
	f, d := &c.grant.Files, c.doc.Filesystem
	if c.grant.Mode == durward.DangerFullAccess {
		for _, member := range []string{"read", "write", "deny", "protect", "exec", "view", "copyOnWrite"} {
			if c.doc.wrote("filesystem." + member) {
				c.problem("filesystem."+member, "filesystem.%s has no effect in mode %s, which confines no files", member, c.grant.Mode)
			}
		}
	}
	if d.Read == nil && d.Write == nil {
		f.Read, f.Write = []string{c.root()}, []string{c.root()}
	}
	if d.Exec == nil && d.Read == nil && d.Write == nil {
		f.Exec = []string{c.root()}
	}
}

// root gives the directory above all others.
func (c *compiler) root() string {
	return filepath.VolumeName(c.host.Workspace) + string(filepath.Separator)
}

// readOnly refuses what the mode could not give.
func (c *compiler) readOnly() {
	if c.grant.Mode != durward.ReadOnly {
		return
	}
	for _, t := range c.doc.Filesystem.Write {
		if t.verbatim || t.Value != setTmp {
			c.problems.Add(t.Where, "filesystem.write has no effect in mode read-only; did you mean mode: workspace-write?")
		}
	}
}

// paths compiles the entries of a set that holds existing paths and the named sets.
func (c *compiler) paths(member string, texts []Text, sets ...string) []string {
	var list []string
	for _, t := range texts {
		if t.verbatim || !strings.HasPrefix(t.Value, "@") {
			list = append(list, c.existing(member, t)...)
			continue
		}
		if !slices.Contains(sets, t.Value) {
			c.unknownSet(member, t, sets)
			continue
		}
		list = append(list, c.expandSet(member, t)...)
	}
	return list
}

func (c *compiler) unknownSet(member string, t Text, sets []string) {
	known := ""
	if len(sets) > 0 {
		known = "; it knows " + strings.Join(sets, ", ")
	}
	c.problems.Add(t.Where, "%s knows no set %q%s", member, t.Value, known)
}

func (c *compiler) expandSet(member string, t Text) []string {
	if t.Value == setTmp {
		c.note(member, t, "", durward.PrivateTmp)
		return []string{durward.PrivateTmp}
	}
	var list []string
	for _, path := range systemPaths(c.host.goos()) {
		if physical, exists, err := c.physical(path); err == nil && exists {
			list = append(list, physical)
			c.p.paths = append(c.p.paths, Path{Member: member, Written: t.Value + " " + path, Physical: physical, Where: t.Where, path: path})
		}
	}
	if len(list) == 0 {
		c.problems.Add(t.Where, "%s is empty on this machine", t.Value)
	}
	return list
}

// existing compiles one path that has to exist unless it is marked optional.
func (c *compiler) existing(member string, t Text) []string {
	path, optional, ok := c.expand(t)
	if !ok {
		return nil
	}
	physical, exists, err := c.physical(path)
	switch {
	case err != nil:
		c.problems.Add(t.Where, "%s cannot be resolved: %s", t.Value, err)
		return nil
	case exists:
		c.note(member, t, path, physical)
		return []string{physical}
	case !t.verbatim && hasWildcard(t.Value, optional):
		c.problems.Add(t.Where, "%s takes no patterns; only filesystem.deny does", member)
	case optional:
		c.note(member, t, path, "")
	case t.verbatim:
		c.problems.Add(t.Where, "%s does not exist", t.Value)
	default:
		c.problems.Add(t.Where, "%s does not exist; end it with ? if it may be missing", t.Value)
	}
	return nil
}

func (c *compiler) note(member string, t Text, path, physical string) {
	c.p.paths = append(c.p.paths, Path{Member: member, Written: t.Value, Physical: physical, Where: t.Where, path: path})
}

// expand gives the absolute path that t names.
func (c *compiler) expand(t Text) (path string, optional, ok bool) {
	base, rest, optional, ok := c.split(t)
	if !ok {
		return "", false, false
	}
	return filepath.Join(base, rest), optional, true
}

// split gives t as a base, whose name is nobody's pattern, and the rest.
func (c *compiler) split(t Text) (base, rest string, optional, ok bool) {
	rest = t.Value
	if !t.verbatim {
		rest, optional = strings.CutSuffix(rest, "?")
		if base, rest, ok = c.variable(t, rest); !ok {
			return "", "", false, false
		}
	}
	switch {
	case strings.ContainsRune(t.Value, 0):
		c.problems.Add(t.Where, "the path holds a NUL byte")
	case base == "" && !filepath.IsAbs(rest):
		c.problems.Add(t.Where, "%q is not an absolute path", t.Value)
	case climbs(rest):
		c.problems.Add(t.Where, "%q holds ..; write the path it leads to", t.Value)
	default:
		return base, rest, optional, true
	}
	return "", "", false, false
}

// variable expands "~" and "${workspace}" at the start of a path.
func (c *compiler) variable(t Text, path string) (base, rest string, ok bool) {
	for _, v := range []struct{ name, value string }{{"~", c.host.Home}, {"${workspace}", c.host.Workspace}} {
		rest, found := strings.CutPrefix(path, v.name)
		if !found || rest != "" && !strings.ContainsRune("/"+string(filepath.Separator), rune(rest[0])) {
			continue
		}
		if !filepath.IsAbs(v.value) {
			c.problems.Add(t.Where, "%q: %s is not known here", t.Value, v.name)
			return "", "", false
		}
		return v.value, rest, true
	}
	if strings.HasPrefix(path, "~") || strings.Contains(path, "${") {
		c.problems.Add(t.Where, "%q: only ~ and ${workspace} at the start of a path are expanded", t.Value)
		return "", "", false
	}
	return "", path, true
}

// physical resolves a path as far as it exists and joins what is missing to it.
func (c *compiler) physical(path string) (physical string, exists bool, err error) {
	path = filepath.Clean(path)
	physical, err = c.look(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) || !filepath.IsAbs(path) {
		return physical, err == nil, err
	}
	// What exists ends between the root and the last name, most often right before that.
	low, high := 0, strings.Count(path, string(filepath.Separator))
	for try := high - 1; ; try = (low + high) / 2 {
		at := above(path, try)
		found, err := c.look(at)
		switch {
		case err == nil && try == high-1:
			return filepath.Join(found, path[len(at):]), false, nil
		case err == nil:
			low = try
		case !errors.Is(err, fs.ErrNotExist) || try == 0:
			return "", false, err
		default:
			high = try
		}
	}
}

// look asks where a path leads.
func (c *compiler) look(path string) (string, error) {
	physical, err := c.host.Resolve(path)
	if err == nil && !filepath.IsAbs(physical) {
		return "", errors.New("its physical path is not absolute")
	}
	if err != nil {
		return "", err
	}
	return filepath.Clean(physical), nil
}

// above gives the first names of a clean absolute path, and its root for none of them.
func above(path string, names int) string {
	root := filepath.VolumeName(path) + string(filepath.Separator)
	end := len(root) - 1
	for range names {
		next := strings.IndexByte(path[end+1:], filepath.Separator)
		if next < 0 {
			return path
		}
		end += 1 + next
	}
	return path[:max(end, len(root))]
}

// hasWildcard reports whether a written path looks like a pattern.
func hasWildcard(text string, optional bool) bool {
	if optional {
		text = strings.TrimSuffix(text, "?")
	}
	return strings.ContainsAny(strings.TrimPrefix(text, "${workspace}"), `*?[{`)
}
