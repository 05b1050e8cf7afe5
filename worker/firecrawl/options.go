package firecrawl

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard"
)

// The variables of [FromEnv].
const (
	VarAPIKey       = "FIRECRAWL_API_KEY"
	VarBaseURL      = "FIRECRAWL_BASE_URL"
	VarDialect      = "FIRECRAWL_DIALECT"
	VarPollInterval = "FIRECRAWL_POLL_INTERVAL_MS"
	VarMaxAttempts  = "FIRECRAWL_MAX_ATTEMPTS"
)

// DefaultBaseURL is the hosted API.
const DefaultBaseURL = "https://api.firecrawl.dev"

// A Dialect is the form of the bodies that the API takes.
type Dialect string

const (
	// Auto speaks V1 to the hosted API. To others it speaks Simple, until one refuses a
	// member that it does not know; from then on it speaks V1 to it. The zero value means
	// Auto.
	Auto Dialect = "auto"
	// V1 is that of the hosted API: {"url", "limit", "scrapeOptions": {"formats"}}.
	V1 Dialect = "v1"
	// Simple is flat: {"url", "formats", "maxPages"}.
	Simple Dialect = "seed"
)

const (
	defaultPollInterval = 2 * time.Second
	longestPollInterval = 10 * time.Second
	defaultMaxAttempts  = 3
	mostAttempts        = 100
)

// Options say which API is asked, and how. The zero value has no key: with it a tool is
// made, says that it is not healthy, and sends nothing.
type Options struct {
	// APIKey is sent with each request. No error holds it.
	APIKey string
	// BaseURL is the API, with or without a slash at the end. Empty means [DefaultBaseURL].
	BaseURL string
	// Dialect is how to speak to it. Empty means [Auto].
	Dialect Dialect
	// PollInterval is between the first looks at a crawl; later ones are farther apart, up
	// to 10 s. Zero means 2 s; more than 10 s is refused.
	PollInterval time.Duration
	// MaxAttempts is how often a request is sent at most, if it fails in a way that may
	// pass. Zero means 3.
	MaxAttempts int
	// Proxy gives the proxy for a request, or nil. Nil means that of the variables
	// HTTP_PROXY, HTTPS_PROXY and NO_PROXY of the process.
	Proxy func(*http.Request) (*url.URL, error)
}

// FromEnv reads the options from variables, of which lookup gives the values: those of
// this package, and those that name a proxy. A value that cannot be used is an error with
// reason ConfigInvalid; a missing key is none.
func FromEnv(lookup func(name string) (value string, ok bool)) (Options, error) {
	get := func(name string) string {
		value, _ := lookup(name)
		return value
	}
	interval, err := number(VarPollInterval, get(VarPollInterval), longestPollInterval.Milliseconds())
	if err != nil {
		return Options{}, err
	}
	attempts, err := number(VarMaxAttempts, get(VarMaxAttempts), mostAttempts)
	if err != nil {
		return Options{}, err
	}
	o := Options{
		APIKey: strings.TrimSpace(get(VarAPIKey)), BaseURL: get(VarBaseURL), Dialect: Dialect(get(VarDialect)),
		PollInterval: time.Duration(interval) * time.Millisecond, MaxAttempts: int(attempts), Proxy: proxyFrom(get),
	}
	_, err = o.withDefaults().check()
	return o, err
}

// number reads a whole number from 1; an empty text is zero, which means the default.
func number(name, text string, most int64) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > most {
		return 0, badOption(name, fmt.Errorf("it is not a whole number from 1 to %d", most))
	}
	return n, nil
}

func proxyFrom(get func(string) string) func(*http.Request) (*url.URL, error) {
	either := func(name string) string {
		if value := get(name); value != "" {
			return value
		}
		return get(strings.ToLower(name))
	}
	choose := (&httpproxy.Config{
		HTTPProxy: either("HTTP_PROXY"), HTTPSProxy: either("HTTPS_PROXY"), NoProxy: either("NO_PROXY"),
	}).ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return choose(r.URL) }
}

func (o Options) withDefaults() Options {
	if o.BaseURL == "" {
		o.BaseURL = DefaultBaseURL
	}
	if o.Dialect == "" {
		o.Dialect = Auto
	}
	if o.PollInterval == 0 {
		o.PollInterval = defaultPollInterval
	}
	if o.MaxAttempts == 0 {
		o.MaxAttempts = defaultMaxAttempts
	}
	if o.Proxy == nil {
		o.Proxy = http.ProxyFromEnvironment
	}
	return o
}

// check refuses what cannot be used, and gives the base URL.
func (o Options) check() (*url.URL, error) {
	for _, c := range []byte(o.APIKey) {
		if c <= ' ' || c > '~' {
			return nil, badOption(VarAPIKey, errors.New("it holds a space or a character that is not ASCII"))
		}
	}
	switch o.Dialect {
	case Auto, V1, Simple:
	default:
		return nil, badOption(VarDialect, errors.New("it is neither auto nor v1 nor seed"))
	}
	if o.PollInterval < time.Millisecond || o.PollInterval > longestPollInterval {
		return nil, badOption(VarPollInterval, errors.New("it is not between 1 ms and 10 s"))
	}
	if o.MaxAttempts < 1 {
		return nil, badOption(VarMaxAttempts, errors.New("it is below 1"))
	}
	return parseBase(o.BaseURL)
}

func parseBase(text string) (*url.URL, error) {
	u, err := netguard.ParseURL(strings.TrimRight(text, "/"))
	switch {
	case err != nil:
		return nil, badOption(VarBaseURL, durward.AsError(err).Err)
	case !netguard.IsHTTP(u) || u.Opaque != "":
		return nil, badOption(VarBaseURL, errors.New("it is not a URL of http or https"))
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, badOption(VarBaseURL, errors.New("it holds a user, a query or a fragment"))
	}
	return u, nil
}

// badOption names what is wrong, and never shows the value.
func badOption(name string, err error) error {
	return &durward.Error{
		Reason: durward.ConfigInvalid, Op: "firecrawl", Hint: "set it right, or leave it out for its default",
		Err: fmt.Errorf("%s: %w", name, err),
	}
}
