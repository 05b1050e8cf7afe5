package firecrawl

import (
	"context"
	"iter"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// pieceBytes is about how much is parsed at once: what a stranger wrote may take a time
// that grows with the square of its length.
const pieceBytes = 8 << 10

// plainText gives what a text in Markdown says without its markup: the text of links and
// images, code as it stands, a line for each item of a list and each row of a table, and
// never more than one empty line. Its error is that of ctx, once it ended.
func plainText(ctx context.Context, markdown string) (string, error) {
	var out strings.Builder
	for piece := range pieces(markdown) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		p := plain{source: []byte(piece)}
		_ = ast.Walk(reader().Parse(text.NewReader(p.source)), p.visit) // visit has no errors
		out.WriteString(p.out.String())
	}
	return collapse(out.String()), nil
}

var reader = sync.OnceValue(func() parser.Parser {
	return goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough)).Parser()
})

// pieces cuts a text where a block ends, or else where a line does, or else where it
// becomes too long.
func pieces(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(text) > pieceBytes {
			end := cut(text)
			if !yield(text[:end]) {
				return
			}
			text = text[end:]
		}
		yield(text)
	}
}

func cut(text string) int {
	end, fence, at := 0, "", 0
	for line := range strings.Lines(text[:pieceBytes]) {
		at += len(line)
		bare := strings.TrimSpace(line)
		switch mark := bare[:min(len(bare), 3)]; {
		case mark == "```" || mark == "~~~":
			if fence == "" {
				fence = mark
			} else if fence == mark {
				fence = ""
			}
		case bare == "" && fence == "":
			end = at
		}
	}
	if end == 0 {
		end = strings.LastIndexByte(text[:pieceBytes], '\n') + 1
	}
	if end > 0 {
		return end
	}
	for end = pieceBytes; !utf8.RuneStart(text[end]) && end > pieceBytes-utf8.UTFMax; {
		end--
	}
	return end
}

type plain struct {
	source []byte
	out    strings.Builder
}

func (p *plain) visit(n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		p.leave(n)
		return ast.WalkContinue, nil
	}
	switch n := n.(type) {
	case *ast.Text:
		p.write(n)
		if n.SoftLineBreak() || n.HardLineBreak() {
			p.out.WriteByte('\n')
		}
	case *ast.String:
		p.out.Write(n.Value)
	case *ast.AutoLink:
		p.out.Write(n.Label(p.source))
	case *ast.RawHTML:
		return ast.WalkSkipChildren, nil
	case *ast.HTMLBlock:
		var block strings.Builder
		for i := range n.Lines().Len() {
			line := n.Lines().At(i)
			block.Write(line.Value(p.source))
		}
		if n.HasClosure() {
			block.Write(n.ClosureLine.Value(p.source))
		}
		p.out.Write(util.ResolveEntityNames(util.ResolveNumericReferences([]byte(withoutTags(block.String())))))
		return ast.WalkSkipChildren, nil
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		for i := range n.Lines().Len() {
			line := n.Lines().At(i)
			p.out.Write(line.Value(p.source))
		}
	}
	return ast.WalkContinue, nil
}

func (p *plain) write(n *ast.Text) {
	said := n.Value(p.source)
	if !n.IsRaw() {
		said = util.UnescapePunctuations(util.ResolveEntityNames(util.ResolveNumericReferences(said)))
	}
	p.out.Write(said)
}

// withoutTags gives what a piece of HTML says beside its tags and comments, scripts and styles
// left out.
func withoutTags(html string) string {
	var out strings.Builder
	for html != "" {
		said, rest, found := strings.Cut(html, "<")
		out.WriteString(said)
		if !found {
			break
		}
		end := ">"
		switch lower := strings.ToLower(rest[:min(len(rest), len("script"))]); {
		case strings.HasPrefix(rest, "!--"):
			end = "-->"
		case lower == "script":
			end = "</script>"
		case strings.HasPrefix(lower, "style"):
			end = "</style>"
		}
		at := strings.Index(strings.ToLower(rest), end)
		if at < 0 {
			break // what is cut off says nothing
		}
		html = rest[at+len(end):]
	}
	return out.String()
}

// leave ends a block.
func (p *plain) leave(n ast.Node) {
	switch n.Kind() {
	case extast.KindTableCell:
		if n.NextSibling() != nil {
			p.out.WriteByte('\t')
		}
	case extast.KindTableHeader, extast.KindTableRow, ast.KindTextBlock:
		p.out.WriteByte('\n')
	case ast.KindListItem:
	case ast.KindList:
		if n.Parent().Kind() != ast.KindListItem {
			p.out.WriteByte('\n')
		}
	default:
		if n.Type() == ast.TypeBlock {
			p.out.WriteString("\n\n")
		}
	}
}

// collapse leaves one empty line of many, and none at the ends.
func collapse(text string) string {
	var out strings.Builder
	empty := 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		if line == "" {
			empty++
			continue
		}
		if out.Len() > 0 {
			out.WriteString("\n\n"[:min(empty+1, 2)])
		}
		out.WriteString(line)
		empty = 0
	}
	return out.String()
}
