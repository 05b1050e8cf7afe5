package fetch

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard"
)

// parseURL reads an absolute URL, and gives it with the host in its canonical form and
// without a fragment.
//
// A text that is no such URL has reason BadCall; one that leads where nobody may go, or
// whose host different programs read differently, has HostDenied.
func parseURL(text string) (*url.URL, netguard.Target, error) {
	u, err := netguard.ParseURL(text)
	if err != nil {
		return nil, netguard.Target{}, badCall(err)
	}
	if err := judgeURL(u); err != nil {
		return nil, netguard.Target{}, err
	}
	t, err := netguard.TargetOf(u)
	switch {
	case durward.ReasonOf(err) == durward.BadHost:
		return nil, netguard.Target{}, denied(err)
	case err != nil:
		return nil, netguard.Target{}, badCall(err)
	}
	u.Host = t.In(u.Scheme)
	u.Fragment, u.RawFragment = "", ""
	return u, t, nil
}

func judgeURL(u *url.URL) error {
	switch {
	case !netguard.IsHTTP(u):
		return denied(fmt.Errorf("the scheme %q is not http or https", u.Scheme))
	case u.User != nil:
		return denied(errors.New("the URL holds a user name"))
	}
	return nil
}

func denied(err error) error {
	return &durward.Error{Reason: durward.HostDenied, Op: "curl", Rule: "url", Hint: "use a plain http or https URL of a public host", Err: err}
}
