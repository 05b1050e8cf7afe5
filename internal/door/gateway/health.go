package gateway

import (
	"net/http"
	"sync"

	"github.com/durward/durward/internal/telemetry"
)

// Shared is what the doors of one program have together, before and after a reload.
type Shared struct {
	Metrics *Metrics

	keys keys

	mu          sync.Mutex
	reloadError string // guarded by mu; empty when the last reload went well
}

// NewShared makes it.
func NewShared() *Shared { return &Shared{Metrics: newMetrics(telemetry.New())} }

// SetReloadError notes why the last reload kept the old domain; "" is that it did not.
func (s *Shared) SetReloadError(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reloadError = why
}

func (s *Shared) failedReload() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reloadError
}

// showHealth tells whether a domain is loaded. It asks no worker.
func (d *Door) showHealth(w http.ResponseWriter, _ *http.Request) error {
	if err := d.loaded(); err != nil {
		return err
	}
	write(w, http.StatusOK, append(text(struct {
		OK          bool   `json:"ok"`
		ReloadError string `json:"reload_error,omitempty"`
	}{true, d.Shared.failedReload()}), '\n'))
	return nil
}

// showReady asks every worker, all at once.
func (d *Door) showReady(w http.ResponseWriter, r *http.Request) error {
	if err := d.loaded(); err != nil {
		return err
	}
	answers := make([]Health, len(d.Domain.Tools))
	var asked sync.WaitGroup
	for i, t := range d.Domain.Tools {
		asked.Go(func() { answers[i] = d.Health(r.Context(), t) })
	}
	asked.Wait()
	status, tools := http.StatusOK, map[string]Health{}
	for i, t := range d.Domain.Tools {
		tools[string(t.ID)] = answers[i]
		if answers[i] != Up {
			status = http.StatusServiceUnavailable
		}
	}
	write(w, status, append(text(struct {
		OK    bool              `json:"ok"`
		Tools map[string]Health `json:"tools"`
	}{status == http.StatusOK, tools}), '\n'))
	return nil
}
