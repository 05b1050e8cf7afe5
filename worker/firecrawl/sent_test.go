package firecrawl

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward/worker"
	"github.com/durward/durward/worker/firecrawl/firecrawltest"
)

func TestWhatIsSent(t *testing.T) {
	const site = `"url": "https://example.com"`
	tests := []struct {
		name    string
		dialect Dialect
		input   string
		left    time.Duration
		want    string
	}{
		{"scrape", V1, `{` + site + `}`, 30 * time.Second, `/v1/scrape {"url":"https://example.com","timeout":29000}`},
		{"scrape without a deadline", V1, `{` + site + `}`, 0, `/v1/scrape {"url":"https://example.com"}`},
		{"scrape as markdown", V1, `{` + site + `, "mode": "scrape", "formats": ["markdown"]}`, 30 * time.Second, `/v1/scrape {"url":"https://example.com","formats":["markdown"],"timeout":29000}`},
		{"text is made of markdown", V1, `{` + site + `, "formats": ["text", "html"]}`, 30 * time.Second, `/v1/scrape {"url":"https://example.com","formats":["markdown","html"],"timeout":29000}`},
		{"text beside markdown", V1, `{` + site + `, "formats": ["html", "markdown", "text"]}`, 30 * time.Second, `/v1/scrape {"url":"https://example.com","formats":["html","markdown"],"timeout":29000}`},
		{"scrape knows no max_pages", V1, `{` + site + `, "max_pages": 5000}`, 0, `/v1/scrape {"url":"https://example.com"}`},
		{"crawl", V1, `{` + site + `, "mode": "crawl"}`, 30 * time.Second, `/v1/crawl {"url":"https://example.com","limit":10}`},
		{"crawl some", V1, `{` + site + `, "mode": "crawl", "max_pages": 3, "formats": ["text"]}`, 30 * time.Second, `/v1/crawl {"url":"https://example.com","limit":3,"scrapeOptions":{"formats":["markdown"]}}`},
		{"a whole number", V1, `{` + site + `, "mode": "crawl", "max_pages": 1e1}`, 30 * time.Second, `/v1/crawl {"url":"https://example.com","limit":10}`},
		{"simple scrape", Simple, `{` + site + `, "formats": ["markdown", "text"]}`, 30 * time.Second, `/v1/scrape {"url":"https://example.com","formats":["markdown"]}`},
		{"simple crawl", Simple, `{` + site + `, "mode": "crawl"}`, 30 * time.Second, `/v1/crawl {"url":"https://example.com","maxPages":10}`},
		{"simple crawl of some", Simple, `{` + site + `, "mode": "crawl", "max_pages": 2, "formats": ["html"]}`, 30 * time.Second, `/v1/crawl {"url":"https://example.com","formats":["html"],"maxPages":2}`},
		{"an unknown API", Auto, `{` + site + `, "mode": "crawl"}`, 30 * time.Second, `/v1/crawl {"url":"https://example.com","maxPages":10}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := setup(t, &firecrawltest.API{Simple: tt.dialect != V1}, Options{Dialect: tt.dialect})
			s.left = tt.left
			s.must(tt.input)
			if got := s.received()[0]; got != "POST "+tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			for _, r := range s.api.Requests() {
				h := r.Header
				if h.Get("Authorization") != "Bearer "+key || h.Get("Content-Type") != "application/json" || !strings.HasPrefix(h.Get("User-Agent"), "durward") {
					t.Errorf("%s %s has the headers %v", r.Method, r.Path, h)
				}
			}
		})
	}
}

func TestDialectIsLearnt(t *testing.T) {
	s := setup(t, &firecrawltest.API{}, Options{MaxAttempts: 1})
	for range 2 {
		if o := s.must(`{"url": "https://example.com", "mode": "crawl", "max_pages": 2}`); o.Stats.Pages != 2 {
			t.Errorf("got %+v", o.Stats)
		}
	}
	const v1 = `POST /v1/crawl {"url":"https://example.com","limit":2}`
	want := []string{
		`POST /v1/crawl {"url":"https://example.com","maxPages":2}`, v1, `GET /v1/crawl/0199c1de-0000-7000-8000-000000000001`,
		v1, `GET /v1/crawl/0199c1de-0000-7000-8000-000000000002`,
	}
	if diff := cmp.Diff(want, s.received()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestDialectIsLearntOfUnknownKeysOnly(t *testing.T) {
	for name, tt := range map[string]struct {
		dialect Dialect
		body    string
		want    int
	}{
		"keys":               {Auto, `{"success":false,"details":[{"keys":["maxPages"]}]}`, 2},
		"words":              {Auto, `{"success":false,"error":"Unrecognized key in body -- see"}`, 2},
		"another mistake":    {Auto, `{"success":false,"error":"Invalid URL","details":[{"code":"custom"}]}`, 1},
		"no JSON":            {Auto, `no`, 1},
		"the dialect is set": {Simple, `{"success":false,"error":"Unrecognized key in body"}`, 1},
		"the other is set":   {V1, `{"success":false,"error":"Unrecognized key in body"}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := setup(t, &firecrawltest.API{Answer: always("POST", firecrawltest.Reply{Status: 400, Body: tt.body})}, Options{Dialect: tt.dialect})
			s.fails(`{"url": "https://example.com", "mode": "crawl"}`, worker.UpstreamError, worker.Final)
			if got := s.count("POST"); got != tt.want {
				t.Errorf("%d requests were sent, want %d", got, tt.want)
			}
		})
	}
}

