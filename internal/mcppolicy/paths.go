package mcppolicy

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// foreign reports whether a path has the absolute form of another system.
func (c *compiler) foreign(path string) bool {
	if c.host.windows() {
		return strings.HasPrefix(path, "/")
	}
	return windowsAbs(path)
}

// windowsAbs reports whether path begins with a drive or names a share.
func windowsAbs(path string) bool {
	return len(path) > 2 && path[1] == ':' && (path[2] == '/' || path[2] == '\\') || strings.HasPrefix(path, `\\`)
}

// expand gives the absolute path that t names. Nothing but "~" is expanded.
func (c *compiler) expand(name string, t Text) (string, bool) {
	rest, home := strings.CutPrefix(t.Value, "~")
	switch {
	case c.foreign(t.Value):
		c.problems.Add(t.Where, "%s: %s is a path of another system", name, t.Value)
	case home && c.host.Home == "":
		c.problems.Add(t.Where, "%s: %s: there is no home directory here", name, t.Value)
	case rest == "":
		return c.host.Home, true
	case home:
		return strings.TrimSuffix(c.host.Home, "/") + rest, true
	default:
		return t.Value, true
	}
	return "", false
}

// shown gives a path as it was written, and what "~" in it stands for: that need not be $HOME.
func (c *compiler) shown(t Text) string {
	rest, home := strings.CutPrefix(t.Value, "~")
	if !home {
		return t.Value
	}
	return t.Value + " (" + strings.TrimSuffix(c.host.Home, "/") + rest + ")"
}

// resolve gives the physical path that t names, as far as it exists.
func (c *compiler) resolve(name string, t Text) (path string, exists, ok bool) {
	path, ok = c.expand(name, t)
	if !ok {
		return "", false, false
	}
	physical, exists, err := c.physical(path)
	if err != nil {
		c.problems.Add(t.Where, "%s: %s cannot be resolved: %s", name, c.shown(t), err)
		return "", false, false
	}
	return physical, exists, true
}

// directory gives the physical path of the existing directory that t names.
func (c *compiler) directory(name string, t Text) (string, bool) {
	path, exists, ok := c.resolve(name, t)
	if !ok {
		return "", false
	}
	if !exists {
		c.problems.Add(t.Where, "%s: %s does not exist", name, c.shown(t))
		return "", false
	}
	if mode, err := c.host.Stat(path); err != nil || !mode.IsDir() {
		c.problems.Add(t.Where, "%s: %s is not a directory", name, c.shown(t))
		return "", false
	}
	return path, true
}

// physical resolves a path as far as it exists and joins what is missing to it.
func (c *compiler) physical(path string) (physical string, exists bool, err error) {
	for missing := ""; ; {
		physical, err = c.host.Resolve(path)
		parent, base := split(path)
		switch {
		case err == nil && missing == "":
			return physical, true, nil
		case err == nil:
			return filepath.Join(physical, missing), false, nil
		case !errors.Is(err, fs.ErrNotExist) || parent == path:
			return "", false, err
		case base == "..":
			return "", false, errors.New("it holds .. behind what exists")
		}
		path, missing = parent, filepath.Join(base, missing)
	}
}

// split cuts a path before its last name, without judging what ".." in it leads to.
func split(path string) (parent, base string) {
	volume := filepath.VolumeName(path)
	rest := strings.TrimRightFunc(path[len(volume):], separates)
	i := strings.LastIndexFunc(rest, separates)
	return volume + rest[:i+1], rest[i+1:]
}

func separates(c rune) bool { return c == '/' || c == filepath.Separator }

// rootsKnown reports whether there are roots, and none of them was refused for its form:
// nobody knows what would lie in such a one.
func (c *compiler) rootsKnown() bool {
	return len(c.p.Roots) > 0 && !slices.Contains(values(c.doc.AllowedRoots.Value), "")
}

func (c *compiler) inRoots(path string) bool {
	for _, root := range c.p.Roots {
		if contains(root.Path, path) {
			return true
		}
	}
	return false
}

// mostLinks is more than any system follows.
const mostLinks = 255

// A step is a name on the way along a path.
type step struct {
	place string // physical
	turn  string // how the way goes on elsewhere than in the place; empty where it does not
}

// The turns, in words for people.
const (
	isLink    = "a link that leads to this policy"
	turnsBack = `which the way to this policy leaves by ".."`
)

// passed gives all names on the way to what path names, in the order in which the system
// goes by them: each directory, each link, and what that leads to. What does not exist is
// taken for no link.
func (c *compiler) passed(path string) []step {
	var steps []step
	at, rest := top(path)
	for links := 0; rest != "" && links <= mostLinks; {
		name, after := first(rest)
		rest = after
		switch name {
		case "":
			continue
		case "..":
			for i := range steps {
				if steps[i].place == at && steps[i].turn == "" {
					steps[i].turn = turnsBack
				}
			}
			at = filepath.Dir(at)
			continue
		}
		place := filepath.Join(at, name)
		to, err := c.host.Readlink(place)
		if err != nil {
			steps = append(steps, step{place: place})
			at = place
			continue
		}
		steps = append(steps, step{place, isLink})
		links++
		if filepath.IsAbs(to) {
			at, to = top(to)
		}
		rest = to + string(filepath.Separator) + rest
	}
	return steps
}

// top cuts a path behind the directory that it begins at.
func top(path string) (dir, rest string) {
	volume := filepath.VolumeName(path)
	return volume + string(filepath.Separator), path[len(volume):]
}

// first cuts a path behind its first name.
func first(path string) (name, rest string) {
	if i := strings.IndexFunc(path, separates); i >= 0 {
		return path[:i], path[i+1:]
	}
	return path, ""
}

// fold makes two names of one file equal, where the system's own files ignore case.
func (c *compiler) fold(path string) string {
	if c.host.windows() || c.host.goos() == "darwin" {
		return strings.ToLower(path)
	}
	return path
}

// contains reports whether path is dir or lies below it.
func contains(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || strings.HasSuffix(dir, string(filepath.Separator)) || rest[0] == filepath.Separator)
}

// isTop reports whether a path has no parent.
func isTop(path string) bool { return filepath.Dir(path) == path }
