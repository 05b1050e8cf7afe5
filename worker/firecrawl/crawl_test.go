package firecrawl

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward/worker"
	"github.com/durward/durward/worker/firecrawl/firecrawltest"
)

const (
	crawlAll = `{"url": "https://example.com", "mode": "crawl", "max_pages": 1000}`
	jobID    = "0199c1de-0000-7000-8000-000000000001"
)

func TestLooksBecomeRarer(t *testing.T) {
	const second = time.Second
	for name, tt := range map[string]struct {
		interval time.Duration
		looks    int
		want     []time.Duration
	}{
		"by default":   {0, 6, []time.Duration{second, 2 * second, 3 * second, 4500 * time.Millisecond, 6750 * time.Millisecond, 10 * second, 10 * second}},
		"when quicker": {100 * time.Millisecond, 3, []time.Duration{100 * time.Millisecond, 100 * time.Millisecond, 150 * time.Millisecond, 225 * time.Millisecond}},
		"when slower":  {10 * second, 2, []time.Duration{second, 10 * second, 10 * second}},
	} {
		t.Run(name, func(t *testing.T) {
			s := setup(t, &firecrawltest.API{Looks: tt.looks}, Options{Dialect: V1, PollInterval: tt.interval})
			if o := s.must(crawlAll); o.Stats.Pages != 3 {
				t.Errorf("got %+v", o.Stats)
			}
			if diff := cmp.Diff(tt.want, s.slept()); diff != "" {
				t.Errorf("pauses (-want +got):\n%s", diff)
			}
			// While it runs, the link to a next piece is not followed.
			if got := s.count("GET"); got != tt.looks+1 {
				t.Errorf("%d looks: %q", got, s.received())
			}
		})
	}
}

func TestCrawlThatIsNotFoundYet(t *testing.T) {
	missing := firecrawltest.Reply{Status: 404, Body: `{"success":false,"error":"Job not found"}`}
	s := setup(t, &firecrawltest.API{Answer: answers("GET", missing, missing)}, Options{Dialect: V1})
	s.must(crawlAll) // looks after 1 s and 3 s find nothing
	s = setup(t, &firecrawltest.API{Answer: always("GET", missing)}, Options{Dialect: V1})
	e := s.fails(crawlAll, worker.UpstreamError, worker.Final)
	if s.count("GET") != 3 || e.Details["status"] != 404 { // after 1 s, 3 s and 6 s
		t.Errorf("%q, %v", s.received(), e.Details)
	}
}

func TestStatesOfACrawl(t *testing.T) {
	state := func(name string) firecrawltest.Reply {
		return firecrawltest.Reply{Body: `{"success":true,"status":"` + name + `","next":"https://evil.example/v1/crawl/x","data":[{"markdown":"x"}]}`}
	}
	for _, name := range []string{"scraping", "active", "pending", "queued", "waiting", "paused", "odd", ""} {
		s := setup(t, &firecrawltest.API{Answer: answers("GET", state(name))}, Options{Dialect: V1})
		if o := s.must(crawlAll); o.Stats.Pages != 3 {
			t.Errorf("%s: got %+v", name, o.Stats)
		}
	}
	for name, replies := range map[string][]firecrawltest.Reply{
		"failed":        {state("failed")},
		"cancelled":     {state("cancelled")},
		"unknown twice": {state("odd"), state("scraping"), state("odder")},
	} {
		s := setup(t, &firecrawltest.API{Answer: answers("GET", replies...)}, Options{Dialect: V1})
		e := s.fails(crawlAll, worker.UpstreamError, worker.Retryable)
		if s.count("GET") != len(replies) || e.Details["reason"] != "crawl_not_completed" {
			t.Errorf("%s: %q, %v", name, s.received(), e.Details)
		}
	}
}

func TestStartsOfACrawl(t *testing.T) {
	start := func(body string) *setting {
		return setup(t, &firecrawltest.API{Answer: always("POST", firecrawltest.Reply{Body: body})}, Options{Dialect: V1})
	}
	s := start(`{"success":true,"id":"x","data":[{"markdown":"a"},{"markdown":"b"}],"total":2,"creditsUsed":2}`)
	o := s.must(crawlAll)
	if o.Stats.Pages != 2 || o.Stats.Total != "2" || o.Stats.CreditsUsed != "2" || s.count("GET") != 0 {
		t.Errorf("done at once: got %+v, %q", o, s.received())
	}
	if o := start(`{"data":[]}`).must(crawlAll); o.Stats.Pages != 0 || o.Items == nil {
		t.Errorf("nothing found: got %+v", o)
	}
	for _, body := range []string{`{"success":true}`, `{"success":true,"id":"","data":null}`, `{"id":"../../v1/x"}`, `{"id":"a b"}`, `{"id":["/"]}`, `{"data":{}}`, `{"data":[1]}`, `[]`, `null`, `1`} {
		s := start(body)
		e := s.fails(crawlAll, worker.UpstreamError, worker.Final)
		if len(s.received()) != 1 || e.Details["reason"] != "wrong_shape" {
			t.Errorf("%s: %q %v", body, s.received(), e.Details)
		}
	}
	start(`{"success":false,"error":"no"}`).fails(crawlAll, worker.UpstreamError, worker.Final)
}