func TestHostedAPIIsKnown(t *testing.T) {
	for base, want := range map[string]Dialect{
		"":                                V1,
		"https://api.firecrawl.dev/":      V1,
		"https://EU.API.firecrawl.dev":    V1,
		"https://firecrawl.dev":           Auto,
		"https://notfirecrawl.dev":        Auto,
		"https://api.firecrawl.dev.a.com": Auto,
		"http://127.0.0.1:3002":           Auto,
	} {
		tool, err := New(Options{BaseURL: base})
		if err != nil {
			t.Fatal(err)
		}
		if got := tool.client.dialect; got != want {
			t.Errorf("%s: the dialect is %s, want %s", base, got, want)
		}
	}
}

func TestBaseURLMayHaveAPath(t *testing.T) {
	api := &firecrawltest.API{Answer: always("POST", firecrawltest.Reply{Body: `{"data":{}}`})}
	s := setup(t, api, Options{})
	base, _ := url.Parse(s.url + "/fire/")
	tool, err := newTool(Options{APIKey: key, BaseURL: base.String()}, s.clock)
	if err != nil {
		t.Fatal(err)
	}
	s.tool = tool
	s.must(`{"url": "https://example.com"}`)
	if got := s.api.Requests()[0].Path; got != "/fire/v1/scrape" {
		t.Errorf("asked for %s", got)
	}
}

func TestInputsThatAreRefused(t *testing.T) {
	s := setup(t, &firecrawltest.API{}, Options{})
	for _, input := range []string{
		`{}`, `{"url": ""}`, `{"url": 1}`, `{"url": "example.com"}`, `{"url": "ftp://example.com"}`, `{"url": "http://"}`, `{"url": "javascript:alert(1)"}`,
		`{"url": "https://exa mple.com"}`, `{"url": "https://example.com/` + strings.Repeat("x", 2048) + `"}`,
		`{"url": "https://example.com", "mode": "map"}`, `{"url": "https://example.com", "maxPages": 1}`,
		`{"url": "https://example.com", "formats": []}`, `{"url": "https://example.com", "formats": ["pdf"]}`,
		`{"url": "https://example.com", "formats": ["html", "html"]}`, `{"url": "https://example.com", "formats": "html"}`,
		`{"url": "https://example.com", "mode": "crawl", "max_pages": 0}`, `{"url": "https://example.com", "mode": "crawl", "max_pages": 1001}`,
		`{"url": "https://example.com", "mode": "crawl", "max_pages": 1.5}`, `{"url": "https://example.com", "mode": "crawl", "max_pages": "many"}`,
	} {
		s.fails(input, worker.ValidationError, worker.ByCode)
	}
	if got := s.received(); got != nil {
		t.Errorf("sent %q", got)
	}
}

func TestWithoutAKeyNothingIsSent(t *testing.T) {
	s := setup(t, &firecrawltest.API{}, Options{})
	tool, err := newTool(Options{BaseURL: s.url}, s.clock)
	if err != nil {
		t.Fatal(err)
	}
	s.tool = tool
	e := s.fails(`{"url": "https://example.com"}`, worker.Internal, worker.ByCode)
	if e.Message != "FIRECRAWL_API_KEY is not set" || s.received() != nil {
		t.Errorf("got %q, sent %q", e.Message, s.received())
	}
	if err := tool.Healthy(t.Context()); err == nil || err.Error() != "FIRECRAWL_API_KEY is not set" {
		t.Errorf("its health is %v", err)
	}
}

// Too little time for the API to give up first is too little time.
func TestTooLate(t *testing.T) {
	s := setup(t, &firecrawltest.API{}, Options{Dialect: V1})
	s.left = time.Second
	s.fails(`{"url": "https://example.com"}`, worker.Timeout, worker.ByCode)
	s.left = worker.Reserve / 2
	s.fails(`{"url": "https://example.com", "mode": "crawl"}`, worker.Timeout, worker.ByCode)
	if got := s.received(); got != nil {
		t.Errorf("sent %q", got)
	}
}

func TestOptions(t *testing.T) {
	env := func(values ...string) func(string) (string, bool) {
		return func(name string) (string, bool) {
			i := slices.Index(values, name)
			if i < 0 {
				return "", false
			}
			return values[i+1], true
		}
	}
	o, err := FromEnv(env(VarAPIKey, " k\n", VarBaseURL, "http://127.0.0.1:3002//", VarDialect, "seed", VarPollInterval, "10000", VarMaxAttempts, "5"))
	o.Proxy = nil
	if diff := cmp.Diff(Options{APIKey: "k", BaseURL: "http://127.0.0.1:3002//", Dialect: Simple, PollInterval: 10 * time.Second, MaxAttempts: 5}, o); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := FromEnv(env()); err != nil {
		t.Errorf("nothing is set: %v", err)
	}
	for _, values := range [][]string{
		{VarBaseURL, "ftp://x"},
		{VarBaseURL, "x"},
		{VarBaseURL, "http://"},
		{VarBaseURL, "http://user:s3cret@x"},
		{VarBaseURL, "http://x/?s3cret"},
		{VarBaseURL, "http://x/#s3cret"},
		{VarDialect, "v2"},
		{VarPollInterval, "0"},
		{VarPollInterval, "10001"},
		{VarPollInterval, "2s"},
		{VarMaxAttempts, "0"},
		{VarMaxAttempts, "-1"},
		{VarMaxAttempts, "1e3"},
		{VarAPIKey, "s3cret s3cret"},
		{VarAPIKey, "s3crét"},
	} {
		_, err := FromEnv(env(values...))
		if err == nil || !strings.Contains(err.Error(), values[0]) || strings.Contains(err.Error(), "s3cr") {
			t.Errorf("%q: %v", values, err)
		}
	}
}
