package render

import (
	"errors"
	"html"
	"net/url"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	reader "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// An article is the text of a page as HTML.
type article struct {
	html  markup
	title string // of the first heading
	left  int    // pieces that are left out
}

// layOut makes HTML of Markdown. It gives up on what would take too much.
func layOut(source []byte, base *url.URL) (article, bool) {
	source = unixLines(source)
	if !cheap(source) {
		return article{}, false
	}
	n := &nodes{base: base}
	md := goldmark.New(
		goldmark.WithExtensions(
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
			extension.Strikethrough, extension.TaskList),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(n, 1))),
	)
	root := md.Parser().Parse(reader.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(newIDs()))))
	if deep(root) {
		return article{}, false
	}
	out := &bounded{room: maxHTMLBytes}
	if err := md.Renderer().Render(out, source, root); err != nil || out.full {
		return article{}, false
	}
	return article{html: markup(visible(out.String())), title: title(root, source), left: n.left}, true
}

// deep reports whether walking a tree would take too much stack. It does not walk
// like that itself.
func deep(root ast.Node) bool {
	for n, depth := root, 0; n != nil; {
		switch {
		case n.FirstChild() != nil:
			n, depth = n.FirstChild(), depth+1
		default:
			for n != root && n.NextSibling() == nil {
				n, depth = n.Parent(), depth-1
			}
			if n == root {
				return false
			}
			n = n.NextSibling()
		}
		if depth > maxDepth {
			return true
		}
	}
	return false
}

// title gives the text of the first heading.
func title(root ast.Node, source []byte) string {
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() == ast.KindHeading {
			return strings.TrimSpace(html.UnescapeString(plain(n, source)))
		}
	}
	return ""
}

// bounded keeps what is written to it until there is no room.
type bounded struct {
	strings.Builder
	room int
	full bool
}

var errFull = errors.New("the page is too large")

func (b *bounded) Write(p []byte) (int, error) {
	if b.full = b.full || len(p) > b.room-b.Len(); b.full {
		return 0, errFull
	}
	return b.Builder.Write(p)
}