// foreign listens where the API key must never come to.
func foreign(t *testing.T) (host string, contacts *atomic.Int32) {
	t.Helper()
	contacts = &atomic.Int32{}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			contacts.Add(1)
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "https://"), contacts
}

func TestNextLeadsToTheSameAPI(t *testing.T) {
	host, contacts := foreign(t)
	s := setup(t, &firecrawltest.API{Pages: pages(5), PageSize: 2, NextHost: host}, Options{Dialect: V1})
	o := s.must(crawlAll)
	if o.Stats.Pages != 5 || len(o.Items) != 5 || o.Stats.Truncated {
		t.Errorf("got %+v", o.Stats)
	}
	want := []string{`POST /v1/crawl {"url":"https://example.com","limit":1000}`, "GET /v1/crawl/" + jobID, "GET /v1/crawl/" + jobID + "?skip=2", "GET /v1/crawl/" + jobID + "?skip=4"}
	if diff := cmp.Diff(want, s.received()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if contacts.Load() != 0 {
		t.Error("the foreign host was contacted")
	}
}

func TestNextThatLeadsElsewhereIsRefused(t *testing.T) {
	host, contacts := foreign(t)
	for _, next := range []string{
		"https://" + host + "/v1/crawl/another?skip=2", "https://" + host + "/", "//" + host + "/v1/crawl/" + jobID + "/../x", "https://" + host + "/v1/crawl/" + jobID + "/",
		"https://" + host + "/v2/crawl/" + jobID, "/v1/crawl/" + jobID + "%2f..", "https://" + host + "?/v1/crawl/" + jobID, "\x7f", "/v1/team/credit-usage",
	} {
		body, _ := json.Marshal(map[string]any{"success": true, "status": "completed", "next": next, "data": []any{map[string]string{"markdown": "x"}}})
		s := setup(t, &firecrawltest.API{Answer: always("GET", firecrawltest.Reply{Body: string(body)})}, Options{Dialect: V1})
		e := s.fails(crawlAll, worker.UpstreamError, worker.Final)
		if s.count("GET") != 1 || e.Details["reason"] != "wrong_shape" {
			t.Errorf("%s: %q, %v", next, s.received(), e.Details)
		}
	}
	if contacts.Load() != 0 {
		t.Error("the foreign host was contacted")
	}
}

func TestFurtherPagesEnd(t *testing.T) {
	forever := func(data string) firecrawltest.Reply {
		return firecrawltest.Reply{Body: `{"success":true,"status":"completed","total":9,"next":"https://h/v1/crawl/` + jobID + `?skip=1","data":` + data + `}`}
	}
	s := setup(t, &firecrawltest.API{Answer: answers("GET", forever(`[{"markdown":"1"}]`), forever(`[]`))}, Options{Dialect: V1})
	if o := s.must(crawlAll); o.Stats.Pages != 1 || o.Stats.Truncated || o.Stats.Total != "9" || s.count("GET") != 2 {
		t.Errorf("an empty piece: got %+v, %q", o.Stats, s.received())
	}
	s = setup(t, &firecrawltest.API{Answer: always("GET", forever(`[{"markdown":"1"},{"markdown":"2"}]`))}, Options{Dialect: V1})
	if o := s.must(`{"url": "https://example.com", "mode": "crawl", "max_pages": 5}`); o.Stats.Pages != 5 || !o.Stats.Truncated || s.count("GET") != 3 {
		t.Errorf("without end: got %+v, %q", o.Stats, s.received())
	}
}

func TestNotMorePagesThanAskedFor(t *testing.T) {
	for name, tt := range map[string]struct {
		api  *firecrawltest.API
		want bool
	}{
		"the API keeps to it":      {&firecrawltest.API{Pages: pages(7)}, false},
		"it does not":              {&firecrawltest.API{Pages: pages(7), Overrun: true}, true},
		"it does not, in pieces":   {&firecrawltest.API{Pages: pages(7), Overrun: true, PageSize: 2}, true},
		"at once":                  {&firecrawltest.API{Pages: pages(7), Overrun: true, Simple: true}, true},
		"at once, and keeps to it": {&firecrawltest.API{Pages: pages(7), Simple: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dialect := V1
			if tt.api.Simple {
				dialect = Simple
			}
			s := setup(t, tt.api, Options{Dialect: dialect})
			o := s.must(`{"url": "https://example.com", "mode": "crawl", "max_pages": 4}`)
			if o.Stats.Pages != 4 || len(o.Items) != 4 || o.Stats.Truncated != tt.want {
				t.Errorf("got %+v and %d items", o.Stats, len(o.Items))
			}
		})
	}
}

func TestDeadlineEndsTheCrawl(t *testing.T) {
	s := setup(t, &firecrawltest.API{Looks: 1000, Pages: pages(1002)}, Options{Dialect: V1})
	s.left = time.Minute
	e := s.fails(crawlAll, worker.Timeout, worker.ByCode)
	if diff := cmp.Diff(map[string]any{"crawl_id": jobID, "completed": json.Number("9"), "total": json.Number("1000")}, e.Details); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}
	if got := s.api.Cancelled(); !slices.Equal(got, []string{jobID}) || s.count("DELETE") != 1 {
		t.Errorf("cancelled %q", got)
	}
	if left := time.Until(s.clock.Now()); left > time.Minute-reserve {
		t.Errorf("it went on into the last 2 s")
	}
}

