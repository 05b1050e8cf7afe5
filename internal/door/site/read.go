package site

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/content"
	"github.com/durward/durward/internal/door/site/render"
	"github.com/durward/durward/internal/httpedge"
)

// maxPageBytes is the size of the largest page that is rendered, or looked through for
// components.
const maxPageBytes = 4 << 20

// read answers a GET or a HEAD.
func (d *door) read(w http.ResponseWriter, r *http.Request) error {
	sent, clean, err := pathOf(r)
	if err != nil {
		return err
	}
	if clean == "favicon.ico" || clean == "favicon.svg" {
		return d.favicon(w, r)
	}
	c, err := d.Files.Resolve(r.Context(), clean)
	if err != nil {
		return d.builtIn(w, r, sent, clean, err)
	}
	defer c.Body.Close()
	if path.Ext(c.Path) == ".md" && c.Size <= maxPageBytes {
		return d.page(w, r, sent, clean, c)
	}
	return d.file(w, r, c)
}

// favicon serves the site's own icon, or ours.
func (d *door) favicon(w http.ResponseWriter, r *http.Request) error {
	icon, name := render.Favicon(), "favicon.svg"
	if c, err := d.Files.Resolve(r.Context(), name); err == nil {
		defer c.Body.Close()
		if icon, err = c.ReadAll(maxPageBytes); err != nil {
			return err
		}
	}
	w.Header().Set("Content-Security-Policy", render.ContentSecurityPolicy) // opened by itself, an SVG is a page with scripts
	serve(w, r, newReading(icon, "image/svg+xml", "", time.Time{}))
	return nil
}

// builtIn serves what a site has without holding it.
func (d *door) builtIn(w http.ResponseWriter, r *http.Request, sent, clean string, missing error) error {
	if clean != render.AgentsPath || durward.ReasonOf(missing) != durward.FileNotFound {
		return missing
	}
	guide := render.AgentsGuide("http://" + r.Host)
	return d.page(w, r, sent, clean, &content.Content{Body: held{bytes.NewReader(guide)}, Path: clean, Size: int64(len(guide))})
}

// held is a body that is there without a file.
type held struct{ *bytes.Reader }

func (held) Close() error { return nil }

const (
	kindMarkdown = "text/markdown; charset=utf-8"
	kindPlain    = "text/plain; charset=utf-8"
	kindBinary   = "application/octet-stream"
	kindHTML     = "text/html; charset=utf-8"
)

// page serves a page of Markdown, for people or as it is.
func (d *door) page(w http.ResponseWriter, r *http.Request, sent, clean string, c *content.Content) error {
	in, err := d.raw(c)
	if err != nil {
		return err
	}
	if in.live && r.Method == http.MethodGet {
		if in.body, err = d.fill(r, sent, clean, in.body); err != nil {
			return err
		}
	}
	varies(w.Header())
	if in.kind == kindMarkdown && render.WantsHTML(r.Header["Accept"]) {
		if in, err = d.rendered(r, clean, c, in); err != nil {
			return err
		}
		w.Header().Set("Content-Security-Policy", render.ContentSecurityPolicy)
	}
	serve(w, r, in)
	return nil
}

// varies says that the answer depends on the Accept header.
func varies(h http.Header) {
	if before := h["Vary"]; len(before) > 0 {
		h["Vary"] = append(slices.Clip(before), "Accept")
		return
	}
	h["Vary"] = varyAccept
}

var varyAccept = []string{"Accept"}

// raw gives a page as it is written: read once for as long as its key stays the same.
func (d *door) raw(c *content.Content) (reading, error) {
	place := c.Path + "\x00" + c.Key
	if in, ok := d.shelf.take(place); ok && c.Key != "" {
		return in, nil
	}
	document, err := c.ReadAll(maxPageBytes)
	if err != nil {
		return reading{}, err
	}
	kind := kindMarkdown
	if !utf8.Valid(document) {
		kind = kindBinary
	}
	if d.Components != nil && len(d.Components(document)) > 0 && (d.Live == nil || d.Live(c)) {
		return reading{body: document, kind: kind, live: true}, nil // the next answer may be another one
	}
	in := newReading(document, kind, c.Key, c.ModTime)
	if c.Key != "" {
		d.shelf.put(place, in)
	}
	return in, nil
}

// rendered gives a page for people.
func (d *door) rendered(r *http.Request, clean string, c *content.Content, in reading) (reading, error) {
	p := render.Document{Path: c.Path, Text: in.body}
	if d.Describe != nil {
		p = d.Describe(c.Path, in.body)
	}
	p.Site = "http://" + r.Host
	var html bytes.Buffer
	show := render.Page
	if clean == "" {
		show = render.Landing
	}
	if err := show(&html, p); err != nil {
		return reading{}, err
	}
	people := newReading(html.Bytes(), kindHTML, "", c.ModTime) // another version of ours renders it in another way
	people.live = in.live
	return people, nil
}

