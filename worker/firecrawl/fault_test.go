package firecrawl

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward/worker"
	"github.com/durward/durward/worker/firecrawl/firecrawltest"
)

const scrapeOne = `{"url": "https://example.com"}`

// refusal is the reply of an API that says why.
func refusal(status int, code string) firecrawltest.Reply {
	return firecrawltest.Reply{Status: status, Body: `{"success":false,"error":"it says no","code":"` + code + `"}`}
}

func TestRefusalsOfTheAPI(t *testing.T) {
	said := func(more ...any) map[string]any {
		m := map[string]any{"error": "it says no"}
		for i := 0; i < len(more); i += 2 {
			m[more[i].(string)] = more[i+1]
		}
		return m
	}
	tests := []struct {
		name    string
		reply   firecrawltest.Reply
		retry   worker.Retry
		message string
		details map[string]any
	}{
		{"400", refusal(400, "BAD_REQUEST"), worker.Final, "refused", said("status", 400, "upstream_code", "BAD_REQUEST")},
		{"401", refusal(401, ""), worker.Final, "API key rejected", said("status", 401)},
		{"402", refusal(402, ""), worker.Final, "insufficient credits", said("status", 402)},
		{"403", refusal(403, ""), worker.Final, "blocked", said("status", 403)},
		{"404", refusal(404, ""), worker.Final, "refused", said("status", 404)},
		{"409", refusal(409, ""), worker.Final, "refused", said("status", 409)},
		{"422", refusal(422, ""), worker.Final, "refused", said("status", 422)},
		{"418", refusal(418, ""), worker.Final, "refused", said("status", 418)},
		{"408", refusal(408, ""), worker.Retryable, "too slow", said("status", 408)},
		{"408 by code", refusal(408, "SCRAPE_TIMEOUT"), worker.Retryable, "too slow", said("status", 408, "upstream_code", "SCRAPE_TIMEOUT")},
		{"500 by code", refusal(500, "SCRAPE_TIMEOUT"), worker.Retryable, "too slow", said("status", 500, "upstream_code", "SCRAPE_TIMEOUT")},
		{"429", refusal(429, ""), worker.Retryable, "rate limit", said("status", 429, "retry_after_ms", int64(5000))},
		{"500 DNS", refusal(500, "SCRAPE_DNS_RESOLUTION_ERROR"), worker.Final, "failed", said("status", 500, "upstream_code", "SCRAPE_DNS_RESOLUTION_ERROR")},
		{"500 file", refusal(500, "SCRAPE_UNSUPPORTED_FILE_ERROR"), worker.Final, "failed", said("status", 500, "upstream_code", "SCRAPE_UNSUPPORTED_FILE_ERROR")},
		{"500 retention", refusal(500, "SCRAPE_ZDR_VIOLATION_ERROR"), worker.Final, "failed", said("status", 500, "upstream_code", "SCRAPE_ZDR_VIOLATION_ERROR")},
		{"500 action", refusal(500, "SCRAPE_ACTION_ERROR"), worker.Final, "failed", said("status", 500, "upstream_code", "SCRAPE_ACTION_ERROR")},
		{"500 TLS", refusal(500, "SCRAPE_SSL_ERROR"), worker.Final, "failed", said("status", 500, "upstream_code", "SCRAPE_SSL_ERROR")},
		{"500", refusal(500, "UNKNOWN_ERROR"), worker.Retryable, "failed", said("status", 500, "upstream_code", "UNKNOWN_ERROR")},
		{"502", refusal(502, ""), worker.Retryable, "failed", said("status", 502)},
		{"503", refusal(503, ""), worker.Retryable, "failed", said("status", 503)},
		{"504", refusal(504, ""), worker.Retryable, "failed", said("status", 504)},
		{"200", refusal(200, ""), worker.Final, "reports", said("status", 200)},
		{"200 slow", refusal(200, "SCRAPE_TIMEOUT"), worker.Retryable, "too slow", said("status", 200, "upstream_code", "SCRAPE_TIMEOUT")},
		{"200 DNS", refusal(200, "SCRAPE_DNS_RESOLUTION_ERROR"), worker.Final, "reports", said("status", 200, "upstream_code", "SCRAPE_DNS_RESOLUTION_ERROR")},
		{"no JSON", firecrawltest.Reply{Body: "<html>"}, worker.Final, "understood", map[string]any{"status": 200, "reason": "not_json"}},
		{"no JSON, 500", firecrawltest.Reply{Status: 500, Body: "<html>"}, worker.Retryable, "failed", map[string]any{"status": 500, "reason": "not_json"}},
		{"no JSON, 404", firecrawltest.Reply{Status: 404, Body: "<html>"}, worker.Final, "refused", map[string]any{"status": 404, "reason": "not_json"}},
		{"nothing", firecrawltest.Reply{Status: 204}, worker.Final, "understood", map[string]any{"status": 204, "reason": "not_json"}},
		{"a list", firecrawltest.Reply{Body: "[]"}, worker.Final, "understood", map[string]any{"status": 200, "reason": "wrong_shape"}},
		{"no data", firecrawltest.Reply{Body: `{"success":true}`}, worker.Final, "understood", map[string]any{"status": 200, "reason": "wrong_shape"}},
		{"data of another shape", firecrawltest.Reply{Body: `{"success":true,"data":[]}`}, worker.Final, "understood", map[string]any{"status": 200, "reason": "wrong_shape"}},
		{"odd members", firecrawltest.Reply{Status: 400, Body: `{"success":1,"error":{"a":1},"code":7,"details":{}}`}, worker.Final, "refused", map[string]any{"status": 400}},
		{"too large", firecrawltest.Reply{Body: `{"data":{"markdown":"` + strings.Repeat("x", mostReply) + `"}}`}, worker.Final, "too large", map[string]any{"status": 200, "reason": "response_too_large"}},
		{"a redirect", firecrawltest.Reply{Status: 302, Header: http.Header{"Location": {"https://evil.example/"}}, Body: `{}`}, worker.Final, "redirect", map[string]any{"status": 302, "reason": "redirect"}},
		{"not modified", firecrawltest.Reply{Status: 304}, worker.Final, "redirect", map[string]any{"status": 304, "reason": "redirect"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := setup(t, &firecrawltest.API{Answer: always("POST", tt.reply)}, Options{MaxAttempts: 1})
			e := s.fails(scrapeOne, worker.UpstreamError, tt.retry)
			if diff := cmp.Diff(tt.details, e.Details); diff != "" {
				t.Errorf("details (-want +got):\n%s", diff)
			}
			if !strings.Contains(e.Message, tt.message) {
				t.Errorf("the message is %q, want %q in it", e.Message, tt.message)
			}
		})
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	host, contacts := foreign(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		to := http.Header{"Location": {"https://" + host + "/v1/scrape"}}
		s := setup(t, &firecrawltest.API{Answer: always("POST", firecrawltest.Reply{Status: status, Header: to, Body: "{}"})}, Options{})
		s.fails(scrapeOne, worker.UpstreamError, worker.Final)
		if len(s.received()) != 1 || contacts.Load() != 0 {
			t.Errorf("%d: sent %q, and %d to the foreign host", status, s.received(), contacts.Load())
		}
	}
}

func TestNoErrorHoldsTheKey(t *testing.T) {
	echo, _ := json.Marshal(map[string]any{"success": false, "error": strings.Repeat("é", 495) + key + " " + key + strings.Repeat("x", 600), "code": "CODE_" + key})
	for _, status := range []int{200, 400, 401, 429, 500} {
		s := setup(t, &firecrawltest.API{Answer: always("POST", firecrawltest.Reply{Status: status, Body: string(echo)})}, Options{MaxAttempts: 1})
		for _, input := range []string{scrapeOne, crawlAll} {
			_, err := s.run(input)
			var e *worker.Error
			if !errors.As(err, &e) {
				t.Fatal(err)
			}
			shown := fmt.Sprintf("%s %v %v", e.Message, e.Details, err)
			if strings.Contains(shown, "fc-5") || !strings.Contains(shown, "[redac") {
				t.Errorf("%d: %s", status, shown)
			}
			if n := len([]rune(e.Details["error"].(string))); n != mostText {
				t.Errorf("%d: %d characters of the API's words are shown", status, n)
			}
		}
	}
}

func TestWhatIsTriedAgain(t *testing.T) {
	const most = 3
	cut, half := firecrawltest.Reply{Cut: true}, firecrawltest.Reply{Body: `{"success":true,`, Cut: true}
	status := func(n int) firecrawltest.Reply { return refusal(n, "") }
	tests := []struct {
		name                string
		reply               firecrawltest.Reply
		scrape, crawl, look int // how often each is sent
	}{
		{"400", status(400), 1, 1, 1},
		{"401", status(401), 1, 1, 1},
		{"408", status(408), 1, 1, most},
		{"429", status(429), most, most, most},
		{"500", status(500), 1, 1, most},
		{"501", status(501), 1, 1, 1},
		{"502", status(502), most, most, most},
		{"503", status(503), most, most, most},
		{"504", status(504), 1, 1, most},
		{"503 for good", refusal(503, "SCRAPE_SSL_ERROR"), 1, 1, 1},
		{"200", status(200), 1, 1, 1},
		{"no reply", cut, most, 1, most},
		{"half a reply", half, 1, 1, most},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, one := range []struct {
				method, input string
				want          int
			}{{"POST", scrapeOne, tt.scrape}, {"POST", crawlAll, tt.crawl}, {"GET", crawlAll, tt.look}} {
				s := setup(t, &firecrawltest.API{Answer: always(one.method, tt.reply)}, Options{Dialect: V1})
				_, err := s.run(one.input)
				if err == nil || s.count(one.method) != one.want {
					t.Errorf("%s for %s: %v after %q, want %d of them", one.method, one.input, err, s.received(), one.want)
				}
			}
		})
	}
}

