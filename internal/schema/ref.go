package schema

import (
	"errors"
	"net/url"
	"path"
	"strconv"
	"strings"
)

// resolve finds the schema that a reference leads to. It never leaves the folder.
func (f *Folder) resolve(ref string, in *resource) (place, error) {
	rest, fragment, _ := strings.Cut(ref, "#")
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return place{}, errors.New("the fragment has a % that is no escape")
	}
	to := in
	if rest != "" {
		if to, err = f.reach(rest, in); err != nil {
			return place{}, err
		}
		if to == nil {
			return place{}, nil // its own mistakes are told
		}
	}
	n := int32(none)
	switch {
	case fragment == "":
		n = to.root
	case fragment[0] == '/':
		n = to.doc.follow(to.root, fragment)
	default:
		if at, ok := to.anchors[fragment]; ok {
			n = at
		}
	}
	if n == none {
		return place{}, errors.New("there is nothing at that place")
	}
	return place{to.doc, n}, nil
}

// reach gives the resource that a reference without fragment leads to. It is nil without an
// error where a file is there and has mistakes.
func (f *Folder) reach(ref string, in *resource) (*resource, error) {
	u, err := url.Parse(ref)
	if err != nil {
		return nil, errors.New("it is no URI reference")
	}
	inFolder := in.base.Scheme == folderScheme && !u.IsAbs() && u.Host == ""
	name := path.Join(path.Dir(strings.TrimPrefix(in.base.Path, "/")), u.Path)
	switch {
	case u.Scheme == folderScheme:
		return nil, errElsewhere
	case !inFolder:
	case strings.HasPrefix(u.Path, "/"):
		return nil, errors.New("the path is absolute; write it relative to the file it stands in")
	case u.RawQuery != "" || strings.Contains(u.Path, `\`):
		return nil, errors.New("it is no path of a file")
	case name == ".." || strings.HasPrefix(name, "../"):
		return nil, errOutside // a URI would begin again at the top
	}
	uri := in.base.ResolveReference(u).String()
	if r, ok := f.resources[uri]; ok {
		return r, nil
	}
	if doc := f.known(uri); doc != nil && !inFolder {
		return f.resources[uri], nil
	}
	if !inFolder {
		return nil, errElsewhere
	}
	doc, err := f.file(name)
	if doc == nil {
		return nil, err
	}
	return doc.scopes[0], nil
}

var errElsewhere = errors.New("it leads out of the manifest's folder, and nothing is ever fetched")

// manyMembers is how many members of an object make an index of them worth its while.
const manyMembers = 32

// follow goes along a JSON Pointer, and gives none where that leads nowhere.
func (d *document) follow(n int32, pointer string) int32 {
	for token := range strings.SplitSeq(pointer[1:], "/") {
		if n = d.step(n, strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")); n == none {
			break
		}
	}
	return n
}

func (d *document) step(n int32, token string) int32 {
	at := &d.tree.nodes[n]
	switch {
	case at.kind == object && at.count > manyMembers:
		if found, ok := d.indexed(n)[token]; ok {
			return found
		}
	case at.kind == object:
		return d.tree.member(n, token)
	case at.kind == array:
		if index, err := strconv.ParseUint(token, 10, 31); err == nil && strconv.FormatUint(index, 10) == token {
			return d.tree.item(n, int32(index))
		}
	}
	return none
}

// indexed gives the members of an object by their names.
func (d *document) indexed(n int32) map[string]int32 {
	if found, ok := d.members[n]; ok {
		return found
	}
	t := d.tree
	index := make(map[string]int32, t.nodes[n].count)
	for at := n + 1; at < t.nodes[n].past; at = t.nodes[at].past {
		index[string(t.name(at))] = at
	}
	if d.members == nil {
		d.members = map[int32]map[string]int32{}
	}
	d.members[n] = index
	return index
}

// scope gives the resource that a node belongs to. One that no keyword makes a schema is part
// of what it stands in.
func (f *Folder) scope(p place) *resource {
	d := p.doc
	if d.scopes[p.node] == nil {
		above := d.tree.nodes[p.node].parent
		for d.scopes[above] == nil {
			above = d.tree.nodes[above].parent
		}
		f.index(d, p.node, d.scopes[above])
	}
	return d.scopes[p.node]
}
