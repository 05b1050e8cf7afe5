//go:build e2e

package render_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/durward/durward/internal/door/site/render"
)

// inject sets ran, which no page does, when it is obeyed.
const inject = `<script>window.ran = 1; fetch("/ran")</script>
<img src=x onerror="window.ran = 2"><svg onload="window.ran = 3"></svg>
<iframe srcdoc="<script>parent.ran = 4</script>"></iframe><style>body { width: 2000px }</style>
<a id=trap href="javascript:window.ran = 5">trap</a><meta http-equiv=refresh content="0;url=/ran">
`

// wide holds what is wider than a telephone.
var wide = strings.Repeat("long", 200) + "\n\n`" + strings.Repeat("code", 200) + "`\n\n```\n" + strings.Repeat("block ", 200) +
	"\n```\n\n" + strings.Repeat("| column ", 20) + "|\n" + strings.Repeat("|--", 20) + "|\n" + strings.Repeat("| "+strings.Repeat("w", 40), 20) +
	"|\n\n![wide](/wide.png)\n\n" + strings.Repeat("> ", 12) + "deep\n\n[" + strings.Repeat("link", 100) + "](x)\n\n# " + strings.Repeat("Heading", 40) + "\n"

func TestNoScriptOfAPageRuns(t *testing.T) {
	hostile := document(t, "hostile.md")
	hostile.Text = append([]byte(inject+"\n"), hostile.Text...)
	hostile.Tools = []render.Tool{{Words: []render.Word{{Text: inject}, {Kind: render.Any, Text: inject}, {Kind: render.Matched, Text: inject}}}}
	hostile.Path, hostile.Lang = inject, inject
	b := open(t, map[string]string{"/": landing(t, hostile)})
	b.visit("/")
	const touch = `document.querySelectorAll("*").forEach(e => ["mouseover", "focus", "error", "load"].forEach(kind => e.dispatchEvent(new Event(kind))))`
	b.run(chromedp.Evaluate[chromedp.Void](touch))
	if links := b.number(`[...document.links].filter(a => !["http:", "https:", "mailto:"].includes(a.protocol)).length`); links != 0 {
		t.Errorf("%v links lead to no page", links)
	}
	if ran := b.number(`window.ran || 0`); ran != 0 {
		t.Errorf("script %v of the page ran", ran)
	}
	b.wasQuiet()
}

// The header stands behind the escaping: it stops what the page would not.
func TestContentSecurityPolicyStopsScripts(t *testing.T) {
	bare := "<!DOCTYPE html><body>" + strings.Replace(inject, "<meta", "<p", 1)
	b := open(t, map[string]string{"/": bare, withoutPolicy: bare})
	b.visit("/")
	b.run(chromedp.Click(chromedp.CSS("#trap")))
	if ran := b.number(`window.ran || 0`); ran != 0 {
		t.Errorf("script %v ran in spite of the header", ran)
	}
	b.visit(withoutPolicy)
	if ran := b.number(`window.ran || 0`); ran == 0 {
		t.Error("without the header no script runs either: this test sees nothing")
	}
}

func TestPagesFitOnATelephone(t *testing.T) {
	d := document(t, "features.md")
	d.Text, d.Tools = append(d.Text, wide...), append(someTools, render.Tool{Words: []render.Word{{Text: strings.Repeat("word", 100)}}})
	d.Path = strings.Repeat("folder/", 40) + "page.md"
	b := open(t, map[string]string{"/": landing(t, d), "/plain": page(t, render.Document{Path: "x.md", Text: bytes.Repeat([]byte("word"), 80<<10)})})
	for _, path := range []string{"/", "/plain"} {
		b.visit(path)
		if width := b.number(`document.documentElement.scrollWidth`); width != 360 {
			t.Errorf("%s is %v pixels wide", path, width)
		}
	}
	b.visit("/")
	if width := b.number(`document.querySelector("img[alt=wide]").naturalWidth`); width != 1500 {
		t.Error("the site's own image is not shown")
	}
	b.wasQuiet()
}