func TestFaultsThatPass(t *testing.T) {
	for _, method := range []string{"POST", "GET"} {
		s := setup(t, &firecrawltest.API{Answer: answers(method, refusal(503, ""), refusal(502, ""))}, Options{Dialect: V1})
		if o := s.must(crawlAll); o.Stats.Pages != 3 {
			t.Errorf("%s: got %+v", method, o.Stats)
		}
	}
	s := setup(t, &firecrawltest.API{Answer: answers("POST", firecrawltest.Reply{Cut: true})}, Options{Dialect: V1})
	s.must(scrapeOne)
}

func TestBackoffGrows(t *testing.T) {
	s := setup(t, &firecrawltest.API{Answer: always("POST", refusal(503, ""))}, Options{Dialect: V1, MaxAttempts: 9})
	s.fails(scrapeOne, worker.UpstreamError, worker.Retryable)
	limits := []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second, 10 * time.Second, 10 * time.Second}
	slept := s.slept()
	if len(slept) != len(limits) {
		t.Fatalf("paused %v", slept)
	}
	for i, d := range slept {
		if d < 0 || d >= limits[i] {
			t.Errorf("pause %d is %v, want less than %v", i, d, limits[i])
		}
	}
	if slices.Equal(slept, limits) {
		t.Error("the pauses are not left to chance")
	}
}

