package domain

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/netguard"
)

func (r *reader) transport(n *config.Node, t *Transport) {
	r.Fields(n, config.Fields{
		"type":     func(n *config.Node) { r.Word(n, "http") },
		"base_url": r.checked(&t.BaseURL, baseURL),
		"endpoint": r.checked(&t.Endpoint, endpoint),
		"auth":     func(n *config.Node) { r.auth(n, t) },
	})
	r.need(n, "type", "base_url")
}

// baseURL gives the canonical form of a worker's URL. No error repeats any of it: there may be
// a secret in it.
func baseURL(text string) (string, error) {
	u, err := netguard.ParseURL(text)
	if err != nil {
		return "", bare(err)
	}
	switch {
	case !netguard.IsHTTP(u):
		return "", errors.New("the URL is neither of http nor of https")
	case u.User != nil:
		return "", errors.New("the URL holds a user name or password; name a variable in transport.auth")
	case strings.Contains(text, "?"):
		return "", errors.New("the URL holds a query")
	case strings.Contains(text, "#"):
		return "", errors.New("the URL holds a fragment")
	}
	target, err := netguard.TargetOf(u)
	if err != nil {
		return "", errors.New("the URL's host or port is malformed")
	}
	if addr, literal := target.Host.Addr(); literal {
		if err := netguard.JudgeService(addr); err != nil {
			return "", errors.New("the address is one of the link or of a metadata service, where no worker is")
		}
	}
	if err := checkPath(u.EscapedPath()); err != nil {
		return "", err
	}
	return u.Scheme + "://" + target.In(u.Scheme) + strings.TrimRight(u.EscapedPath(), "/"), nil
}

// endpoint checks the path at which a worker takes calls.
func endpoint(text string) (string, error) {
	odd := func(c rune) bool { return c <= ' ' || c == 0x7f || c == '\\' }
	switch {
	case !strings.HasPrefix(text, "/"):
		return "", errors.New("the path does not begin with /")
	case strings.ContainsFunc(text, odd):
		return "", errors.New("the path holds a space, a backslash or a control character")
	case strings.Contains(text, "?"):
		return "", errors.New("the path holds a query")
	case strings.Contains(text, "#"):
		return "", errors.New("the path holds a fragment")
	}
	return text, checkPath(text)
}

// checkPath refuses a path that leads elsewhere than it seems to.
func checkPath(escaped string) error {
	path, err := url.PathUnescape(escaped)
	if err != nil {
		return errors.New("the path has a % that is no escape")
	}
	if slices.Contains(strings.FieldsFunc(path, func(c rune) bool { return c == '/' || c == '\\' }), "..") {
		return errors.New("the path has a .. in it")
	}
	return nil
}

// auth takes the name of the variable that holds a secret. What is written in its place is not
// repeated: it may be the secret itself.
func (r *reader) auth(n *config.Node, t *Transport) {
	r.Fields(n, config.Fields{
		"type": func(n *config.Node) { r.Word(n, "bearer") },
		"env": func(n *config.Node) {
			if n.Kind != config.String || !variableForm().MatchString(n.Text) {
				r.wrong(n, "must be the name of a variable, such as WORKER_TOKEN, and not a secret")
				return
			}
			t.TokenEnv = n.Text
		},
	})
	r.need(n, "type", "env")
}

var variableForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z_][A-Z0-9_]{0,127}$`) })

// bare gives the innermost cause of an error of ours: what was being done is not said.
func bare(err error) error {
	for e := durward.AsError(err); e != nil && e.Err != nil; e = durward.AsError(err) {
		err = e.Err
	}
	return err
}
