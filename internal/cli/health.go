package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
)

const (
	healthTimeout = 5 * time.Second
	// healthBytes is as much as is read of an answer.
	healthBytes = 64 << 10
)

// healthData is the answer of a service that is well.
type healthData struct {
	URL    string `json:"url"`
	Status int    `json:"status"`
	TookMs int64  `json:"took_ms"`
}

func (p *program) healthCommand() *cobra.Command {
	return &cobra.Command{
		Use: "health URL", Short: "ask a service whether it is well", Args: exactly(1),
		Long: `Gets the URL, without a proxy and without following redirects. Exits with 0 when the answer is a 200 that
came within five seconds, with 8 otherwise. A container image without a shell and curl has its health checked by this.`,
		Example: "  durward health http://127.0.0.1:8000/healthz\n  durward health --json http://127.0.0.1:8080/healthz",
		RunE: func(cmd *cobra.Command, args []string) error {
			return interruptible(cmd.Context(), func(ctx context.Context) error { return p.health(ctx, args[0]) })
		},
	}
}

func (p *program) health(ctx context.Context, where string) error {
	if u, err := url.Parse(where); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return usageError("give it in full: http://127.0.0.1:8000/healthz", "%q is no URL of HTTP", where)
	}
	began := time.Now()
	status, err := askHealth(ctx, where)
	if err != nil {
		return &durward.Error{Reason: durward.Unhealthy, Op: "health", Hint: "see the log of the service", Err: err}
	}
	if !p.json {
		return nil
	}
	return p.print(healthData{where, status, time.Since(began).Milliseconds()})
}

// askHealth asks once. An answer that is no 200 is an error with what it says.
func askHealth(ctx context.Context, where string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return 0, err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	answered, err := transport.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	defer answered.Body.Close()
	said, err := io.ReadAll(io.LimitReader(answered.Body, healthBytes))
	if answered.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: %s", answered.Status, strings.TrimSpace(string(said)))
	}
	if err != nil {
		return 0, errors.Join(errors.New("the answer broke off"), err)
	}
	return answered.StatusCode, nil
}