func TestPagesSoFar(t *testing.T) {
	s := setup(t, &firecrawltest.API{Looks: 11, Pages: pages(14)}, Options{Dialect: V1})
	s.left = time.Minute
	o := s.must(`{"url": "https://example.com", "mode": "crawl", "max_pages": 14, "partial": true}`)
	if !o.Stats.Truncated || o.Stats.Pages < 2 || o.Stats.Pages > 13 || len(o.Items) != o.Stats.Pages || o.Stats.Total != "14" {
		t.Errorf("got %+v and %d items", o.Stats, len(o.Items))
	}
	if got := s.api.Cancelled(); !slices.Equal(got, []string{jobID}) {
		t.Errorf("cancelled %q", got)
	}
}

// A look that hangs is given up when the time is near its end.
func TestLookThatHangs(t *testing.T) {
	api := &firecrawltest.API{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			<-r.Context().Done()
			return
		}
		api.ServeHTTP(w, r)
	}))
	defer server.Close()
	s := setup(t, api, Options{Dialect: V1, BaseURL: server.URL, PollInterval: time.Millisecond})
	s.left = reserve + lastLook + 100*time.Millisecond
	e := s.fails(crawlAll, worker.Timeout, worker.ByCode)
	if got := s.api.Cancelled(); !slices.Equal(got, []string{jobID}) || e.Details["crawl_id"] != jobID {
		t.Errorf("cancelled %q, details %v", got, e.Details)
	}
}

// An API that does not answer in time costs the call, and the start of a crawl may have
// been received.
func TestAPIThatHangs(t *testing.T) {
	for input, want := range map[string]map[string]any{scrapeOne: nil, crawlAll: {"reason": "job_may_be_running"}} {
		ctx, pass := context.WithCancelCause(t.Context())
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // only then the server looks whether the client is gone
			pass(context.DeadlineExceeded)
			<-r.Context().Done()
		}))
		s := setup(t, &firecrawltest.API{}, Options{Dialect: Simple, BaseURL: server.URL})
		s.ctx = ctx
		e := s.fails(input, worker.Timeout, worker.ByCode)
		if diff := cmp.Diff(want, e.Details); diff != "" {
			t.Errorf("%s: details (-want +got):\n%s", input, diff)
		}
		server.Close()
	}
}

func TestCallerWhoLeavesEndsTheCrawl(t *testing.T) {
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		t.Run("during a "+method, func(t *testing.T) {
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			s := setup(t, &firecrawltest.API{Looks: 5, Answer: func(r firecrawltest.Request) *firecrawltest.Reply {
				if r.Method == method {
					leave()
				}
				return nil
			}}, Options{Dialect: V1})
			s.ctx = ctx
			if o, err := s.run(crawlAll); err == nil {
				t.Errorf("got %+v", o)
			}
			if got := s.api.Cancelled(); !slices.Equal(got, []string{jobID}) {
				t.Errorf("cancelled %q, of %q", got, s.received())
			}
		})
	}
}

// A crawl that nobody looks at any more is ended, too.
func TestLooksThatFailEndTheCrawl(t *testing.T) {
	s := setup(t, &firecrawltest.API{Answer: always("GET", firecrawltest.Reply{Status: 403, Body: `{"success":false}`})}, Options{Dialect: V1})
	s.fails(crawlAll, worker.UpstreamError, worker.Final)
	if got := s.api.Cancelled(); !slices.Equal(got, []string{jobID}) {
		t.Errorf("cancelled %q", got)
	}
}
