package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/door/mcp"
	"github.com/durward/durward/internal/mcppolicy"
	"github.com/durward/durward/internal/safetext"
)

// A served is what clients of durward mcp are answered by: a house that can be exchanged
// for another one, with engines and a log that stay.
type served struct {
	serving *mcpServing
	logger  *slog.Logger
	log     *audit.Log
	engines mcpEngines
	changed chan struct{} // has an element when the surface may be another one

	mu      sync.Mutex
	now     *occupied // guarded by mu
	retired sync.WaitGroup
}

// An occupied house cannot be closed while somebody is in it.
type occupied struct {
	*mcpHouse
	surface mcp.Surface
	guests  sync.WaitGroup
}

// openServed opens the log of a policy and serves under it.
func (x *mcpServing) openServed(policy *mcppolicy.Policy, logger *slog.Logger) (*served, error) {
	log, err := x.openPolicyLog(policy, logger)
	if err != nil {
		return nil, err
	}
	s := &served{serving: x, logger: logger, log: log, engines: newMCPEngines(), changed: make(chan struct{}, 1)}
	if err = s.record("policy.load", audit.Record{PolicyHash: policy.Hash}); err == nil {
		s.now, err = s.open(policy)
	}
	if err != nil {
		return nil, errors.Join(err, s.engines.close(), log.Close())
	}
	return s, nil
}

func (s *served) open(policy *mcppolicy.Policy) (*occupied, error) {
	h, err := s.serving.openMCP(policy, s.serving.folder != "", s.engines, s.log)
	if err != nil {
		return nil, err
	}
	surface := surfaceOf(policy)
	surface.Dotted, surface.Folder, surface.Resources = s.serving.names == "dotted", s.serving.folder != "", s.serving.resources
	return &occupied{mcpHouse: h, surface: surface}, nil
}

// record puts on record what became of the policy's file.
func (s *served) record(kind string, r audit.Record) error {
	r.Door, r.Caller, r.Where = mcp.Name, s.serving.caller().Name, s.serving.source()
	return s.log.Event(kind, r)
}

// Do runs a call under the policy of this moment, to its end.
func (s *served) Do(ctx context.Context, c durward.Call) (durward.Result, error) {
	h := s.enter()
	defer h.guests.Done()
	return h.Do(ctx, c)
}

// Refuse records under the policy of this moment that a call is not taken on.
func (s *served) Refuse(c durward.Call, why error) error {
	h := s.enter()
	defer h.guests.Done()
	return h.Refuse(c, why)
}

func (s *served) enter() *occupied {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.guests.Add(1)
	return s.now
}

func (s *served) surface() mcp.Surface {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.surface
}

// follow reads the policy anew at each signal. What it gives ends that.
func (s *served) follow(again <-chan os.Signal) (stop func()) {
	quit, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			select {
			case <-quit:
				return
			case <-again:
				s.reload()
			}
		}
	}()
	return func() {
		close(quit)
		<-gone
	}
}

// reload exchanges the policy for the one that is in the file now. Whatever fails, the
// former one stays.
func (s *served) reload() {
	policy, err := s.serving.load()
	var next *occupied
	if err == nil {
		next, err = s.open(policy)
	}
	former := s.now.policy // nobody else changes it
	if err != nil {
		s.stay(former, err)
		return
	}
	if err := s.record("policy.reload", audit.Record{PolicyHash: policy.Hash, FormerPolicyHash: former.Hash}); err != nil {
		s.logger.Error("the policy stays, for its change cannot be recorded", "error", err)
		s.retire(next)
		return
	}
	s.serving.noteWarnings(policy)
	s.mu.Lock()
	last := s.now
	s.now = next
	s.mu.Unlock()
	s.retire(last)
	s.logger.Info("the policy was read anew", "hash", policy.Hash)
	if policy.LogFile != former.LogFile {
		s.logger.Warn("another logging.file counts from the next start", "file", policy.LogFile)
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// stay says that a new policy is not taken.
func (s *served) stay(policy *mcppolicy.Policy, why error) {
	for _, line := range details(why) {
		s.logger.Error("the policy stays as it was", "mistake", safetext.Line(line))
	}
	refused := audit.Record{PolicyHash: policy.Hash, Decision: "deny", Code: durward.ReasonOf(why)}
	if err := s.record("policy.reload", refused); err != nil {
		s.logger.Error("the refusal of a policy cannot be recorded", "error", err)
	}
}

// retire closes a house when everybody has left it.
func (s *served) retire(h *occupied) {
	s.retired.Go(func() {
		h.guests.Wait()
		if err := h.close(); err != nil {
			s.logger.Error("a policy that is used no more cannot be freed", "error", err)
		}
	})
}

// close waits for the calls in flight and frees everything.
func (s *served) close() error {
	s.retire(s.now)
	s.retired.Wait()
	s.serving.idle = true
	return errors.Join(s.engines.close(), s.log.Close())
}