func TestStartWhoseReplyIsLost(t *testing.T) {
	for name, reply := range map[string]firecrawltest.Reply{"none": {Cut: true}, "half": {Body: `{"success":true,"id":"`, Cut: true}} {
		s := setup(t, &firecrawltest.API{Answer: always("POST", reply)}, Options{Dialect: V1})
		e := s.fails(crawlAll, worker.UpstreamError, worker.Final)
		if e.Details["reason"] != "job_may_be_running" || len(s.received()) != 1 {
			t.Errorf("%s: %v, %q", name, e.Details, s.received())
		}
	}
}

func TestAPIThatIsNotThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	s := setup(t, &firecrawltest.API{}, Options{Dialect: V1, BaseURL: "http://" + l.Addr().String()})
	for i, input := range []string{scrapeOne, crawlAll} {
		e := s.fails(input, worker.UpstreamError, worker.Retryable)
		if e.Details["reason"] != "connect" || len(s.slept()) != 2*(i+1) {
			t.Errorf("%s: %v, paused %v", input, e.Details, s.slept())
		}
		if strings.Contains(e.Message, "127.0.0.1") {
			t.Errorf("the message is %q", e.Message)
		}
	}
}

func TestAPIThatIsNotTrusted(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	s := setup(t, &firecrawltest.API{}, Options{Dialect: V1, BaseURL: server.URL, MaxAttempts: 1})
	for _, input := range []string{scrapeOne, crawlAll} {
		if e := s.fails(input, worker.UpstreamError, worker.Retryable); e.Details["reason"] != "tls" {
			t.Errorf("%s: %v", input, e.Details)
		}
	}
}

