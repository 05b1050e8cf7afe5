package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/credential"
	"github.com/durward/durward/internal/fileuri"
	"github.com/durward/durward/internal/hubconfig"
)

// soon is when to come back to a server that is being started.
const soon = time.Second

// The states of a server.
const (
	Running = "running"
	Stopped = "stopped"
)

// A Status is how a server is.
type Status struct {
	Name  string
	State string // Running or Stopped
	// PID is that of its process, and zero while it is stopped. Since is when the state began.
	PID   int
	Since time.Time
	// Restarts counts the starts behind the first one that went well.
	Restarts int
	// LastError says how the last run ended, or why the last start failed: the exit code or
	// signal, and the last line of its errors. Empty where there was none.
	LastError string
	Tools     int
	// ProtocolVersion is the revision that was agreed on, and Era "modern", "legacy" or "bare";
	// both are empty before the first start.
	ProtocolVersion, Era string
	// RetryAfter is when the next start is due, if there is to be one by itself. Zero: there is
	// not, or the server runs.
	RetryAfter time.Duration
	// Report says what the server's sandbox holds; nil where it has none, or is stopped.
	Report *durward.Report
}

// A server is one entry of the configuration with its processes, one at a time.
type server struct {
	engine  *Engine
	config  hubconfig.Server
	secrets credential.Secrets // that nobody is to be told
	log     *slog.Logger       // redacts
	slots   slots
	stderr  tail
	ids     atomic.Int64

	era string // of the last start that went well, for the next one; live's own

	wishes chan chan error // for a restart; each gets the error of the start
	tried  chan struct{}   // closed when the first start has come to something

	mu       sync.Mutex
	process  *run      // guarded by mu; nil while the server is stopped
	since    time.Time // guarded by mu
	next     time.Time // guarded by mu; when the next start is due; zero for never
	starts   int       // guarded by mu; that went well
	lastly   string    // guarded by mu; how the last run ended
	offer    offer     // guarded by mu; what was last known
	greeting greeting  // guarded by mu; of the last start that went well

	subscribed map[string]bool // guarded by mu; the resources that somebody wants to hear of
}

func newServer(e *Engine, config hubconfig.Server) *server {
	secrets := secretsOf(config, e.options.Environ)
	return &server{
		engine: e, config: config, secrets: secrets, log: slog.New(redactedLog{e.options.Logger.Handler(), secrets}).With("server", config.Name), slots: slots{free: max(config.Concurrency, 1)},
		wishes: make(chan chan error), tried: make(chan struct{}), since: e.options.clock.now(), subscribed: make(map[string]bool),
	}
}

// Servers tells of all servers, in the order of the configuration.
func (e *Engine) Servers() []Status {
	list := make([]Status, 0, len(e.order))
	for _, name := range e.order {
		list = append(list, e.servers[name].status())
	}
	return list
}

// Tools gives the tools of a server, as they were last known; they stay known while it is
// stopped. They are the caller's to keep and not to change.
func (e *Engine) Tools(name string) []Tool {
	return e.offer(name).tools
}

// Resources gives the resources of a server, Templates its templates of resources, and Prompts
// its prompts, on the terms of Tools. Where [Options.Expose] does not name them there are none.
func (e *Engine) Resources(name string) []Item { return e.offer(name).items[resources] }

// Templates gives the templates of resources of a server.
func (e *Engine) Templates(name string) []Item { return e.offer(name).items[templates] }

// Prompts gives the prompts of a server.
func (e *Engine) Prompts(name string) []Item { return e.offer(name).items[prompts] }

func (e *Engine) offer(name string) offer {
	s := e.servers[name]
	if s == nil {
		return offer{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.offer
}

// Stderr gives the last 64 KiB of what a server printed to its standard error, over all its
// starts, redacted.
func (e *Engine) Stderr(name string) []byte {
	if s := e.servers[name]; s != nil {
		return s.stderr.all(s)
	}
	return nil
}

// rooted reports whether paths of this machine mean anything to the server.
func (s *server) rooted() bool { return s.config.Remote == nil }

func (e *Engine) roots() json.RawMessage {
	text, _ := json.Marshal(map[string]any{"roots": []map[string]string{{"uri": fileuri.Format(e.options.SandboxDir), "name": "sandbox"}}})
	return text // strings are never refused
}

func (s *server) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := Status{
		Name: s.config.Name, State: Stopped, Since: s.since, Restarts: max(s.starts-1, 0), LastError: s.lastly, Tools: len(s.offer.tools),
		ProtocolVersion: s.greeting.version, Era: s.greeting.era, RetryAfter: s.retryAfter(),
	}
	if s.process != nil {
		status.State, status.PID = Running, s.process.body.pid()
		status.Report = s.process.body.report()
	}
	return status
}

// retryAfter needs mu.
func (s *server) retryAfter() time.Duration {
	if s.process != nil || s.next.IsZero() {
		return 0
	}
	return max(s.next.Sub(s.engine.options.clock.now()), soon)
}

// current gives the process that calls go to.
func (s *server) current() (*run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return nil, stopped(s.config.Name, s.retryAfter())
	}
	return s.process, nil
}

// leave has no more calls go to a process.
func (s *server) leave(p *run) {
	s.mu.Lock()
	was := s.process == p
	if was {
		s.process, s.since = nil, s.engine.options.clock.now()
		if s.config.Restart.Policy != "never" {
			s.next = s.since // as far as is known
		}
	}
	s.mu.Unlock()
	if was {
		s.engine.options.Changed(s.config.Name)
	}
}