func TestFocusIsVisible(t *testing.T) {
	d := document(t, "features.md")
	d.Body, d.Tools = bytes.Index(d.Text, []byte("# ")), someTools
	b := open(t, map[string]string{"/": landing(t, d)})
	b.visit("/")
	links := int(b.number(`document.links.length`))
	seen := map[string]bool{}
	for range links {
		b.run(chromedp.KeyEvent(kb.Tab))
		focus := value[focused](b, `(() => { const e = document.activeElement, s = getComputedStyle(e), r = e.getBoundingClientRect();
			return { Name: [...document.links].indexOf(e) + e.textContent, Outline: parseFloat(s.outlineWidth), Style: s.outlineStyle, Left: r.left, Height: r.height } })()`)
		if focus.Outline < 2 || focus.Style != "solid" || focus.Left < 0 || focus.Height < 10 {
			t.Errorf("the focus is not seen: %+v", focus)
		}
		seen[focus.Name] = true
	}
	if len(seen) != links {
		t.Errorf("the keyboard reaches %d of %d links", len(seen), links)
	}
}

// focused is an element with the focus as it is seen.
type focused struct {
	Name, Style           string
	Outline, Left, Height float64
}

func TestColoursFollowTheSystem(t *testing.T) {
	b := open(t, map[string]string{"/": page(t, document(t, "features.md"))})
	for scheme, want := range map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(22, 22, 22)"} {
		media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
		if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, media); err != nil {
			t.Fatal(err)
		}
		b.visit("/")
		if colour := value[string](b, `getComputedStyle(document.documentElement).backgroundColor`); colour != want {
			t.Errorf("%s: the background is %s", scheme, colour)
		}
	}
}

func landing(t *testing.T, d render.Document) string {
	t.Helper()
	var b strings.Builder
	if err := render.Landing(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A browser is a headless one the size of a telephone, at a server of pages.
type browser struct {
	t      *testing.T
	ctx    context.Context
	server *httptest.Server

	mu    sync.Mutex
	noise []string // guarded by mu; requests and dialogs that no page may cause
}

// open starts a browser, which ends with the test.
func open(t *testing.T, pages map[string]string) *browser {
	t.Helper()
	b := &browser{t: t}
	b.server = httptest.NewServer(serve(pages))
	t.Cleanup(b.server.Close)
	// The browser's own sandbox does not start for root.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.WindowSize(360, 640))
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(end)
	ctx, end = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(end)
	b.ctx, end = chromedp.NewContext(ctx)
	t.Cleanup(end)
	if err := chromedp.Listen(b.ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	b.run(chromedp.EmulateViewport(360, 640, chromedp.EmulateMobile))
	return b
}

// withoutPolicy is the one path whose page comes without the header.
const withoutPolicy = "/without-policy"

func serve(pages map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if body, ok := pages[r.URL.Path]; ok {
			if r.URL.Path != withoutPolicy {
				w.Header().Set("Content-Security-Policy", render.ContentSecurityPolicy)
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, body)
			return
		}
		switch r.URL.Path {
		case "/wide.png":
			_ = png.Encode(w, image.NewGray(image.Rect(0, 0, 1500, 10)))
		case "/favicon.svg":
			w.Header().Set("Content-Type", "image/svg+xml")
			_, _ = w.Write(render.Favicon())
		default:
			http.NotFound(w, r)
		}
	}
}

func (b *browser) listen(event any) {
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		own := strings.HasPrefix(e.Request.URL, b.server.URL+"/")
		if !own || strings.HasSuffix(e.Request.URL, "/ran") {
			b.note("request for " + e.Request.URL)
		}
	case *cdppage.EventJavascriptDialogOpening:
		b.note("dialog " + e.Message)
	}
}

func (b *browser) note(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.noise = append(b.noise, what)
}

// wasQuiet fails where a page has caused what no page may.
func (b *browser) wasQuiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, what := range b.noise {
		b.t.Error(what)
	}
}

func (b *browser) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// visit loads a page and all that belongs to it.
func (b *browser) visit(path string) {
	b.t.Helper()
	b.run(chromedp.Navigate(b.server.URL + path))
}

func (b *browser) number(expression string) float64 {
	b.t.Helper()
	return value[float64](b, expression)
}

// value gives what an expression is in the page. The header does not bind it.
func value[T any](b *browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}
