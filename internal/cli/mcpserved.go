package cli

import (
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/door/mcp"
	"github.com/durward/durward/internal/mcppolicy"
	"github.com/durward/durward/internal/safetext"
)

// A served is what clients of durward mcp are answered by: a house that can be exchanged
// for another one, with engines and a log that stay.
type served struct {
	serving *mcpServing
	logger  *slog.Logger
	log     *audit.Log // nil in a trial
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
	s := &served{serving: x, logger: logger, changed: make(chan struct{}, 1)}
	var err error
	if !x.trial {
		if s.log, err = x.openPolicyLog(policy, logger); err != nil {
			return nil, err
		}
	}
	s.engines = newMCPEngines(policy)
	if s.now, err = s.open(policy); err != nil {
		return nil, errors.Join(err, s.engines.close(), s.closeLog())
	}
	if err := s.record(audit.EventLoad, audit.Record{PolicyHash: policy.Hash}); err != nil {
		return nil, errors.Join(err, s.now.close(), s.engines.close(), s.closeLog())
	}
	return s, nil
}

func (s *served) open(policy *mcppolicy.Policy) (*occupied, error) {
	recorder := core.Recorder(noRecord{})
	if s.log != nil {
		recorder = s.log
		if err := logInReach(policy, s.log.File()); err != nil {
			return nil, err
		}
	}
	h, err := s.serving.openMCP(policy, s.serving.folder != "", s.engines, recorder)
	if err != nil {
		return nil, err
	}
	surface := surfaceOf(policy)
	surface.Dotted, surface.Folder, surface.Resources = s.serving.names == "dotted", s.serving.folder != "", s.serving.resources
	return &occupied{mcpHouse: h, surface: surface}, nil
}

// record puts on record what became of the policy's file.
func (s *served) record(kind string, r audit.Record) error {
	if s.log == nil {
		return nil
	}
	r.Door, r.Caller, r.Where = mcp.Name, s.serving.caller().Name, s.serving.source()
	return s.log.Event(kind, r)
}

// enter gives the house of this moment to one call, which keeps it to its end.
func (s *served) enter() (mcp.Surface, mcp.Runtime, func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.now
	h.guests.Add(1)
	return h.surface, h, h.guests.Done
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
	if err := s.record(audit.EventReload, audit.Record{PolicyHash: policy.Hash, FormerPolicyHash: former.Hash}); err != nil {
		s.logger.Error("the policy stays, for its change cannot be recorded", "error", err)
		s.retire(next)
		return
	}
	s.serving.noteWarnings(policy)
	s.mu.Lock()
	last := s.now
	s.now = next
	s.engines.slots.Resize(slotsOf(policy))
	s.mu.Unlock()
	s.retire(last)
	s.logger.Info("the policy was read anew", "hash", policy.Hash)
	if otherLogging(policy, former) {
		s.logger.Warn("what the policy says of logging is another now, and counts from the next start")
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// otherLogging reports whether two policies want the log to be kept in different ways.
func otherLogging(a, b *mcppolicy.Policy) bool {
	one, other := a.Document.Logging, b.Document.Logging
	redacted := func(l mcppolicy.LoggingEntry) (words []string) {
		for _, t := range l.Redact.Value {
			words = append(words, t.Value)
		}
		return words
	}
	return a.LogFile != b.LogFile || one.Level.Value != other.Level.Value || one.MaxBytes.Value != other.MaxBytes.Value ||
		one.Keep.Value != other.Keep.Value || !slices.Equal(redacted(one), redacted(other))
}

// stay says that a new policy is not taken.
func (s *served) stay(policy *mcppolicy.Policy, why error) {
	for _, line := range details(why) {
		s.logger.Error("the policy stays as it was", "mistake", safetext.Line(line))
	}
	refused := audit.Record{PolicyHash: policy.Hash, Decision: "deny", Code: durward.ReasonOf(why)}
	if err := s.record(audit.EventReload, refused); err != nil {
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
	return errors.Join(s.engines.close(), s.closeLog())
}

func (s *served) closeLog() error {
	if s.log == nil {
		return nil
	}
	return s.log.Close()
}
