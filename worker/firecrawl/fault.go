package firecrawl

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/durward/durward/worker"
)

// A fault is a request to the API that came to nothing.
type fault struct {
	// status is that of the reply; 0 means that there was none.
	status int
	// code and text are what the reply says itself, without the key.
	code, text string
	// reason is a word of ours for what the reply does not say.
	reason string
	// passes says whether the code of the reply tells that it may pass, or will not.
	passes worker.Retry
	// slow is set when the page, and not the API, took too long.
	slow bool
	// unknownKey is set when the API knows a member of the body not.
	unknownKey bool
	// unsent is set when nobody can have received the request, begun when a reply to it
	// was cut short.
	unsent, begun bool
	// wait is what the API asks for before the next request.
	wait time.Duration
	err  error
}

// What the API does not say itself.
const (
	reasonDNS       = "dns"
	reasonConnect   = "connect"
	reasonTLS       = "tls"
	reasonReset     = "reset"
	reasonTimeout   = "timeout"
	reasonBroken    = "connection"
	reasonProxy     = "proxy_refused"
	reasonRedirect  = "redirect"
	reasonNotJSON   = "not_json"
	reasonShape     = "wrong_shape"
	reasonTooLarge  = "response_too_large"
	reasonMayRun    = "job_may_be_running"
	reasonJobStatus = "crawl_not_completed"
)

// Error is for the log: it holds nothing that a stranger wrote.
func (f *fault) Error() string {
	text := fmt.Sprintf("status %d %s", f.status, cmp.Or(f.reason, "refused"))
	if f.err != nil {
		text += ": " + f.err.Error()
	}
	return text
}

func (f *fault) Unwrap() error { return f.err }

// lost is a request without a reply.
func lost(err error) *fault { return &fault{reason: reasonOf(err), err: err} }

func reasonOf(err error) string {
	var (
		dns       *net.DNSError
		slow      net.Error
		op        *net.OpError
		bad       *tls.CertificateVerificationError
		alert     tls.AlertError
		record    tls.RecordHeaderError
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
	)
	switch {
	case errors.Is(err, errProxy):
		return reasonProxy
	case errors.As(err, &dns):
		return reasonDNS
	case errors.As(err, &bad), errors.As(err, &alert), errors.As(err, &record), errors.As(err, &authority), errors.As(err, &name):
		return reasonTLS
	case errors.As(err, &op) && op.Op == "dial":
		return reasonConnect
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return reasonReset
	case errors.As(err, &slow) && slow.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return reasonTimeout
	}
	return reasonBroken
}

// tell says of a failure what the caller may know. Errors of package worker stay as they
// are.
func tell(err error) error {
	var f *fault
	if !errors.As(err, &f) {
		return err
	}
	e := &worker.Error{Code: worker.UpstreamError, Retry: f.retry(), Message: f.message(), Details: map[string]any{}, Err: f}
	for name, value := range map[string]string{"upstream_code": f.code, "error": f.text, "reason": f.reason} {
		if value != "" {
			e.Details[name] = value
		}
	}
	if f.status != 0 {
		e.Details["status"] = f.status
	}
	if f.status == http.StatusTooManyRequests {
		e.Details["retry_after_ms"] = f.wait.Milliseconds()
	}
	return e
}

// retry says whether the same call may succeed later.
func (f *fault) retry() worker.Retry {
	switch {
	case f.passes != worker.ByCode:
		return f.passes
	case f.reason == reasonMayRun:
		return worker.Final
	case f.status == 0, f.reason == reasonJobStatus, f.status >= 500,
		f.status == http.StatusRequestTimeout, f.status == http.StatusTooManyRequests:
		return worker.Retryable
	}
	return worker.Final
}

func (f *fault) message() string {
	switch {
	case f.slow || f.status == http.StatusRequestTimeout:
		return "the page was too slow for Firecrawl"
	case f.reason == reasonMayRun:
		return "Firecrawl's answer to the start of a crawl got lost; the crawl may be running"
	case f.reason == reasonJobStatus:
		return "Firecrawl did not complete the crawl"
	case f.reason == reasonRedirect:
		return "Firecrawl answered with a redirect, which is not followed"
	case f.reason == reasonTooLarge:
		return "Firecrawl's answer is too large"
	case f.reason == reasonProxy:
		return "the proxy does not let the worker reach Firecrawl"
	}
	switch f.status {
	case 0:
		return "Firecrawl could not be reached"
	case http.StatusUnauthorized:
		return "Firecrawl: API key rejected"
	case http.StatusPaymentRequired:
		return "Firecrawl: insufficient credits"
	case http.StatusForbidden:
		return "Firecrawl refuses this site: it is blocked, or a rule for the country forbids it"
	case http.StatusTooManyRequests:
		return "Firecrawl's rate limit was reached"
	}
	switch {
	case f.status >= 500:
		return "Firecrawl failed"
	case f.status < 300 && f.reason == "":
		return "Firecrawl reports that it failed"
	case f.status < 300:
		return "Firecrawl's answer cannot be understood"
	}
	return "Firecrawl refused the request"
}
