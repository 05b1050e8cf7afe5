package render

import (
	stdhtml "html"
	"net/url"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// nodes writes what may lead out of a page or run in it. Everything else is written by
// the library, which escapes it.
type nodes struct {
	base *url.URL
	left int // pieces left out
}

// RegisterFuncs says which nodes are written here.
func (n *nodes) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHTMLBlock, n.drop)
	r.Register(ast.KindRawHTML, n.drop)
	r.Register(ast.KindLink, n.link)
	r.Register(ast.KindAutoLink, n.autoLink)
	r.Register(ast.KindImage, n.image)
	r.Register(extast.KindTaskCheckBox, task)
}

func (n *nodes) drop(_ util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		n.left++
	}
	return ast.WalkSkipChildren, nil
}

// link writes a link, or only its text where it may not be followed.
func (n *nodes) link(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	to := node.(*ast.Link)
	l, ok := follow(n.base, destination(to.Destination))
	switch {
	case !ok && entering:
		n.left++
		return write(w, "")
	case !ok:
		return write(w, "")
	case entering:
		return write(w, l.open(to.Title))
	}
	return write(w, "</a>")
}

func (n *nodes) autoLink(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	to := node.(*ast.AutoLink)
	address := string(to.URL(source))
	if to.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(address), "mailto:") {
		address = "mailto:" + address
	}
	label := text(string(to.Label(source)))
	l, ok := follow(n.base, address)
	if !ok {
		n.left++
		return write(w, label)
	}
	return write(w, join(l.open(nil), label, "</a>"))
}

// image writes an image of the site itself, or what stands for another one.
func (n *nodes) image(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	from := node.(*ast.Image)
	alt := markup(plain(from, source))
	l, ok := follow(n.base, destination(from.Destination))
	if !ok || l.external {
		n.left++
		_, err := write(w, fill("[image: %s]", alt))
		return ast.WalkSkipChildren, err
	}
	_, err := write(w, fill(`<img src="%s" alt="%s"%s>`, text(l.href), alt, titled(from.Title)))
	return ast.WalkSkipChildren, err
}

func task(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	if node.(*extast.TaskCheckBox).IsChecked {
		return write(w, `<span role="img" aria-label="done">☑</span> `)
	}
	return write(w, `<span role="img" aria-label="to do">☐</span> `)
}

func (l link) open(title []byte) markup {
	var rel markup
	if l.external {
		rel = ` rel="noreferrer"`
	}
	return fill(`<a href="%s"%s%s>`, text(l.href), titled(title), rel)
}

func titled(title []byte) markup {
	if len(title) == 0 {
		return ""
	}
	return fill(` title="%s"`, markup(escaped(title)))
}

// write fails when the page has become too large, which ends the work on it.
func write(w util.BufWriter, m markup) (ast.WalkStatus, error) {
	if _, err := w.WriteString(string(m)); err != nil {
		return ast.WalkStop, err
	}
	return ast.WalkContinue, nil
}

// destination resolves the escapes and references that Markdown has.
func destination(raw []byte) string {
	return string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(raw))))
}

// escaped gives text of Markdown as HTML.
func escaped(raw []byte) string {
	var b strings.Builder
	w := &bufWriter{Builder: &b}
	html.DefaultWriter.Write(w, raw)
	return b.String()
}

// plain gives the text below a node, as HTML without elements.
func plain(node ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			b.WriteString(own(n, source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// own gives the text of one node.
func own(n ast.Node, source []byte) string {
	switch n := n.(type) {
	case *ast.Text:
		end := ""
		if n.SoftLineBreak() || n.HardLineBreak() {
			end = " "
		}
		if n.IsRaw() || n.Parent().Kind() == ast.KindCodeSpan {
			return stdhtml.EscapeString(string(n.Value(source))) + end
		}
		return escaped(n.Value(source)) + end
	case *ast.String:
		return stdhtml.EscapeString(string(n.Value))
	case *ast.AutoLink:
		return stdhtml.EscapeString(string(n.Label(source)))
	}
	return ""
}

// bufWriter is a strings.Builder as the library wants its writers.
type bufWriter struct{ *strings.Builder }

func (bufWriter) Available() int { return 0 }
func (bufWriter) Buffered() int  { return 0 }
func (bufWriter) Flush() error   { return nil }
