package mcpservers

import (
	"strconv"
	"strings"

	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/jsonx"
)

// isPathName reports whether a member holds a path. The name is one that [fold] gave.
func isPathName(folded string) bool {
	switch folded {
	case "path", "file", "filepath", "directory", "dir", "source", "destination", "target", "filename",
		"paths", "files", "src", "dst", "from", "to", "cwd", "root", "folder", "uri":
		return true
	}
	return false
}

// isPlaced reports whether the relative path in a member is given to the server as an absolute
// one.
func isPlaced(folded string) bool {
	switch folded {
	case "path", "file", "filepath", "directory", "dir", "filename":
		return true
	}
	return false
}

// isFileName reports whether a member of a file server's arguments holds a path by the end of its
// name.
func isFileName(folded string) bool {
	return strings.HasSuffix(folded, "path") || strings.HasSuffix(folded, "file") || strings.HasSuffix(folded, "dir")
}

// fold gives the form in which names of members are compared: filePath, file_path and
// FILE-PATH are one.
func fold(name string) string {
	name = strings.ToLower(name)
	if !strings.ContainsAny(name, "_-") {
		return name
	}
	return strings.Map(func(c rune) rune {
		if c == '_' || c == '-' {
			return -1
		}
		return c
	}, name)
}

// members says which members of the arguments of a server's tools hold paths.
type members struct {
	fileServer bool
	names      map[string]bool // beside the usual ones
	pointers   [][]string      // the steps of each
}

func membersOf(s *hubconfig.Server) members {
	m := members{fileServer: s.FileServer, names: map[string]bool{}}
	for _, arg := range s.PathArgs {
		if !strings.HasPrefix(arg, "/") {
			m.names[fold(arg)] = true
			continue
		}
		steps := strings.Split(arg[1:], "/")
		for i := range steps {
			steps[i] = strings.ReplaceAll(strings.ReplaceAll(steps[i], "~1", "/"), "~0", "~")
		}
		m.pointers = append(m.pointers, steps)
	}
	return m
}

// holdsPath reports whether a member of that name holds a path, and whether a relative one is
// given as an absolute one.
func (m members) holdsPath(name []byte) (path, place bool) {
	folded := fold(string(name))
	path = isPathName(folded) || m.names[folded] || m.fileServer && isFileName(folded)
	return path, path && isPlaced(folded)
}

// A frame is an object or array that the walk is in.
type frame struct {
	array bool
	// name is that of the member at hand, and index the place of the element.
	name  []byte
	index int
	// path and place are for the elements of an array: it is the value of a member that holds
	// paths.
	path, place bool
}

func (f *frame) step() string {
	if f.array {
		return strconv.Itoa(f.index)
	}
	return string(f.name)
}

// pointsAt reports whether a pointer leads to the value at hand.
func pointsAt(steps []string, frames []frame) bool {
	if len(steps) != len(frames) {
		return false
	}
	for i := range frames {
		if frames[i].step() != steps[i] {
			return false
		}
	}
	return true
}

// pointerTo gives the JSON pointer to the value at hand.
func pointerTo(frames []frame) string {
	var b strings.Builder
	for i := range frames {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(frames[i].step(), "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// unquoted gives what a name says.
func unquoted(raw []byte) []byte {
	said, _ := jsonx.Unquote(raw) // it was checked
	return said
}