// live starts the server, and starts it again, until the engine is closed.
func (s *server) live() {
	pace := newPace(s.config.Restart)
	var wish chan error // of who waits for the next start
	for s.engine.keep.Err() == nil {
		if wish != nil {
			pace.forget()
		}
		s.due(0, true)
		p, err := s.start(s.engine.keep)
		err = s.redactedError(err)
		var wait time.Duration
		var again bool
		if err != nil {
			wait, again = s.unstarted(pace, err)
			grant(wish, err)
			wish = s.rest(wait, again)
			continue
		}
		if wait, again, wish = s.serve(p, pace, wish); wish == nil {
			wish = s.rest(wait, again)
		}
	}
}

// grant tells whoever waits for a start what came of it; a nil wish is nobody's.
func grant(wish chan error, err error) {
	if wish != nil {
		wish <- err
	}
}

// unstarted is for a start that failed.
func (s *server) unstarted(pace *pace, err error) (wait time.Duration, again bool) {
	defer s.tellTried()
	if s.engine.keep.Err() != nil {
		return 0, false
	}
	s.note(err)
	wait, again = pace.unstarted()
	again = again && s.cannot() == nil // nothing that we do mends the configuration
	s.due(wait, again)
	return wait, again
}

// serve has calls go to a process until it ends, is to be started anew, or the engine closes.
// Who wished for it hears of it once calls find it, and not before.
func (s *server) serve(p *run, pace *pace, granted chan error) (wait time.Duration, again bool, wish chan error) {
	began := s.engine.options.clock.now()
	s.employ(p)
	s.tellTried()
	grant(granted, nil)
	select {
	case wish = <-s.wishes:
		s.leave(p)
		p.stop()
		s.tellStopped(errWished)
		return 0, true, wish
	case <-s.engine.keep.Done():
		p.stop()
		return 0, false, nil
	case <-p.ended:
	}
	s.note(p.err)
	if errors.Is(p.err, errHung) {
		wait, again = 0, true // we ended it so that it is there for others
	} else {
		wait, again = pace.ended(s.engine.options.clock.now().Sub(began), p.clean)
	}
	s.due(wait, again)
	return wait, again, nil
}

// rest waits until the server is due again, and gives the wish that ended the wait before.
func (s *server) rest(wait time.Duration, again bool) (wish chan error) {
	var timer <-chan time.Time
	switch {
	case again && wait <= 0:
		return nil
	case again:
		var stop func()
		timer, stop = s.engine.options.clock.timer(wait)
		defer stop()
	}
	select {
	case <-timer:
	case wish = <-s.wishes:
	case <-s.engine.keep.Done():
	}
	return wish
}

// due notes when the next start comes, if there is to be one.
func (s *server) due(wait time.Duration, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next = (time.Time{}); again {
		s.next = s.engine.options.clock.now().Add(wait)
	}
}

// note keeps why the server does not run.
func (s *server) note(err error) {
	s.mu.Lock()
	s.lastly = s.redacted(err.Error())
	s.mu.Unlock()
	s.tellStopped(err)
}

// errWished is no error that would be worth keeping.
var errWished = errors.New("it was stopped to be started again, as was asked")

func (s *server) tellStopped(why error) { s.log.Warn("server_stopped", "error", why) }

// tellTried lets go of who waits for the first start.
func (s *server) tellTried() {
	if !isClosed(s.tried) {
		close(s.tried)
	}
}

// employ has calls go to a process.
func (s *server) employ(p *run) {
	s.mu.Lock()
	if !p.isOver() { // or leave has come before
		s.process, s.since = p, s.engine.options.clock.now()
	}
	s.starts++
	s.offer, s.greeting, s.next = p.offer, p.greeting, time.Time{}
	s.mu.Unlock()
	s.log.Info("server_running", "pid", p.body.pid(), "era", p.greeting.era, "protocol", p.greeting.version, "tools", len(p.offer.tools))
	s.engine.options.Changed(s.config.Name)
	p.later(p.followChanges)
}

// cannot says why no start would help.
func (s *server) cannot() error {
	switch {
	case s.config.Broken != "":
		return errors.New(s.config.Broken)
	case s.config.Remote != nil && s.config.Remote.Type == "sse":
		return errors.New("it is of type sse, the transport of HTTP with server-sent events that newer revisions have given up, which is not offered: see whether it has one of type http")
	}
	return nil
}

// start starts a process and learns what it offers. Nothing is left of one that does not come
// so far.
func (s *server) start(ctx context.Context) (*run, error) {
	if err := s.cannot(); err != nil {
		return nil, err
	}
	p, err := s.attempt(ctx, s.era)
	if errors.Is(err, errUnfit) && s.era == "" && ctx.Err() == nil {
		p, err = s.attempt(ctx, legacy)
	}
	s.era = ""
	if err == nil {
		s.era = p.greeting.era
	}
	return p, err
}

// attempt starts a process and speaks to it as to one of an era; an empty one is to be found out.
func (s *server) attempt(ctx context.Context, era string) (*run, error) {
	p, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	if p.greeting, err = p.greet(ctx, era); err == nil {
		err = p.listAll(ctx)
	}
	if err == nil {
		return p, nil
	}
	if !errors.Is(err, errGone) {
		p.end(err)
		<-p.ended
		return nil, err
	}
	p.breakOff()
	<-p.ended
	if s.config.Remote != nil {
		return nil, p.err
	}
	return nil, fmt.Errorf("%w: %w", err, p.err)
}
