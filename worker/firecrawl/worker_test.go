package firecrawl

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/durward/durward/worker"
	"github.com/durward/durward/worker/firecrawl/firecrawltest"
	"github.com/durward/durward/worker/workertest"
)

// The tool on a worker, as callers see it.
func TestWorker(t *testing.T) {
	for _, simple := range []bool{false, true} {
		api := &firecrawltest.API{Key: key, Simple: simple, Looks: 1 << 30}
		server := httptest.NewServer(api)
		defer server.Close()
		tool, err := New(Options{APIKey: key, BaseURL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- worker.Serve(ctx, l, tool, worker.Options{}) }()
		w := workertest.Worker{
			URL: "http://" + l.Addr().String(), Input: scrapeOne,
			Output:  `{"source_url":"https://example.com","items":[{"url":"https://example.com/","title":"Home","content":"# Home\n\nThis is [Home](https://example.com/).","format":"markdown"}],"stats":{"pages":1}}`,
			Refused: []string{`{}`, `{"url":"example.com"}`, `{"url":"https://example.com","mode":"map"}`},
		}
		if !simple { // the other crawls at once
			w.Slow = crawlAll
		}
		workertest.Conform(t, w)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// A proxy is the only way out that workers may have.
func TestGoesThroughTheProxy(t *testing.T) {
	api := &firecrawltest.API{Key: key}
	var mu sync.Mutex
	var asked []string // guarded by mu
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.RequestURI)
		mu.Unlock()
		if r.Method == http.MethodConnect {
			http.Error(w, "not on the list", http.StatusForbidden)
			return
		}
		api.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	for _, tt := range []struct {
		name, base, variable string
		want                 string
		reached              bool
	}{
		{"plain", "http://firecrawl.test:3002", "HTTP_PROXY", "POST http://firecrawl.test:3002/v1/scrape", true},
		{"plain, in lower case", "http://firecrawl.test:3002", "http_proxy", "POST http://firecrawl.test:3002/v1/scrape", true},
		{"TLS", "https://firecrawl.test", "HTTPS_PROXY", "CONNECT firecrawl.test:443", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked = nil
			o, err := FromEnv(func(name string) (string, bool) {
				value, ok := map[string]string{VarAPIKey: key, VarBaseURL: tt.base, VarMaxAttempts: "1", tt.variable: proxy.URL, "NO_PROXY": "other.test"}[name]
				return value, ok
			})
			if err != nil {
				t.Fatal(err)
			}
			tool, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			s := &setting{t: t, api: api, tool: tool, clock: &skippingClock{}, ctx: t.Context()}
			if tt.reached {
				s.must(scrapeOne)
			} else if e := s.fails(scrapeOne, worker.UpstreamError, worker.Retryable); e.Details["reason"] != "proxy_refused" || strings.Contains(e.Message, "127.0.0.1") {
				t.Errorf("got %q %v", e.Message, e.Details)
			}
			if !slices.Equal(asked, []string{tt.want}) {
				t.Errorf("the proxy was asked for %q", asked)
			}
		})
	}
}
