//go:build !windows

package render_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"github.com/durward/durward/internal/door/site/render"
)

// A line that a person copies does what the page allows and nothing else, whatever the
// words and the path are.
func TestCopiedLinesSendTheWords(t *testing.T) {
	for _, words := range [][]string{
		{"date"}, {"it's", `"quoted"`, `back\slash`, "$HOME `date` $(date) !!", "*"}, {"", " ", "a\nb", "\u202e\u200b\x01", "<b>&amp;"}, {"@file"}, {"žluť", "\U000e0041"},
	} {
		sendsTheWords(t, words, "docs/it's [a] {b} $(c) ü.md")
	}
}

func TestAnyCopiedLineSendsTheWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.String(), 1, 4).Draw(t, "words")
		sendsTheWords(t, words, rapid.StringMatching(`[ -~ü]{1,12}\.md`).Draw(t, "path"))
	})
}

type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func sendsTheWords(t tester, words []string, path string) {
	t.Helper()
	tool := render.Tool{}
	for _, w := range words {
		tool.Words = append(tool.Words, render.Word{Text: w})
	}
	var b strings.Builder
	if err := render.Page(&b, render.Document{Site: "http://h.example:1", Path: path, Tools: []render.Tool{tool}}); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("sh", "-c", `curl() { for a; do printf '%s\0' "$a"; done; }; `+code(t, b.String())).Output()
	if err != nil {
		t.Fatal(err)
	}
	args := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if len(args) != 6 || args[0] != "-sS" || args[2] != "-H" || args[3] != "Content-Type: application/json" || args[4] != "-d" {
		t.Fatalf("curl is called with %q", args)
	}
	var body struct{ Command []string }
	if err := json.Unmarshal([]byte(args[5]), &body); err != nil {
		t.Fatal(err)
	}
	if strings.Join(body.Command, "\x00") != strings.Join(words, "\x00") {
		t.Fatalf("%q is sent as %q", words, body.Command)
	}
	if strings.ContainsAny(args[1], "[]{} ") || !strings.HasPrefix(args[1], "http://h.example:1/") {
		t.Fatalf("curl would read %q as more than an address", args[1])
	}
}

// code gives the text of the first line of code, as a browser copies it.
func code(t tester, page string) string {
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Data == "pre" && n.Parent.Data == "li" {
			var b strings.Builder
			for c := range n.Descendants() {
				if c.Type == html.TextNode {
					b.WriteString(c.Data)
				}
			}
			return b.String()
		}
	}
	t.Fatal("no line to copy")
	return ""
}
