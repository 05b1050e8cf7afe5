package policy

import (
	"errors"
	"io/fs"
	slashpath "path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/durward/durward"
)

// deny compiles the denied paths. A pattern is kept as one; if there also is a file of
// exactly that name, the file is denied as well: nobody can tell which was meant, and a
// deny that does not apply is the worst mistake.
func (c *compiler) deny(texts []Text) {
	f := &c.grant.Files
	for _, t := range texts {
		if strings.HasPrefix(t.Value, "@") && !t.verbatim {
			c.unknownSet("filesystem.deny", t, nil)
			continue
		}
		base, rest, optional, ok := c.split(t)
		if !ok {
			continue
		}
		physical, exists, err := c.physical(filepath.Join(base, rest))
		pattern := !t.verbatim && strings.ContainsAny(rest, `*?[{`)
		switch {
		case err != nil && !pattern:
			c.problems.Add(t.Where, "%s cannot be resolved: %s", t.Value, err)
			continue
		case !exists && !pattern && !optional:
			c.problems.Add(t.Where, "%s does not exist; end it with ? if it may be missing", t.Value)
			continue
		case exists || !pattern:
			f.Deny = append(f.Deny, physical)
			c.note("filesystem.deny", t, filepath.Join(base, rest), physical)
		}
		if pattern && !(exists && strings.ContainsRune(rest, '{')) {
			c.denyGlob(t, base, rest)
		}
	}
}

// denyGlob keeps a pattern, with the part before its first wildcard resolved.
func (c *compiler) denyGlob(t Text, base, rest string) {
	parts := strings.Split(filepath.ToSlash(rest), "/")
	first := slices.IndexFunc(parts, func(part string) bool { return strings.ContainsAny(part, `*?[{`) })
	fixed := filepath.Join(base, string(filepath.Separator), filepath.Join(parts[:first]...))
	if base == "" {
		fixed = filepath.FromSlash(strings.Join(parts[:first], "/") + "/")
	}
	physical, _, err := c.physical(fixed)
	if err != nil {
		c.problems.Add(t.Where, "%s cannot be resolved: %s", t.Value, err)
		return
	}
	if wrong := checkGlob(parts[first:]); wrong != "" {
		c.problems.Add(t.Where, "%s is not a pattern: %s", t.Value, wrong)
		return
	}
	glob := filepath.Join(escapeGlob(physical), filepath.Join(parts[first:]...))
	c.grant.Files.DenyGlobs = append(c.grant.Files.DenyGlobs, glob)
	c.note("filesystem.deny", t, "", glob)
}

// checkGlob says what is wrong with a pattern, or "". Whatever another program would
// understand and this one would not is refused: it would deny nothing.
func checkGlob(parts []string) string {
	for _, part := range parts {
		switch _, err := slashpath.Match(filepath.ToSlash(part), ""); { // it reads all of the pattern, as filepath.Match does not
		case err != nil:
			return "a [ without its ]"
		case strings.ContainsAny(part, "{}"):
			return "braces are not expanded; write one entry for each"
		case strings.Contains(part, "**") && part != "**":
			return "** stands for whole names between two slashes"
		}
	}
	return ""
}

