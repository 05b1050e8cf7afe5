package release

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
)

// ProjectURL is where the project gives out its releases.
const ProjectURL = "https://github.com/durward/durward/releases/download"

const (
	// answerTime bounds the wait for the beginning of an answer.
	answerTime = 30 * time.Second
	// fetchTime bounds the wait for one whole file.
	fetchTime    = 15 * time.Minute
	maxRedirects = 10
)

// errPlain says that a server sends elsewhere by an address without TLS.
var errPlain = errors.New("the server sends to an address that is not https")

// A Server gives out one release or several below an address. Its methods may be called
// concurrently.
type Server struct {
	base   *url.URL
	client *http.Client
}

// ServerOptions say how a server is reached. The zero value reaches it without a proxy.
type ServerOptions struct {
	// Roots are the authorities to believe. Nil are those of the system.
	Roots *x509.CertPool
	// Proxy chooses the proxy for a request. Nil is none.
	Proxy func(*http.Request) (*url.URL, error)
}

// NewServer takes an https address.
func NewServer(address string, o ServerOptions) (*Server, error) {
	base, err := url.Parse(address)
	if err != nil || base.Scheme != "https" || base.Host == "" || base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("%q is no https address of a folder", address)
	}
	transport := &http.Transport{
		Proxy: o.Proxy, TLSClientConfig: &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
		ResponseHeaderTimeout: answerTime, TLSHandshakeTimeout: answerTime,
		DisableCompression: true, // an archive is to stay what it is
		DisableKeepAlives:  true, // nothing is left to close
	}
	return &Server{base, &http.Client{Transport: transport, CheckRedirect: staySecret}}, nil
}

func staySecret(next *http.Request, before []*http.Request) error {
	if next.URL.Scheme != "https" {
		return errPlain
	}
	if len(before) >= maxRedirects {
		return fmt.Errorf("the server sends on more than %d times", maxRedirects)
	}
	return nil
}

// Newest asks which release is the newest of the channel, unless the address is that of one.
func (s *Server) Newest(ctx context.Context, c Channel, system System) (*Release, error) {
	if v, ok := folderVersion(path.Base(s.base.Path)); ok {
		return s.release(s.base, v, c, system), nil
	}
	text, err := s.get(ctx, s.base.JoinPath(string(c), "VERSION"), maxPointer)
	if errors.Is(err, fs.ErrNotExist) {
		return s.release(s.base, "", c, system), nil
	}
	unknown := &Release{Where: s.base.Redacted()}
	if err != nil {
		return nil, unknown.unread(string(c)+"/VERSION", err)
	}
	v, err := ParseVersion(strings.TrimSpace(string(text)))
	if err == nil && !c.has(v) {
		err = fmt.Errorf("%s does not belong to it", v)
	}
	if err != nil {
		return nil, unknown.unverified(fmt.Errorf("%s/VERSION: %w", c, err))
	}
	return s.release(s.base.JoinPath("v"+string(v)), v, c, system), nil
}

func (s *Server) release(folder *url.URL, wanted Version, c Channel, system System) *Release {
	return &Release{
		Wanted: wanted, Where: folder.Redacted(), channel: c, system: system,
		read: func(ctx context.Context, name string, most int64) ([]byte, error) {
			return s.get(ctx, folder.JoinPath(name), most)
		},
	}
}

// get fetches a file whole.
func (s *Server) get(ctx context.Context, file *url.URL, most int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, file.String(), nil)
	if err != nil {
		return nil, err
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode == http.StatusNotFound || answer.StatusCode == http.StatusGone:
		return nil, fs.ErrNotExist
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the server answers %q", answer.Status)
	case answer.ContentLength > most:
		return nil, errTooLarge
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, most+1))
	if err == nil && int64(len(text)) > most {
		err = errTooLarge
	}
	return text, err
}

// isUntrusted reports whether somebody else than the server that was named may have
// answered.
func isUntrusted(err error) bool {
	certificate := (*tls.CertificateVerificationError)(nil)
	return errors.Is(err, errPlain) || errors.As(err, &certificate)
}
