package config

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"

	"github.com/durward/durward"
)

// yaml reads one YAML document. It gives nil after a mistake in the syntax and after
// aliases that expand to too much, which end the reading; all other mistakes are noted
// along the way.
func (p *parser) yaml(data []byte) *Node {
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		p.yamlError(err)
		return nil
	}
	var doc, more yaml.Node
	if err := loader.Load(&doc); errors.Is(err, io.EOF) {
		return &Node{Where: p.at(nil, 0)}
	} else if err != nil {
		p.yamlError(err)
		return nil
	}
	switch err := loader.Load(&more); {
	case errors.Is(err, io.EOF):
	case err != nil:
		p.yamlError(err)
	default:
		p.problems.Add(p.yamlAt(&more), "a second document begins here; there may be only one")
	}
	root := p.convert(&doc, "", 0)
	if p.nodes > maxNodes {
		return nil // what is missing from it is no mistake of its own
	}
	return root
}

func (p *parser) yamlError(err error) {
	where, message := p.at(nil, 0), err.Error()
	var load *yaml.LoadError
	if errors.As(err, &load) {
		message = p.syntax(load)
		if load.Mark.Line > 0 {
			where.Line, where.Column = p.line(load.Mark.Line), max(load.Mark.Column, 1)
		}
	}
	p.problems.Add(where, "%s", message)
}

func (p *parser) yamlAt(n *yaml.Node) durward.Position {
	return durward.Position{File: p.file, Line: p.line(n.Line), Column: max(n.Column, 1)}
}

// convert turns a node of the library into ours. It never gives nil.
func (p *parser) convert(y *yaml.Node, path string, depth int) *Node {
	n := &Node{Where: p.yamlAt(y), Path: path}
	if depth > p.depth {
		p.tooDeep(n.Where)
		return n
	}
	if p.aliases {
		if p.nodes > maxNodes || p.isTooMuch(y) {
			return n
		}
		if y.Kind == yaml.AliasNode {
			p.behind++
			defer func() { p.behind-- }()
			return p.convert(y.Alias, path, depth+1)
		}
	}
	p.refuseAnchor(y)
	switch y.Kind {
	case yaml.DocumentNode:
		return p.convert(y.Content[0], path, depth)
	case yaml.MappingNode:
		p.refuseTag(y, "!!map")
		p.convertMap(n, y, depth)
	case yaml.SequenceNode:
		p.refuseTag(y, "!!seq")
		n.Kind = List
		for i, item := range y.Content {
			n.Items = append(n.Items, p.convert(item, itemPath(path, i), depth+1))
		}
	case yaml.ScalarNode:
		p.convertScalar(n, y)
	}
	return n
}

// isTooMuch counts a value, and ends the reading at the first that is too much. Where
// aliases have a bound of their own nothing counts but what stands behind one.
func (p *parser) isTooMuch(y *yaml.Node) bool {
	if p.most > 0 && p.behind == 0 {
		return false
	}
	p.expanded++
	p.nodes += 1 + len(y.Value)/nodeBytes
	switch {
	case p.most > 0 && p.expanded > p.most:
		p.nodes = maxNodes + 1
		p.problems.Add(p.yamlAt(y), "its aliases expand to more than %d values", p.most)
	case p.nodes > maxNodes:
		p.problems.Add(p.yamlAt(y), "its aliases expand to more than %d values, or to over %d bytes of text", maxNodes, maxNodes*nodeBytes)
	}
	return p.nodes > maxNodes
}

func (p *parser) convertMap(n *Node, y *yaml.Node, depth int) {
	n.Kind = Map
	seen := map[string]durward.Position{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, value := y.Content[i], y.Content[i+1]
		p.refuseAnchor(key)
		if key.Kind == yaml.AliasNode && p.aliases {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			p.problems.Add(p.yamlAt(key), "a field name must be a plain word")
			continue
		}
		p.refuseTag(key, "!!str")
		v := p.convert(value, childPath(n.Path, key.Value), depth+1)
		p.addField(n, Field{Name: key.Value, Where: p.yamlAt(key), Value: v}, seen)
	}
}

func (p *parser) convertScalar(n *Node, y *yaml.Node) {
	n.Text, n.Kind = y.Value, String
	const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	if y.Style&yaml.TaggedStyle == 0 {
		if y.Style&quoted == 0 {
			n.Kind = p.plainKind(y.Value)
		}
		return
	}
	kind, known := scalarTags()[y.Tag]
	switch {
	case !known:
		p.problems.Add(n.Where, "the tag %s is not accepted", y.Tag)
	case kind != String && p.plainKind(y.Value) != kind:
		p.problems.Add(n.Where, "%q is not %s, as its tag says", y.Value, kind)
	}
	n.Kind = kind
}

func (p *parser) refuseAnchor(y *yaml.Node) {
	switch {
	case p.aliases:
	case y.Kind == yaml.AliasNode:
		p.problems.Add(p.yamlAt(y), "the alias *%s is not accepted; write the value out", y.Value)
	case y.Anchor != "":
		p.problems.Add(p.yamlAt(y), "the anchor &%s is not accepted", y.Anchor)
	}
}

func (p *parser) refuseTag(y *yaml.Node, usual string) {
	if y.Style&yaml.TaggedStyle != 0 && y.Tag != usual {
		p.problems.Add(p.yamlAt(y), "the tag %s is not accepted", y.Tag)
	}
}

var scalarTags = sync.OnceValue(func() map[string]Kind {
	return map[string]Kind{"!!null": Null, "!!bool": Bool, "!!int": Int, "!!float": Float, "!!str": String}
})

// numbers are the core forms of YAML 1.2, with underscores between digits. A number
// with a needless zero in front is none: one reader takes 0755 for 755, the next for
// 493, so it is a string here and refused where a number is due.
var numbers = sync.OnceValue(func() (forms struct{ integer, float *regexp.Regexp }) {
	forms.integer = regexp.MustCompile(`^(?:[-+]?(?:0|[1-9](?:_?[0-9])*)|0o[0-7](?:_?[0-7])*|0x[0-9a-fA-F](?:_?[0-9a-fA-F])*)$`)
	forms.float = regexp.MustCompile(`^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
	return forms
})

// plainKind tells what a scalar without quotes is.
func (p *parser) plainKind(text string) Kind {
	if p.core && strings.Contains(text, "_") {
		return String
	}
	switch text {
	case "", "~", "null", "Null", "NULL":
		return Null
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return Bool
	}
	switch {
	case numbers().integer.MatchString(text):
		return Int
	case numbers().float.MatchString(text) && !leadingZero(text):
		return Float
	}
	return String
}

func leadingZero(text string) bool {
	for len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		text = text[1:]
	}
	return len(text) > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9'
}
