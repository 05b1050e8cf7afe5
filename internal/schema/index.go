package schema

import (
	"net/url"
	"strings"
)

// resource makes a schema known under its URI.
func (f *Folder) resource(doc *document, n int32, base *url.URL) *resource {
	r := &resource{doc: doc, root: n, base: base, anchors: map[string]int32{}, dynamic: map[string]*rule{}}
	key := base.String()
	if other, taken := f.resources[key]; taken && (other.doc != doc || other.root != n) {
		f.wrong(doc, n, "the $id %.128q is that of another schema", strings.TrimPrefix(key, folderScheme+":///"))
		return r
	}
	f.resources[key] = r
	return r
}

// index notes the ids and anchors of a schema and of those within it. in is the resource it is
// part of, unless it begins one of its own.
func (f *Folder) index(doc *document, n int32, in *resource) {
	t := doc.tree
	if doc.scopes[n] != nil {
		return
	}
	if t.nodes[n].kind == object {
		in = f.identify(doc, n, in)
	}
	doc.scopes[n] = in
	if t.nodes[n].kind != object {
		return
	}
	for at := n + 1; at < t.nodes[n].past; at = t.nodes[at].past {
		f.eachSchema(doc, at, func(below int32) { f.index(doc, below, in) })
	}
}

// eachSchema calls do for the schemas below a keyword.
func (f *Folder) eachSchema(doc *document, keyword int32, do func(int32)) {
	t := doc.tree
	n := &t.nodes[keyword]
	shape := doc.draft.shapeOf(string(t.name(keyword)))
	if shape == someSchema {
		shape = oneSchema
		if n.kind == array {
			shape = manySchemas
		}
	}
	switch {
	case shape == oneSchema:
		do(keyword)
	case shape == manySchemas && n.kind == array, shape == namedSchemas && n.kind == object:
		for at := keyword + 1; at < n.past; at = t.nodes[at].past {
			do(at)
		}
	}
}

// identify gives the resource that a schema is part of, by what it says of itself.
func (f *Folder) identify(doc *document, n int32, in *resource) *resource {
	says := func(keyword string) (string, int32) {
		at := doc.tree.member(n, keyword)
		if at == none || doc.tree.nodes[at].kind != text {
			return "", none
		}
		return string(doc.tree.says(at)), at
	}
	if doc.draft == draft07 {
		if doc.tree.member(n, "$ref") != none {
			return in // nothing beside it counts
		}
	}
	if id, at := says("$id"); at != none {
		in = f.byID(doc, n, at, id, in)
	}
	if doc.draft == draft2020 {
		for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
			if name, at := says(keyword); at != none {
				f.anchor(doc, n, at, name, in)
				if keyword == "$dynamicAnchor" {
					in.dynamic[name] = nil // it is compiled later
				}
			}
		}
	}
	if _, at := says("$schema"); at != none && n != 0 {
		if d, ok := draftOf(string(doc.tree.says(at))); !ok || d != doc.draft {
			f.wrong(doc, at, "one file holds schemas of one draft")
		}
	}
	return in
}

// byID gives the resource of an $id. In draft-07 one that is but a fragment is an anchor.
func (f *Folder) byID(doc *document, n, at int32, id string, in *resource) *resource {
	u, err := url.Parse(id)
	if err != nil {
		f.wrong(doc, at, "is no URI")
		return in
	}
	fragment := u.Fragment
	u.Fragment, u.RawFragment = "", ""
	if fragment != "" && doc.draft == draft07 {
		if u.String() == "" {
			f.anchor(doc, n, at, fragment, in)
			return in
		}
	}
	if u.String() == "" {
		return in
	}
	base := in.base.ResolveReference(u)
	if n == 0 && doc.uri != base.String() {
		// The file stays known by its path.
		r := f.resource(doc, 0, base)
		in.anchors, in.dynamic = r.anchors, r.dynamic
		in = r
	} else if n != 0 {
		in = f.resource(doc, n, base)
	}
	if fragment != "" {
		f.anchor(doc, n, at, fragment, in)
	}
	return in
}

func (f *Folder) anchor(doc *document, n, at int32, name string, in *resource) {
	if other, taken := in.anchors[name]; taken && other != n {
		f.wrong(doc, at, "the anchor %.128q is there already (line %d)", name, doc.tree.line(other))
		return
	}
	in.anchors[name] = n
}
