package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/smallfile"
)

const (
	// hubPatience is what a hub gets to answer a question that it knows the answer to.
	hubPatience = 5 * time.Second
	// hubStartPatience is what it gets to start a server.
	hubStartPatience = 60 * time.Second
	// hubAnswerBytes is as much as is read of an answer.
	hubAnswerBytes = 4 << 20
)

// A runningHub is one that may be asked.
type runningHub struct {
	url, token string
}

func (x *hubServing) urlFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("url", "", "ask the hub at `URL` (default: http://127.0.0.1 and PORT, 8002); it gets the token of GATEWAY_TOKEN_FILE")
}

// hubAt gives the hub at a URL, or the one that the settings lead to.
func (x *hubServing) hubAt(where string) (*runningHub, error) {
	s, err := x.settingsOf()
	if err != nil {
		return nil, err
	}
	h := &runningHub{url: strings.TrimRight(where, "/")}
	if where == "" {
		h.url = "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
	}
	if u, err := url.Parse(h.url); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, usageError("give it in full: http://127.0.0.1:8002", "--url: %q is no URL of HTTP", where)
	}
	if file := x.env[varGatewayToken]; file != "" {
		text, err := smallfile.Read(file, 4096, smallfile.OwnerOnly(file))
		if err != nil {
			return nil, &durward.Error{
				Reason: durward.ConfigInvalid, Op: "read the token", Hint: "set GATEWAY_TOKEN_FILE to the file of the hub, or unset it", Err: fmt.Errorf("%s: %w", file, err),
			}
		}
		h.token = strings.TrimSpace(string(text))
	}
	return h, nil
}

// ask sends a request without a body and decodes what is answered. Nobody's proxy sees it, and
// no redirect is followed.
func (h *runningHub) ask(ctx context.Context, patience time.Duration, method, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, h.url+path, nil)
	if err != nil {
		return err
	}
	if h.token != "" {
		request.Header.Set("Authorization", "Bearer "+h.token)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	answered, err := transport.RoundTrip(request)
	if err != nil {
		return h.fault(durward.Unhealthy, "start it: durward hub; or name where it is: --url URL", fmt.Errorf("no hub answers at %s: %w", h.url, bareNet(err)))
	}
	defer answered.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answered.Body, hubAnswerBytes))
	switch {
	case err != nil:
		return h.fault(durward.Unhealthy, "try it again", fmt.Errorf("the answer of %s broke off: %w", h.url, err))
	case answered.StatusCode == http.StatusUnauthorized:
		return h.fault(durward.Unauthenticated, "set GATEWAY_TOKEN_FILE to the file of the hub", fmt.Errorf("the hub at %s wants its token", h.url))
	case answered.StatusCode != http.StatusOK:
		var said struct{ Detail, Code string }
		if json.Unmarshal(text, &said) != nil || said.Code == "" {
			return h.fault(durward.Unhealthy, "name where the hub is: --url URL", fmt.Errorf("what answers at %s is no hub (%s)", h.url, answered.Status))
		}
		return h.fault(hubReason(answered.StatusCode, path), "see durward server list", fmt.Errorf("the hub at %s: %s", h.url, said.Detail))
	}
	if err := json.Unmarshal(text, into); err != nil {
		return h.fault(durward.Unhealthy, "name where the hub is: --url URL", fmt.Errorf("what answers at %s is no hub", h.url))
	}
	return nil
}

func hubReason(status int, path string) durward.Reason {
	if status == http.StatusNotFound && strings.HasPrefix(path, "/servers/") {
		return durward.ServerUnknown
	}
	return durward.Unhealthy
}

// nameServers says which servers a hub has that has none of that name. Any other error stays as it is.
func (h *runningHub) nameServers(ctx context.Context, name string, err error) error {
	if durward.ReasonOf(err) != durward.ServerUnknown {
		return err
	}
	fix := "see what it is configured with: durward server list"
	if health, failed := h.health(ctx); failed == nil && len(health.Servers) > 0 {
		fix = "use " + strings.Join(slices.Sorted(maps.Keys(health.Servers)), ", ")
	}
	return h.fault(durward.ServerUnknown, fix, fmt.Errorf("the hub at %s has no server %q", h.url, name))
}

func (*runningHub) fault(reason durward.Reason, hint string, err error) error {
	return &durward.Error{Reason: reason, Op: "ask the hub", Hint: hint, Err: err}
}

// bareNet gives the last of what went wrong on the way.
func bareNet(err error) error {
	if e := (*net.OpError)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// A hubHealth is what a hub says of its servers.
type hubHealth struct {
	Servers map[string]string `json:"servers"`
	Details map[string]struct {
		PID             int    `json:"pid"`
		Restarts        int    `json:"restarts"`
		LastError       string `json:"last_error"`
		Tools           int    `json:"tools"`
		ProtocolVersion string `json:"protocol_version"`
		Era             string `json:"era"`
	} `json:"details"`
}

func (h *runningHub) health(ctx context.Context) (*hubHealth, error) {
	said := &hubHealth{}
	err := h.ask(ctx, hubPatience, http.MethodGet, "/health", said)
	if err == nil && said.Servers == nil {
		err = h.fault(durward.Unhealthy, "name where the hub is: --url URL", fmt.Errorf("what answers at %s is no hub", h.url))
	}
	return said, err
}
