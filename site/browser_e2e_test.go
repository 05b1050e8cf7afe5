//go:build e2e && linux && (amd64 || arm64)

package site_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/durward/durward/site"
)

// A real browser runs a command for a page of a listed origin, and for no other.
func TestABrowserAsksForAListedOrigin(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<!DOCTYPE html><title>x</title>") })
	friend, stranger := httptest.NewServer(page), httptest.NewServer(page)
	defer friend.Close()
	defer stranger.Close()
	r := start(t, shells(func(c *site.Config) { c.AllowedOrigins = []string{friend.URL} }))

	// The browser's own sandbox does not start for root.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox)
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(end)
	ctx, end = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(end)
	ctx, end = chromedp.NewContext(ctx)
	t.Cleanup(end)
	for _, test := range []struct {
		from, marker, want string
	}{{friend.URL, "friend", `200 {"stdout":"hi\n","stderr":"","returncode":0}`}, {stranger.URL, "stranger", "TypeError"}} {
		code := fmt.Sprintf(`fetch("http://%s/", {method: "POST", headers: {"Content-Type": "application/json"},
			body: JSON.stringify({command: ["sh", "-c", "echo hi; touch %s"]})}).then(async a => a.status + " " + (await a.text()).trim(), e => e.name)`, r.addr, test.marker)
		if err := chromedp.Do(ctx, chromedp.Navigate(test.from)); err != nil {
			t.Fatal(err)
		}
		got, err := chromedp.Run(ctx, chromedp.Evaluate[string](code, chromedp.EvalAwaitPromise))
		if err != nil || got != test.want {
			t.Errorf("%s: %q, %v; want %q", test.marker, got, err, test.want)
		}
		if ran := r.has(test.marker); ran != (test.from == friend.URL) {
			t.Errorf("%s: ran is %v", test.marker, ran)
		}
	}
}
