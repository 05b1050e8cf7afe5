package object

import (
	"path"
	"slices"
	"strings"

	"github.com/durward/durward"
)

// special adds what an entry says of each directory that a special one stands for.
func (r *reader) special(e durward.Entry, s *special) error {
	const member = inEntries + ".path.value"
	if s == nil || s.Kind == nil {
		return missing(member + ".kind")
	}
	roots := *s.Kind == "project_roots" || *s.Kind == "current_working_directory"
	if s.Subpath != nil && !roots {
		return wrong(member+".subpath", "there is none of that kind")
	}
	var dirs []string
	switch *s.Kind {
	case "root":
		dirs = []string{"/"}
	case "project_roots", "current_working_directory":
		return r.beneathRoots(e, s.Subpath)
	case "tmpdir":
		return r.temporary(e)
	case "slash_tmp":
		dirs = []string{slashTmp}
	case "minimal":
		if e.Access == durward.AccessWrite {
			return wrong(inEntries+".access", "the files that programs need are not to be written")
		}
		e.Platform = true
		r.add(e)
	default:
		// It may take something back from what another entry gives.
		return wrong(member+".kind", "it is none that is known")
	}
	r.addEach(e, dirs)
	return nil
}

func (r *reader) addEach(e durward.Entry, dirs []string) {
	for _, dir := range dirs {
		e.Path = dir
		r.add(e)
	}
}

// beneathRoots is about a path in each root of the workspace, or these themselves.
func (r *reader) beneathRoots(e durward.Entry, subpath *string) error {
	if len(r.roots) == 0 {
		return missing("sandbox.workspaceRoots")
	}
	if subpath == nil {
		r.addEach(e, r.roots)
		return nil
	}
	if !isBeneath(*subpath) {
		return wrong(inEntries+".path.value.subpath", "it is no relative path without ..")
	}
	for _, root := range r.roots {
		e.Path = path.Join(root, *subpath)
		r.add(e)
	}
	return nil
}

// isBeneath reports whether a relative path leads nowhere but down.
func isBeneath(sub string) bool {
	return !strings.HasPrefix(sub, "/") && strings.IndexByte(sub, 0) < 0 && len(sub) <= longestPath && !slices.Contains(strings.Split(sub, "/"), "..")
}

// temporary is about the directories for temporary files that the object names, or else
// about what TMPDIR does.
func (r *reader) temporary(e durward.Entry) error {
	dirs, err := pathsOf("sandbox.temporaryDirectories", r.object.TemporaryDirectories)
	if len(dirs) == 0 {
		dirs = r.tmpDir()
	}
	r.addEach(e, dirs)
	return err
}

// ofRoots is what codex begins a pattern with that begins at each root of the workspace.
const ofRoots = "codex-project-roots://"

// pattern takes back what a pattern matches. One that is not absolute begins at each root of
// the workspace.
func (r *reader) pattern(e durward.Entry, pattern *string) error {
	const member = inEntries + ".path.pattern"
	switch {
	case pattern == nil:
		return missing(member)
	case e.Access != durward.AccessDeny:
		return wrong(inEntries+".access", "a pattern can only deny")
	}
	text, named := strings.CutPrefix(*pattern, ofRoots)
	bases, absolute := r.roots, strings.HasPrefix(text, "/")
	if absolute {
		bases = []string{"/"}
	}
	glob, err := globOf(text)
	switch {
	case err != "":
		return wrong(member, "%s", err)
	case named && absolute:
		return wrong(member, "it begins at the workspace and is absolute")
	case len(bases) == 0:
		return missing("sandbox.workspaceRoots")
	}
	e.IfThere = false // a pattern that matches nothing denies nothing
	for _, base := range bases {
		entry := e
		if entry.Path = base; isPlain(glob) {
			entry.Path = path.Join(base, glob)
		} else {
			entry.Pattern = glob
		}
		r.add(entry)
	}
	return nil
}

// globOf gives a pattern in the form of [durward.Entry], or what is wrong with it. What two
// programs may take for different things is wrong: it would perhaps deny nothing.
func globOf(text string) (glob, wrong string) {
	names := slices.DeleteFunc(strings.Split(text, "/"), func(name string) bool { return name == "" || name == "." })
	for i, name := range names {
		switch {
		case name == "..":
			return "", "it holds .."
		case strings.ContainsAny(name, "{}"):
			return "", "braces are not expanded: write an entry for each"
		case strings.Contains(name, "**") && name != "**":
			return "", "** stands for whole names between two slashes"
		case strings.IndexByte(name, 0) >= 0:
			return "", "it holds a NUL byte"
		}
		var understood bool
		if names[i], understood = nameGlob(name); !understood {
			return "", "it has a [ without its ], one within another, or ends in a backslash"
		}
	}
	switch {
	case len(text) > longestPath:
		return "", "it has more than 4096 bytes"
	case len(names) == 0:
		return "", "it matches no name"
	case strings.HasPrefix(text, "file:"), strings.Contains(text, "://"):
		return "", "it is a URI"
	}
	return strings.Join(names, "/"), ""
}

// nameGlob gives the pattern of one name, with [^a] for [!a].
func nameGlob(name string) (glob string, understood bool) {
	text, class := []byte(name), false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '[' && class:
			return "", false
		case c == '[':
			class = true
			if i+1 < len(text) && text[i+1] == '!' {
				text[i+1] = '^'
			}
		case c == ']':
			class = false
		}
	}
	_, err := path.Match(string(text), "")
	return string(text), err == nil
}

// isPlain reports whether a pattern matches nothing but its own text.
func isPlain(glob string) bool { return !strings.ContainsAny(glob, `*?[\`) }
