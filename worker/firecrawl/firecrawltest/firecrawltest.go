// Package firecrawltest stands in for the Firecrawl API, for tests.
//
//	api := &firecrawltest.API{Key: "fc-key"}
//	server := httptest.NewServer(api)
//	…
//	for _, r := range api.Requests() { … }
//
// It is strict where the API is: a member that it does not know is refused, a crawl takes
// a while, is looked at by its id and gives its pages in pieces, and the link to the next
// piece is made of the Host header and always of https. What it answers otherwise, as
// when it fails, is up to the test; see [API.Answer].
package firecrawltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Request is one that was received.
type Request struct {
	Method, Path, Query string
	Header              http.Header
	// Body is the body as it was sent.
	Body string
}

// A Reply is what to answer.
type Reply struct {
	Status int // zero means 200
	Header http.Header
	Body   string
	// Cut breaks the connection in the middle of the body, or before any of the reply
	// where there is no body.
	Cut bool
}

// An API answers as the Firecrawl API does. The zero value takes every key, and finds
// three pages. Its fields are set before it is used; it is safe for concurrent use.
type API struct {
	// Key is what requests have to carry. Empty takes every key.
	Key string
	// Simple makes it one that takes {"url", "formats", "maxPages"} and crawls at once.
	Simple bool
	// Pages are the documents that a crawl finds; nil means three that are made up. A
	// scrape gives the first one.
	Pages []map[string]any
	// Looks is how often a crawl is found running before it is completed.
	Looks int
	// PageSize is how many documents a piece has. Zero means 100.
	PageSize int
	// NextHost is the host of links to further pieces. Empty means that of the request.
	NextHost string
	// Overrun makes it ignore how many pages are wanted.
	Overrun bool
	// Answer is asked before anything else; nil, or a nil Reply, leaves the request to the
	// API. It is called for one request at a time, which is on record then.
	Answer func(Request) *Reply

	answering sync.Mutex
	mu        sync.Mutex
	requests  []Request       // guarded by mu
	crawls    map[string]*run // guarded by mu
}

// A run is a crawl.
type run struct {
	pages     []map[string]any
	looks     int
	cancelled bool
}

// Requests gives what was received so far, in its order.
func (a *API) Requests() []Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.requests)
}

