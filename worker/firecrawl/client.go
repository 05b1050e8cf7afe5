package firecrawl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/worker"
)

const (
	scrapePath = "/v1/scrape"
	crawlPath  = "/v1/crawl"

	// mostReply bounds one reply.
	mostReply = 32 << 20
	// mostText is how much of the API's own words a caller is told.
	mostText = 500
	// lookTime bounds one request that only looks.
	lookTime = 30 * time.Second
	// usualWait is the wait after a 429 that does not say how long.
	usualWait = 5 * time.Second
	// giveUp is how long before us the API gives up a page.
	giveUp = time.Second
)

// A client speaks to the Firecrawl API. It alone knows what is written and read there.
type client struct {
	base     *url.URL
	key      string
	attempts int
	clock    clock
	http     *http.Client
	dialect  Dialect
	// learned is set once an API of unknown dialect refused that of Simple.
	learned atomic.Bool
}

func newClient(o Options, base *url.URL, by clock) *client {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	c := &client{base: base, key: o.APIKey, attempts: o.MaxAttempts, clock: by, dialect: o.Dialect}
	if host := strings.ToLower(base.Hostname()); c.dialect == Auto && (host == "api.firecrawl.dev" || strings.HasSuffix(host, ".firecrawl.dev")) {
		c.dialect = V1
	}
	c.http = &http.Client{
		Transport: &http.Transport{
			Proxy: o.Proxy, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
			OnProxyConnectResponse: proxyAnswer,
			TLSHandshakeTimeout:    10 * time.Second, MaxResponseHeaderBytes: 64 << 10,
			// A kept connection may be dead when it is used again: a request would be sent
			// twice unasked, or the start of a crawl count as received.
			DisableKeepAlives: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// errProxy says that a proxy does not let us through.
var errProxy = errors.New("the proxy refused the connection")

func proxyAnswer(_ context.Context, _ *url.URL, _ *http.Request, res *http.Response) error {
	if res.StatusCode != http.StatusOK {
		return errProxy
	}
	return nil
}

// A job is what the API is asked to fetch.
type job struct {
	url     string
	formats []string // nil leaves it to the API
	pages   int      // for a crawl
}

// A document is a page that the API fetched, or could not fetch.
type document struct {
	url, title     string
	markdown, html *string
	// status is that of the page itself; 0 means unknown.
	status int
	// fault is what kept the API from fetching it.
	fault string
}

func (d document) size() (n int) {
	for _, content := range []*string{d.markdown, d.html} {
		if content != nil {
			n += len(*content)
		}
	}
	return n
}

func (d document) failed() bool { return d.fault != "" || d.status >= 400 && d.size() == 0 }

// A crawl is what the API says of one.
type crawl struct {
	id       string
	state    crawlState
	progress progress
	// pages are those of this reply; next leads to further ones, and may be empty.
	pages []document
	next  string
	// given is set when the reply holds a list of pages at all.
	given bool
	// says is what went wrong, in the API's words.
	says string
}

type progress struct{ completed, total, credits json.Number }

type crawlState int

const (
	stateUnknown crawlState = iota
	stateRunning
	stateCompleted
	stateFailed
)

func stateNamed(name string) crawlState {
	switch name {
	case "scraping", "active", "pending", "queued", "waiting", "paused":
		return stateRunning
	case "completed":
		return stateCompleted
	case "failed", "cancelled":
		return stateFailed
	}
	return stateUnknown
}

const codeSlow = "SCRAPE_TIMEOUT"

// passing says of a code of the API whether what it tells of may pass.
func passing(code string) worker.Retry {
	switch code {
	case codeSlow:
		return worker.Retryable
	case "SCRAPE_DNS_RESOLUTION_ERROR", "SCRAPE_UNSUPPORTED_FILE_ERROR", "SCRAPE_ZDR_VIOLATION_ERROR",
		"SCRAPE_ACTION_ERROR", "SCRAPE_SSL_ERROR":
		return worker.Final
	}
	return worker.ByCode
}

// scrape fetches one page.
func (c *client) scrape(ctx context.Context, j job, b budget) (document, error) {
	r, err := attempts(ctx, b, c.attempts, whenScraping, func() (reply, *fault) {
		return c.post(ctx, scrapePath, func(d Dialect) (any, error) { return c.scrapeBody(j, d, b) })
	})
	if err != nil {
		return document{}, err
	}
	if !isObject(r["data"]) {
		return document{}, misshapen("data is no object")
	}
	return readDocument(r["data"]), nil
}

func (c *client) scrapeBody(j job, d Dialect, b budget) (any, error) {
	body := struct {
		URL     string   `json:"url"`
		Formats []string `json:"formats,omitempty"`
		Timeout int64    `json:"timeout,omitempty"`
	}{URL: j.url, Formats: j.formats}
	if d == V1 && b.stated {
		if body.Timeout = (b.left() - giveUp).Milliseconds(); body.Timeout < 1 {
			return nil, errTooLate
		}
	}
	return body, nil
}

// start begins a crawl. An API that does all of it at once gives the pages.
func (c *client) start(ctx context.Context, j job, b budget) (crawl, error) {
	r, err := attempts(ctx, b, c.attempts, whenStarting, func() (reply, *fault) {
		return c.post(ctx, crawlPath, func(d Dialect) (any, error) { return crawlBody(j, d), nil })
	})
	if f := (*fault)(nil); errors.As(err, &f) && f.status == 0 && !f.unsent && !errors.Is(f, errTooLate) {
		f.reason = reasonMayRun
	}
	if err != nil {
		return crawl{}, err
	}
	s, err := c.readCrawl(r)
	switch {
	case err != nil:
		return s, err
	case s.given:
		return s, nil
	case !isID(s.id):
		return s, misshapen("there is neither an id nor data")
	}
	return s, nil
}

func crawlBody(j job, d Dialect) any {
	if d == Simple {
		return struct {
			URL      string   `json:"url"`
			Formats  []string `json:"formats,omitempty"`
			MaxPages int      `json:"maxPages"`
		}{j.url, j.formats, j.pages}
	}
	type scrapeOptions struct {
		Formats []string `json:"formats"`
	}
	body := struct {
		URL           string         `json:"url"`
		Limit         int            `json:"limit"`
		ScrapeOptions *scrapeOptions `json:"scrapeOptions,omitempty"`
	}{URL: j.url, Limit: j.pages}
	if j.formats != nil {
		body.ScrapeOptions = &scrapeOptions{j.formats}
	}
	return body
}

// look asks how far a crawl is, or with a next that was given for further pages of it.
func (c *client) look(ctx context.Context, id, next string, b budget) (crawl, error) {
	target := crawlPath + "/" + id
	if next != "" {
		query, err := c.queryOf(next, target)
		if err != nil {
			return crawl{}, err
		}
		target += "?" + query
	}
	r, err := attempts(ctx, b, c.attempts, whenReading, func() (reply, *fault) {
		ctx, cancel := context.WithTimeout(ctx, lookTime)
		defer cancel()
		return c.send(ctx, http.MethodGet, target, nil)
	})
	if err != nil {
		return crawl{}, err
	}
	return c.readCrawl(r)
}

// queryOf takes the query out of a link to further pages. The API makes such links of a
// Host header and always of https, so host and scheme mean nothing: to follow them could
// give the key away. A path that is not that of the crawl is refused.
func (c *client) queryOf(next, target string) (string, error) {
	u, err := url.Parse(next)
	if err != nil || u.EscapedPath() != target && u.EscapedPath() != c.base.EscapedPath()+target {
		return "", misshapen("next leads elsewhere")
	}
	return u.RawQuery, nil
}

// cancel ends a crawl, if it still runs. Whether that succeeds is not known.
func (c *client) cancel(ctx context.Context, id string) {
	_, _ = c.send(ctx, http.MethodDelete, crawlPath+"/"+id, nil)
}

// post sends a body in the dialect of the API, and in the other one when that turns out
// to be wrong.
func (c *client) post(ctx context.Context, path string, body func(Dialect) (any, error)) (reply, *fault) {
	d := c.dialect
	if d == Auto {
		d = Simple
		if c.learned.Load() {
			d = V1
		}
	}
	r, f := c.postIn(ctx, path, d, body)
	if f != nil && f.unknownKey && c.dialect == Auto && d == Simple {
		c.learned.Store(true)
		return c.postIn(ctx, path, V1, body)
	}
	return r, f
}

func (c *client) postIn(ctx context.Context, path string, d Dialect, body func(Dialect) (any, error)) (reply, *fault) {
	what, err := body(d)
	if err != nil {
		return nil, &fault{err: err, unsent: true}
	}
	text, err := jsonx.Marshal(what)
	if err != nil {
		return nil, &fault{err: err, unsent: true}
	}
	return c.send(ctx, http.MethodPost, path, bytes.TrimSuffix(text, []byte("\n")))
}

// A reply is the members of the object that the API answered with. It is read leniently:
// the API writes what pages hold, broken characters included, and nothing is decided by
// it but what is asked for next.
type reply map[string]json.RawMessage

// send makes one request.
func (c *client) send(ctx context.Context, method, target string, body []byte) (reply, *fault) {
	connected := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
	r, err := http.NewRequestWithContext(ctx, method, c.base.String()+target, bytes.NewReader(body))
	if err != nil {
		return nil, &fault{err: err, unsent: true}
	}
	r.Header.Set("Authorization", "Bearer "+c.key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "durward-worker-firecrawl")
	res, err := c.http.Do(r)
	if err != nil {
		f := lost(err)
		f.unsent = !connected
		return nil, f
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, mostReply+1))
	if err != nil && res.StatusCode < 300 {
		f := lost(err)
		f.begun = true
		return nil, f
	}
	return c.read(res, text)
}

// read takes a reply apart.
func (c *client) read(res *http.Response, text []byte) (reply, *fault) {
	f := &fault{status: res.StatusCode}
	if len(text) > mostReply {
		f.reason = reasonTooLarge
		return nil, f
	}
	if f.status >= 300 && f.status < 400 {
		f.reason = reasonRedirect
		return nil, f
	}
	var r reply
	if err := json.Unmarshal(text, &r); err != nil || r == nil {
		f.reason, f.err = reasonNotJSON, err
		if json.Valid(text) {
			f.reason = reasonShape
		}
	}
	f.code, f.text = c.told(r.text("code"), 64), c.told(r.text("error"), mostText)
	f.passes, f.slow = passing(f.code), f.code == codeSlow
	f.unknownKey = f.status == http.StatusBadRequest && r.namesUnknownKey()
	if f.status == http.StatusTooManyRequests {
		f.wait = c.waitOf(res.Header.Get("Retry-After"), r.text("error"))
	}
	if f.status < 300 && f.reason == "" && string(r["success"]) != "false" {
		return r, nil
	}
	return nil, f
}

// told gives words of the API without the key, and not all of many.
func (c *client) told(text string, most int) string {
	text = strings.ReplaceAll(text, c.key, "[redacted]")
	for i := range text {
		if most--; most < 0 {
			return text[:i]
		}
	}
	return text
}

var (
	inWords    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)retry after (\d{1,9}) ?s`) })
	unknownKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)unrecognized key`) })
	id         = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`) })
)

func isID(text string) bool { return id().MatchString(text) }

// waitOf is how long the API wants us to wait: as a header says, or else its words.
func (c *client) waitOf(header, words string) time.Duration {
	seconds := header
	if m := inWords().FindStringSubmatch(words); header == "" && m != nil {
		seconds = m[1]
	}
	if n, err := strconv.ParseUint(seconds, 10, 30); err == nil {
		return max(time.Duration(n)*time.Second, time.Millisecond)
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(at.Sub(c.clock.Now()), time.Millisecond)
	}
	return usualWait
}

// namesUnknownKey reports whether a refusal is for a member that the API does not know.
func (r reply) namesUnknownKey() bool {
	var details []struct {
		Keys []string `json:"keys"`
	}
	_ = json.Unmarshal(r["details"], &details) // others have other details
	for _, d := range details {
		if len(d.Keys) > 0 {
			return true
		}
	}
	return unknownKey().MatchString(r.text("error"))
}

// text gives a member that is a text, or a list of which the first text stands for all.
func (r reply) text(name string) string {
	var text string
	if json.Unmarshal(r[name], &text) == nil {
		return text
	}
	var list []string
	if json.Unmarshal(r[name], &list) == nil && len(list) > 0 {
		return list[0]
	}
	return ""
}

func (r reply) optional(name string) *string {
	var text *string
	_ = json.Unmarshal(r[name], &text) // what is no text is none
	return text
}

func (r reply) number(name string) json.Number {
	var n json.Number
	if text := r[name]; len(text) > 0 && text[0] != '"' {
		_ = json.Unmarshal(text, &n) // what is no number is none
	}
	return n
}

// readCrawl reads what the API says of a crawl.
func (c *client) readCrawl(r reply) (crawl, error) {
	s := crawl{
		id: r.text("id"), state: stateNamed(r.text("status")), next: r.text("next"), says: c.told(r.text("error"), mostText),
		progress: progress{r.number("completed"), r.number("total"), r.number("creditsUsed")},
	}
	data := r["data"]
	if len(data) == 0 || string(data) == "null" {
		return s, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return s, misshapen("data is no list")
	}
	s.given = true
	for _, one := range list {
		if !isObject(one) {
			return s, misshapen("a page is no object")
		}
		s.pages = append(s.pages, readDocument(one))
	}
	return s, nil
}

func readDocument(text json.RawMessage) document {
	var d, meta reply
	_ = json.Unmarshal(text, &d) // it is an object of a text that was read
	_ = json.Unmarshal(d["metadata"], &meta)
	status, _ := strconv.Atoi(meta.number("statusCode").String())
	return document{
		url:   first(meta.text("sourceURL"), meta.text("url"), d.text("url")),
		title: first(meta.text("title"), d.text("title")),
		fault: meta.text("error"), status: status,
		markdown: d.optional("markdown"), html: d.optional("html"),
	}
}

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

func isObject(value json.RawMessage) bool { return len(value) > 0 && value[0] == '{' }

// misshapen is the fault of a reply that does not say what it has to.
func misshapen(why string) error {
	return &fault{status: http.StatusOK, reason: reasonShape, err: errors.New(why)}
}
