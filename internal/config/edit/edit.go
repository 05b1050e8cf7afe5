// Package edit changes one place in the text of a YAML or JSON document and leaves every other byte as it is.
//
// An edit is made at the positions of the document's tree, in the style of what stands
// beside it:
//
//	allowedRoots:          # comments, blank lines, order, quotes, line ends stay
//	  - ~/code
//	  - /srv/data          # appended: indented as its neighbours are
//	commands: [{id: ls}, {id: cat}]
//
// A string is written without quotes where no reader of YAML could take it for anything
// else, unless its neighbours have quotes that they do not need. What is JSON stays JSON.
//
// What goes with an item or a member that is removed: the comment lines directly above
// it that are indented as it is, the comment at the end of its last line, and the
// comment lines below it that are indented deeper than it is. Other comments stay.
//
// The text after an edit is read again. Unless its tree is the former one with that one
// change, the edit is refused and nothing is changed; so is whatever would lose the
// comment of something else. TOML is not edited.
package edit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
)

const byteOrderMark = "\ufeff"

// A Document is a text together with its tree. It is not safe for concurrent use.
type Document struct {
	source
	mark string // a byte order mark, or nothing
	root *config.Node
	json bool // every byte of it is JSON, and has to stay so
}

// Parse reads a document as [config.Parse] does and refuses what that refuses. It
// keeps nothing of data.
func Parse(file string, data []byte) (*Document, error) {
	if strings.EqualFold(filepath.Ext(file), ".toml") {
		return nil, refuse(durward.Position{File: file}, "TOML cannot be edited; change it by hand")
	}
	root, err := config.Parse(file, data)
	if err != nil {
		return nil, err
	}
	text, marked := bytes.CutPrefix(data, []byte(byteOrderMark))
	d := &Document{source: newSource(file, string(text)), root: root, json: json.Valid(text)}
	if marked {
		d.mark = byteOrderMark
	}
	return d, nil
}

// Bytes gives the text as it is now.
func (d *Document) Bytes() []byte { return []byte(d.mark + d.text) }

// Tree gives the document as it is now. It is not to be changed, and an edit gives
// another one.
func (d *Document) Tree() *config.Node { return d.root }

// Append puts an item at the end of the list at a path. A list that is empty or not
// there is made, as are the mappings around it. The error is of type [config.Problems];
// with it, nothing is changed.
func (d *Document) Append(at Path, item Value) error {
	s, missing, err := d.find(at)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return d.add(s, missing[0], wrap(missing[1:], List{item}))
	}
	switch {
	case s.node.Kind == config.Null, isEmpty(s.node, config.List):
		return d.fill(s, List{item})
	case s.node.Kind == config.List:
		return d.insert(s, "", item)
	}
	return refuse(s.node.Where, "%s is %s and not a list", at, s.node.Kind)
}

// Set gives a member or an item another value. One that is not there is made, as are
// the mappings around it; one that is empty takes any value, a scalar only another
// scalar, and a list or a mapping none. The error is of type [config.Problems]; with it,
// nothing is changed.
func (d *Document) Set(at Path, value Value) error {
	s, missing, err := d.find(at)
	switch {
	case err != nil:
		return err
	case len(at.steps) == 0:
		return refuse(d.root.Where, "the document as a whole is not set")
	case len(missing) > 0:
		return d.add(s, missing[0], wrap(missing[1:], value))
	case !isScalar(s.node.Kind):
		return refuse(s.node.Where, "%s is %s, which is not set as a whole", at, s.node.Kind)
	}
	return d.replace(s, value)
}

// Remove takes away an item of a list or a member of a mapping, which has to be there.
// What was the last one leaves [] or {}. The error is of type [config.Problems]; with
// it, nothing is changed.
func (d *Document) Remove(at Path) error {
	s, missing, err := d.find(at)
	switch {
	case err != nil:
		return err
	case len(missing) > 0:
		return refuse(s.node.Where, "there is no %s", at)
	case s.parent == nil:
		return refuse(d.root.Where, "the document as a whole is not removed")
	}
	return d.remove(s)
}

// add makes a member of the mapping at s.
func (d *Document) add(s *spot, name string, value Value) error {
	switch {
	case s.node.Kind == config.Null, isEmpty(s.node, config.Map):
		return d.fill(s, Map{{name, value}})
	case s.node.Kind == config.Map:
		return d.insert(s, name, value)
	}
	return refuse(s.node.Where, "%s is %s and has no member %q", s.path(), s.node.Kind, name)
}

// A splice replaces the bytes between from and to.
type splice struct {
	from, to int
	text     string
}

// apply makes an edit, provided that it leads to the tree that is wanted.
func (d *Document) apply(s *spot, want *config.Node, splices ...splice) error {
	text, ok := d.spliced(splices)
	if !ok {
		return unsafe(s.node.Where)
	}
	root, err := config.Parse(d.file, []byte(text))
	if err != nil {
		return refuse(s.node.Where, "the edit leads to a document that cannot be read: %s", err)
	}
	if !config.Equal(root, want) || d.json && !json.Valid([]byte(text)) {
		return unsafe(s.node.Where)
	}
	d.source, d.root = newSource(d.file, text), root
	return nil
}

// spliced gives the text with its splices made. They may not overlap.
func (d *Document) spliced(splices []splice) (string, bool) {
	slices.SortStableFunc(splices, func(a, b splice) int { return a.from - b.from })
	var text strings.Builder
	at := 0
	for _, s := range splices {
		if s.from < at || s.to < s.from || s.to > len(d.text) {
			return "", false
		}
		text.WriteString(d.text[at:s.from] + s.text)
		at = s.to
	}
	text.WriteString(d.text[at:])
	return text.String(), true
}

func refuse(where durward.Position, format string, args ...any) error {
	var p config.Problems
	p.Add(where, format, args...)
	return p.Err()
}

// unsafe is the answer to a layout that no edit is known for.
func unsafe(where durward.Position) error {
	return refuse(where, "this is laid out in a way that cannot be edited safely; change it by hand")
}

func isScalar(k config.Kind) bool { return k != config.List && k != config.Map }

func isEmpty(n *config.Node, k config.Kind) bool {
	return n.Kind == k && len(n.Items)+len(n.Fields) == 0
}

// check refuses values that no document can hold.
func check(v Value) error {
	bad := ""
	eachText(v, func(text string, nothing bool) {
		if nothing {
			bad = "a value is missing"
		} else if text != strings.ToValidUTF8(text, "") {
			bad = fmt.Sprintf("%q is not UTF-8", text)
		}
	})
	if bad != "" {
		return refuse(durward.Position{}, "%s", bad)
	}
	return nil
}