func TestReasons(t *testing.T) {
	for want, err := range map[string]error{
		"dns":        &url.Error{Err: &net.OpError{Op: "dial", Err: &net.DNSError{Name: "x", IsNotFound: true}}},
		"connect":    &net.OpError{Op: "dial", Err: errors.New("refused")},
		"tls":        &url.Error{Err: x509.UnknownAuthorityError{}},
		"reset":      &url.Error{Err: &net.OpError{Op: "read", Err: io.EOF}},
		"connection": errors.New("something else"),
	} {
		if got := reasonOf(err); got != want {
			t.Errorf("%v: got %s, want %s", err, got, want)
		}
	}
	if got := reasonOf(tls.AlertError(40)); got != "tls" {
		t.Errorf("an alert: got %s", got)
	}
}

func TestWaitsThatTheAPIAsksFor(t *testing.T) {
	const soon = "Rate limit exceeded. Consumed (req/min): 16, Remaining (req/min): 0. Upgrade your plan at https://firecrawl.dev/pricing for increased rate limits or please retry after 12s, resets at Thu Nov 20 2026"
	limited := func(words string, header ...string) firecrawltest.Reply {
		r := firecrawltest.Reply{Status: 429, Header: http.Header{}, Body: `{"success":false,"error":"` + words + `"}`}
		if header != nil {
			r.Header.Set("Retry-After", header[0])
		}
		return r
	}
	for name, tt := range map[string]struct {
		reply firecrawltest.Reply
		want  time.Duration
	}{
		"in words":            {limited(soon), 12 * time.Second},
		"by header":           {limited(soon, "3"), 3 * time.Second},
		"not at all":          {limited("Rate limit exceeded"), 5 * time.Second},
		"in no way known":     {limited("wait", "soon"), 5 * time.Second},
		"in another form":     {firecrawltest.Reply{Status: 429, Body: "please retry after 12s"}, 5 * time.Second},
		"a header without it": {limited("wait", "0"), time.Millisecond},
		"a date that is past": {limited("wait", "Thu, 01 Jan 1970 00:00:00 GMT"), time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			for _, method := range []string{"POST", "GET"} {
				s := setup(t, &firecrawltest.API{Answer: answers(method, tt.reply)}, Options{Dialect: V1})
				s.must(crawlAll)
				if !slices.Contains(s.slept(), tt.want) {
					t.Errorf("%s: paused %v, want %v", method, s.slept(), tt.want)
				}
			}
		})
	}
	t.Run("longer than there is time", func(t *testing.T) {
		for _, input := range []string{scrapeOne, crawlAll} {
			s := setup(t, &firecrawltest.API{Answer: always("POST", limited(soon))}, Options{Dialect: V1})
			s.left = 11 * time.Second
			e := s.fails(input, worker.UpstreamError, worker.Retryable)
			if e.Details["retry_after_ms"] != int64(12000) || s.slept() != nil || len(s.received()) != 1 {
				t.Errorf("%v, paused %v, %q", e.Details, s.slept(), s.received())
			}
		}
		s := setup(t, &firecrawltest.API{Answer: always("GET", limited(soon))}, Options{Dialect: V1})
		s.left = 13 * time.Second
		e := s.fails(crawlAll, worker.UpstreamError, worker.Retryable)
		if e.Details["retry_after_ms"] != int64(12000) || len(s.slept()) != 1 || len(s.api.Cancelled()) != 1 {
			t.Errorf("%v, paused %v, cancelled %q", e.Details, s.slept(), s.api.Cancelled())
		}
	})
	t.Run("by date", func(t *testing.T) {
		s := setup(t, &firecrawltest.API{}, Options{Dialect: V1})
		s.api.Answer = answers("POST", limited("wait", s.clock.Now().Add(8*time.Second).UTC().Format(http.TimeFormat)))
		s.must(scrapeOne)
		if slept := s.slept(); len(slept) != 1 || slept[0] <= 6*time.Second || slept[0] > 8*time.Second {
			t.Errorf("paused %v", slept)
		}
	})
}
