package render_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/durward/durward/internal/door/site/render"
)

func TestGuideSaysHowASiteIsUsed(t *testing.T) {
	guide := string(render.AgentsGuide("https://site.example/below"))
	for _, want := range []string{
		"curl -sS 'https://site.example/below/' -H 'Content-Type: application/json' -d '{\"command\":[\"date\"]}'",
		"`GET`", "`POST`", "declares the command", "fixed", "exactly one argument", "pattern must be found", "locks the command",
		"add further", "sent as it is written", "runs in the folder of the page", "No shell",
	} {
		if !strings.Contains(strings.Join(strings.Fields(guide), " "), want) {
			t.Errorf("the guide does not say %q", want)
		}
	}
	if strings.Contains(guide, "HOST") {
		t.Error("an address is left open")
	}
}

func TestGuideTakesNoHostileAddress(t *testing.T) {
	for _, site := range []string{
		"", "site.example", "ftp://site.example", "http://", "http://a'b", "http://a b", "http://user:secret@h.example", "http://h:1\n# x", "http://h:123456", "http://[::1%25a`]/",
	} {
		if guide := string(render.AgentsGuide(site)); !strings.Contains(guide, "curl -sS 'http://127.0.0.1:8000/'") {
			t.Errorf("%q is in the guide", site)
		}
	}
	if guide := string(render.AgentsGuide("http://[::1]:80/a'$(b)`c`\"")); !strings.Contains(guide, "'http://[::1]:80/a%27$%28b%29%60c%60%22/'") {
		t.Error("the address is not escaped")
	}
}

func TestFaviconIsADrawing(t *testing.T) {
	d := xml.NewDecoder(strings.NewReader(string(render.Favicon())))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && strings.Contains("script style foreignObject image use a", e.Name.Local) {
			t.Errorf("element %s", e.Name.Local)
		}
	}
}