// file serves what is no page.
func (d *door) file(w http.ResponseWriter, r *http.Request, c *content.Content) error {
	if c.Key == "" && c.Size <= maxPageBytes { // only its bytes tell it from the next version
		body, err := c.ReadAll(maxPageBytes)
		if err != nil {
			return err
		}
		serve(w, r, newReading(body, kindOf(c.Path, utf8.Valid(body)), "", c.ModTime))
		return nil
	}
	in, err := d.head(r.Context(), c)
	if err != nil {
		return err
	}
	in.head(w)
	serveContent(w, r, c.Body)
	return nil
}

// head gives what is said of a file beside its body: found out once for as long as its
// key stays the same, as all of the file has to be read for it.
func (d *door) head(ctx context.Context, c *content.Content) (reading, error) {
	place := "head\x00" + c.Path + "\x00" + c.Key
	if in, ok := d.shelf.take(place); ok && c.Key != "" {
		return in, nil
	}
	text, err := isText(ctx, c.Body)
	if err != nil {
		return reading{}, err
	}
	in := newReading(nil, kindOf(c.Path, text), c.Key, c.ModTime)
	if c.Key != "" {
		d.shelf.put(place, in)
	}
	return in, nil
}

func kindOf(name string, text bool) string {
	switch {
	case !text:
		return kindBinary
	case path.Ext(name) == ".md":
		return kindMarkdown
	}
	return kindPlain
}

// glances is after how many pieces of a file isText looks whether anybody still waits.
const glances = 32

// isText reads a file to tell text from other bytes, and goes back to its start.
func isText(ctx context.Context, f io.ReadSeeker) (bool, error) {
	var buf [32 << 10]byte
	for kept, pieces := 0, 1; ; pieces++ {
		n, err := f.Read(buf[kept:])
		text := buf[:kept+n]
		whole := wholeRunes(text, err != nil)
		valid := utf8.Valid(text[:whole])
		if !valid || errors.Is(err, io.EOF) {
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				return false, unreadable(err)
			}
			return valid, nil
		}
		if err != nil {
			return false, unreadable(err)
		}
		if pieces%glances == 0 && ctx.Err() != nil {
			return false, cutShort(ctx)
		}
		kept = copy(buf[:], text[whole:])
	}
}

// wholeRunes gives the length of text without a character that may go on behind it.
func wholeRunes(text []byte, last bool) int {
	if last {
		return len(text)
	}
	for i := len(text) - 1; i >= max(0, len(text)-utf8.UTFMax); i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				return i
			}
			break
		}
	}
	return len(text)
}

// A reading is what a GET gives. Its body is shared and never changes.
type reading struct {
	body []byte
	kind string
	live bool // made for this request alone
	// header holds what all answers with this body say.
	header map[string][]string
}

// newReading makes a reading that changes with its key; without one only the body, if
// there is one, tells it from the next version.
func newReading(body []byte, kind, key string, modified time.Time) reading {
	in := reading{body: body, kind: kind, header: map[string][]string{"Cache-Control": {"no-cache"}}}
	told := []byte(key)
	if key == "" {
		told = body
	}
	if told != nil {
		sum := sha256.Sum256(told)
		in.header["Etag"] = []string{`"` + hex.EncodeToString(sum[:16]) + `"`}
	}
	if !modified.IsZero() {
		in.header["Last-Modified"] = []string{modified.UTC().Format(http.TimeFormat)}
	}
	if body != nil {
		in.header["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	return in
}

func (in reading) head(w http.ResponseWriter) {
	h := w.Header()
	h["Content-Type"] = []string{in.kind}
	if !in.live { // else no-store, as it is
		maps.Copy(h, in.header)
	}
}

// serve answers with bytes that are there, or with nothing where the client has them.
func serve(w http.ResponseWriter, r *http.Request, in reading) {
	in.head(w)
	if in.live && r.Method == http.MethodHead {
		return // the length is not known
	}
	if in.live || asksNothing(r.Header) {
		_, _ = w.Write(in.body) // a client that is gone is noticed by the server
		return
	}
	w.Header().Del("Content-Length") // of a part it is another one
	serveContent(w, r, bytes.NewReader(in.body))
}

// serveContent answers with all of a body, or with the range of it that a GET asks for:
// other methods have none.
func serveContent(w http.ResponseWriter, r *http.Request, body io.ReadSeeker) {
	if r.Method != http.MethodGet {
		r.Header.Del("Range")
	}
	http.ServeContent(w, r, "", undated, body)
}

// undated makes the tag alone decide whether a client has a version already. A date
// cannot: it knows seconds only, and an older file may have taken a newer one's place.
var undated time.Time

// asksNothing reports whether a request wants all of the body, whatever it has
// already.
func asksNothing(h http.Header) bool {
	for name := range h {
		if name == "Range" || strings.HasPrefix(name, "If-") {
			return false
		}
	}
	return true
}

// cutShort says why a request ended before its file was read.
func cutShort(ctx context.Context) error {
	reason := durward.CallCancelled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		reason = durward.DeadlineExceeded
	}
	return httpedge.EndOf(ctx, &durward.Error{Reason: reason, Op: "read page", Retry: true, Err: context.Cause(ctx)})
}

func unreadable(err error) error {
	return &durward.Error{Reason: durward.FileIO, Op: "read page", Err: err}
}