// Cancelled lists the ids of the crawls that were cancelled.
func (a *API) Cancelled() (ids []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, r := range a.crawls {
		if r.cancelled {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	got := Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Header: r.Header.Clone(), Body: string(body)}
	a.mu.Lock()
	a.requests = append(a.requests, got)
	a.mu.Unlock()
	if own := a.ask(got); own != nil {
		own.write(w)
		return
	}
	status, reply := a.answer(r, body)
	write(w, status, reply)
}

func (a *API) ask(r Request) *Reply {
	if a.Answer == nil {
		return nil
	}
	a.answering.Lock()
	defer a.answering.Unlock()
	return a.Answer(r)
}

func (r *Reply) write(w http.ResponseWriter) {
	if r.Cut && r.Body == "" {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	maps.Copy(w.Header(), r.Header)
	if r.Cut {
		w.Header().Set("Content-Length", strconv.Itoa(len(r.Body)+1))
	}
	w.WriteHeader(max(r.Status, http.StatusOK))
	_, _ = io.WriteString(w, r.Body)
	if r.Cut {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

type object = map[string]any

func write(w http.ResponseWriter, status int, reply object) {
	text, err := json.Marshal(reply)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

func (a *API) answer(r *http.Request, body []byte) (int, object) {
	if key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); !ok || key == "" || a.Key != "" && key != a.Key {
		return http.StatusUnauthorized, object{"success": false, "error": "Unauthorized: Invalid token"}
	}
	id, isCrawl := strings.CutPrefix(r.URL.Path, "/v1/crawl/")
	switch {
	case r.Method == http.MethodPost && (r.URL.Path == "/v1/scrape" || r.URL.Path == "/v1/crawl"):
		return a.post(r.URL.Path, body)
	case r.Method == http.MethodGet && isCrawl:
		return a.look(r, id)
	case r.Method == http.MethodDelete && isCrawl:
		return a.cancel(id)
	}
	return http.StatusNotFound, object{"success": false, "error": "Cannot " + r.Method + " " + r.URL.Path}
}

func (a *API) post(path string, text []byte) (int, object) {
	var body object
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&body); err != nil {
		return http.StatusBadRequest, object{"success": false, "error": "Bad request, malformed JSON"}
	}
	if odd := unknown(body, knownMembers(path, a.Simple)); len(odd) > 0 {
		return a.refuseKeys(odd, nil)
	}
	formats := body["formats"]
	if nested, ok := body["scrapeOptions"].(object); ok {
		if odd := unknown(nested, knownMembers("/v1/scrape", false)); len(odd) > 0 {
			return a.refuseKeys(odd, []string{"scrapeOptions"})
		}
		formats = nested["formats"]
	}
	if why := wrong(body, formats); why != "" {
		return http.StatusBadRequest, object{"success": false, "code": "BAD_REQUEST", "error": "Bad Request", "details": []object{{"code": "custom", "message": why, "path": []string{}}}}
	}
	if path == "/v1/scrape" {
		return http.StatusOK, object{"success": true, "data": only(a.pages()[0], formats)}
	}
	return a.crawl(body, formats)
}

// knownMembers are those that a request may have.
func knownMembers(path string, simple bool) []string {
	switch {
	case simple && path == "/v1/scrape":
		return []string{"url", "formats"}
	case simple:
		return []string{"url", "formats", "maxPages"}
	case path == "/v1/scrape":
		return []string{
			"url", "formats", "timeout", "headers", "includeTags", "excludeTags", "onlyMainContent", "waitFor", "mobile",
			"parsePDF", "actions", "location", "skipTlsVerification", "removeBase64Images", "fastMode", "blockAds", "proxy",
			"maxAge", "storeInCache", "origin", "integration", "zeroDataRetention", "extract", "jsonOptions", "changeTrackingOptions", "agent",
		}
	}
	return []string{
		"url", "limit", "scrapeOptions", "webhook", "includePaths", "excludePaths", "maxDepth", "maxDiscoveryDepth",
		"allowBackwardLinks", "crawlEntireDomain", "allowExternalLinks", "allowSubdomains", "ignoreRobotsTxt", "ignoreSitemap",
		"deduplicateSimilarURLs", "ignoreQueryParameters", "regexOnFullURL", "delay", "maxConcurrency", "origin", "integration", "zeroDataRetention",
	}
}

func unknown(body object, known []string) (odd []string) {
	for _, name := range slices.Sorted(maps.Keys(body)) {
		if !slices.Contains(known, name) {
			odd = append(odd, name)
		}
	}
	return odd
}

func (a *API) refuseKeys(odd, path []string) (int, object) {
	if a.Simple {
		return http.StatusBadRequest, object{"success": false, "error": "unknown field " + odd[0]}
	}
	const message = "Unrecognized key in body -- please review the v1 API documentation for request body changes"
	return http.StatusBadRequest, object{
		"success": false, "code": "BAD_REQUEST", "error": message,
		"details": []object{{"code": "unrecognized_keys", "keys": odd, "path": path, "message": message}},
	}
}

// wrong says what is wrong with the values of a request.
func wrong(body object, formats any) string {
	u, err := url.Parse(fmt.Sprint(body["url"]))
	switch {
	case body["url"] == nil:
		return "Required"
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || !strings.Contains(u.Hostname(), "."):
		return "Invalid URL"
	}
	for _, name := range []string{"limit", "maxPages", "timeout"} {
		n, isNumber := body[name].(json.Number)
		whole, err := n.Int64()
		if body[name] != nil && (!isNumber || err != nil || whole < 1) {
			return "Expected a positive integer in " + name
		}
	}
	if formats == nil {
		return ""
	}
	list, isList := formats.([]any)
	if !isList {
		return "Expected array in formats"
	}
	for i, f := range list {
		if !slices.Contains([]any{"markdown", "html", "rawHtml", "links", "screenshot", "screenshot@fullPage", "extract", "json", "changeTracking"}, f) {
			return "Invalid enum value in formats"
		}
		if slices.Contains(list[:i], f) {
			return "formats holds a value twice"
		}
	}
	return ""
}

func (a *API) crawl(body object, formats any) (int, object) {
	most := 10000
	for _, name := range []string{"limit", "maxPages"} {
		if n, ok := body[name].(json.Number); ok {
			most, _ = strconv.Atoi(n.String())
		}
	}
	pages := a.pages()
	if !a.Overrun {
		pages = pages[:min(len(pages), most)]
	}
	given := make([]object, len(pages))
	for i, p := range pages {
		given[i] = only(p, formats)
	}
	if a.Simple {
		return http.StatusOK, object{"success": true, "data": given}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.crawls == nil {
		a.crawls = map[string]*run{}
	}
	id := fmt.Sprintf("0199c1de-0000-7000-8000-%012d", len(a.crawls)+1)
	a.crawls[id] = &run{pages: given, looks: a.Looks}
	return http.StatusOK, object{"success": true, "id": id, "url": "https://api.firecrawl.dev/v1/crawl/" + id}
}

func (a *API) look(r *http.Request, id string) (int, object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.crawls[id]
	if c == nil {
		return http.StatusNotFound, object{"success": false, "error": "Job not found"}
	}
	status, there, total := "completed", len(c.pages), len(c.pages)
	switch {
	case c.cancelled:
		status = "cancelled"
	case c.looks > 0:
		c.looks--
		status, there = "scraping", max(there-1-c.looks, 0)
	}
	size := a.PageSize
	if size == 0 {
		size = 100
	}
	skip, _ := strconv.Atoi(r.URL.Query().Get("skip"))
	skip = min(max(skip, 0), there)
	end := min(skip+size, there)
	reply := object{
		"success": true, "status": status, "completed": there, "total": total, "creditsUsed": there,
		"expiresAt": "2030-01-01T00:00:00.000Z", "data": c.pages[skip:end],
	}
	if end < there || status == "scraping" { // while it runs there is always a next piece
		host := a.NextHost
		if host == "" {
			host = r.Host
		}
		reply["next"] = "https://" + host + "/v1/crawl/" + id + "?skip=" + strconv.Itoa(end)
	}
	return http.StatusOK, reply
}

func (a *API) cancel(id string) (int, object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.crawls[id]
	if c == nil {
		return http.StatusNotFound, object{"success": false, "error": "Job not found"}
	}
	c.cancelled = true
	return http.StatusOK, object{"status": "cancelled"}
}

func (a *API) pages() []object {
	if a.Pages != nil {
		return a.Pages
	}
	return []object{Page("/", "Home"), Page("/a", "A"), Page("/b", "B")}
}

// Page makes up a document.
func Page(path, title string) map[string]any {
	return object{
		"markdown": "# " + title + "\n\nThis is [" + title + "](https://example.com" + path + ").",
		"html":     "<h1>" + title + "</h1>",
		"metadata": object{"title": title, "sourceURL": "https://example.com" + path, "url": "https://example.com" + path, "statusCode": 200},
	}
}

// only leaves of a document what was asked for: Markdown, where nothing was.
func only(page object, formats any) object {
	wanted, ok := formats.([]any)
	if !ok {
		wanted = []any{"markdown"}
	}
	page = maps.Clone(page)
	for _, f := range []string{"markdown", "html"} {
		if !slices.Contains(wanted, any(f)) {
			delete(page, f)
		}
	}
	return page
}