// escapeGlob takes the meaning from the characters of a real path.
func escapeGlob(path string) string {
	pairs := []string{"*", "[*]", "?", "[?]", "[", "[[]"}
	if filepath.Separator != '\\' {
		pairs = append(pairs, `\`, `\\`)
	}
	return strings.NewReplacer(pairs...).Replace(path)
}

// protect compiles the protected paths, which need not exist.
func (c *compiler) protect(texts []Text) []string {
	var list []string
	for _, t := range texts {
		switch {
		case t.verbatim || !strings.HasPrefix(t.Value, "@"):
			list = append(list, c.protectPath(t)...)
		case t.Value == setVCS:
			list = append(list, c.resolved(t, c.vcs())...)
		case t.Value == setAgent:
			list = append(list, c.resolved(t, c.agent())...)
		default:
			c.unknownSet("filesystem.protect", t, []string{setVCS, setAgent})
		}
	}
	return list
}

func (c *compiler) protectPath(t Text) []string {
	path, optional, ok := c.expand(t)
	if !ok {
		return nil
	}
	physical, exists, err := c.physical(path)
	switch {
	case err != nil:
		c.problems.Add(t.Where, "%s cannot be resolved: %s", t.Value, err)
		return nil
	case !exists && !t.verbatim && hasWildcard(t.Value, optional):
		c.problems.Add(t.Where, "filesystem.protect takes no patterns; only filesystem.deny does")
		return nil
	}
	c.note("filesystem.protect", t, path, physical)
	return append([]string{physical}, c.asName(path)...)
}

// asName gives a path by its own name, besides what that leads to: a link can be replaced.
func (c *compiler) asName(path string) []string {
	parent, _, err := c.physical(filepath.Dir(path))
	if err != nil {
		return nil
	}
	return []string{filepath.Join(parent, filepath.Base(path))}
}

// roots are the directories that the sets of protected files are looked for in.
func (c *compiler) roots() []string {
	return filter(sorted(c.grant.Files.Write, c.p.workspace), c.isDir)
}

// isDir tells a directory from a file by asking for a name in it: a directory does not
// have it, a file can have none.
func (c *compiler) isDir(path string) bool {
	if path == durward.PrivateTmp {
		return false
	}
	_, err := c.host.Resolve(filepath.Join(path, ".durward-no-such-name"))
	return err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}

func (c *compiler) vcs() []string {
	var list []string
	for _, root := range c.roots() {
		list = append(list, VCSPaths(root, c.host.gitDirs(root))...)
	}
	return list
}

func (c *compiler) agent() []string {
	list := append(startupPaths(c.host.Home), c.host.Own...)
	for _, root := range c.roots() {
		list = append(list, agentPaths(root)...)
	}
	return list
}

// resolved gives the physical form of the paths of a set; what cannot be resolved
// cannot be protected, and that is a mistake.
func (c *compiler) resolved(t Text, paths []string) []string {
	var list []string
	for _, path := range paths {
		physical, _, err := c.physical(path)
		if err != nil {
			c.problems.Add(t.Where, "%s: %s cannot be resolved: %s", t.Value, path, err)
			continue
		}
		list = append(append(list, physical), c.asName(path)...)
	}
	return list
}

// secrets denies what nobody listed, unless "read" names it exactly. A mode that
// confines no files denies nothing, but a call may ask it for one that does.
func (c *compiler) secrets() {
	files, globs := c.secretFiles()
	if c.grant.Mode.Confines() {
		c.denied = files
		c.grant.Files.Deny = append(c.grant.Files.Deny, files...)
		c.grant.Files.DenyGlobs = append(c.grant.Files.DenyGlobs, globs...)
		return
	}
	protect := c.protect([]Text{{Value: setVCS, Where: c.doc.Where}, {Value: setAgent, Where: c.doc.Where}})
	c.p.confined = durward.Files{Deny: sorted(files), DenyGlobs: sorted(globs), Protect: sorted(protect)}
}

func (c *compiler) secretFiles() (files, globs []string) {
	named := c.namedByRead()
	for _, path := range secretPaths(c.host.goos(), c.host.Home) {
		physical, _, err := c.physical(path)
		if err != nil {
			physical = path // what cannot even be looked up may become readable later
		}
		if !slices.Contains(named, path) && !slices.Contains(named, physical) {
			files = append(files, physical)
		}
	}
	for _, glob := range secretGlobs(c.host.goos()) {
		if !slices.ContainsFunc(named, func(path string) bool { ok, _ := filepath.Match(glob, path); return ok }) {
			globs = append(globs, glob)
		}
	}
	return files, globs
}

// namedByRead gives the paths that "read" names, as written and as they are.
func (c *compiler) namedByRead() []string {
	var named []string
	for _, p := range c.p.paths {
		if p.Member == "filesystem.read" && !strings.HasPrefix(p.Written, "@") {
			named = append(named, p.path, p.Physical)
		}
	}
	return named
}

// uselessEntries refuses an entry that a default secret takes back: whoever wrote it
// believes it works.
func (c *compiler) uselessEntries() {
	for _, p := range c.p.paths {
		if strings.HasPrefix(p.Written, "@") || p.Member == "filesystem.deny" || p.Member == "filesystem.protect" {
			continue
		}
		for _, secret := range c.denied {
			if p.Physical != "" && contains(secret, p.Physical) {
				c.problems.Add(p.Where, "%s lies in %s, which is denied unless filesystem.read names exactly that", p.Written, secret)
			}
		}
	}
}
