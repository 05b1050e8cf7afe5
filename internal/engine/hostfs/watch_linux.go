package hostfs

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

const (
	// maxWatched is how many paths one request may wait for.
	maxWatched = 1024
	// lookEvery is how long it takes until something is noticed. It is looked for, and not
	// listened for: what is missing has no directory that could be listened to.
	lookEvery = 500 * time.Millisecond
)

type watchInput struct {
	Missing []string `json:"missing"`
	Present *string  `json:"present"`
}

// watchMissing waits, as a session, until something stands at a path where nothing does, or
// what stands at another changes.
func (r *request) watchMissing(ctx context.Context) (core.Prepared, error) {
	var in watchInput
	if err := r.read(&in); err != nil {
		return nil, err
	}
	if in.Missing == nil {
		return nil, r.missing("missing")
	}
	if err := r.ranged("missing", uint64(len(in.Missing)), 0, maxWatched); err != nil {
		return nil, err
	}
	w := &watch{request: r}
	for _, text := range in.Missing {
		n, err := r.name("missing", &text)
		if err != nil {
			return nil, err
		}
		w.missing = append(w.missing, n)
	}
	if in.Present != nil {
		n, err := r.name("present", in.Present)
		if err != nil {
			return nil, err
		}
		w.present = &n
	}
	if err := r.begin(ctx, false); err != nil {
		return nil, err
	}
	return w, nil
}

// A watch is what a client waits for.
type watch struct {
	*request
	missing []named
	present *named
}

// Run refuses: it goes on for as long as it takes.
func (w *watch) Run(context.Context) (durward.Result, error) {
	return durward.Result{}, &durward.Error{Reason: durward.NotSupported, Op: w.op, Hint: "open it as a session"}
}

// Close has nothing to give up.
func (w *watch) Close() error { return nil }

// Open begins to wait. The session ends when there is something to be noticed, and has ended
// already if there is nothing to wait for: something stands at one of the paths, or nothing
// where something should.
func (w *watch) Open(ctx context.Context, _ durward.Events) (durward.Session, error) {
	ctx, cancel := context.WithCancel(ctx)
	first, waits, err := w.sees(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	s := &watching{cancel: cancel, ended: make(chan struct{})}
	if waits {
		go s.follow(ctx, w, first)
	} else {
		s.end(w, nil)
	}
	return s, nil
}

// A sight is what stands at a path, as far as a change of it shows.
type sight struct {
	dev, ino         uint64
	size             int64
	modified, status unix.Timespec
}

// sees looks at all paths, and reports whether there is still something to wait for. It sees
// what the client may.
func (w *watch) sees(ctx context.Context) (now sight, waits bool, err error) {
	if err := w.begin(ctx, false); err != nil {
		return sight{}, false, err
	}
	for _, n := range w.missing {
		if _, there, err := w.see(ctx, n); there || err != nil {
			return sight{}, false, err
		}
	}
	if w.present == nil {
		return sight{}, true, nil
	}
	return w.see(ctx, *w.present)
}

func (w *watch) see(ctx context.Context, n named) (sight, bool, error) {
	p, err := w.find(ctx, n)
	if ctx.Err() != nil {
		return sight{}, false, durward.Ended(ctx, w.op)
	}
	if err != nil {
		return sight{}, false, nil // for the client nothing is there
	}
	defer p.Close()
	st := &p.stat
	return sight{st.Dev, st.Ino, st.Size, st.Mtim, st.Ctim}, true, nil
}

// watching is a session that waits.
type watching struct {
	cancel context.CancelFunc
	ended  chan struct{} // closed when result and err are set
	result durward.Result
	err    error
}

// follow looks again and again. It ends with the session.
func (s *watching) follow(ctx context.Context, w *watch, first sight) {
	again := time.NewTicker(lookEvery)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			s.end(w, durward.Ended(ctx, w.op))
			return
		case <-again.C:
		}
		now, waits, err := w.sees(ctx)
		if err != nil || !waits || now != first {
			s.end(w, err)
			return
		}
	}
}

func (s *watching) end(w *watch, err error) {
	report := w.hold.Report()
	s.result, s.err = durward.Result{Output: []byte("{}"), Report: &report}, err
	s.cancel()
	close(s.ended)
}

var errNoCommand = errors.New("there is no command that reads or could be told anything")

func (*watching) refuse() error {
	return &durward.Error{Reason: durward.NotSupported, Op: "fs/watchMissing", Err: errNoCommand}
}

// Write refuses.
func (s *watching) Write(context.Context, []byte) (int, error) { return 0, s.refuse() }

// CloseInput refuses.
func (s *watching) CloseInput() error { return s.refuse() }

// Signal refuses.
func (s *watching) Signal(int) error { return s.refuse() }

// Resize refuses.
func (s *watching) Resize(durward.WindowSize) error { return s.refuse() }

// Read waits for the end: there are no chunks.
func (s *watching) Read(ctx context.Context, after uint64, _ int, wait time.Duration) (durward.Page, error) {
	select {
	case <-s.ended:
		return durward.Page{Next: after, Ended: true}, nil
	default:
	}
	late := time.NewTimer(wait)
	defer late.Stop()
	select {
	case <-s.ended:
		return durward.Page{Next: after, Ended: true}, nil
	case <-late.C:
		return durward.Page{Next: after}, nil
	case <-ctx.Done():
		return durward.Page{}, durward.Ended(ctx, "fs/watchMissing")
	}
}

// Cancel ends the wait.
func (s *watching) Cancel() { s.cancel() }

// Ack does nothing: there is no output.
func (s *watching) Ack(uint64) {}

// Kill ends the watch as Cancel does.
func (s *watching) Kill() { s.Cancel() }

// Wait blocks until there was something to be noticed, or the wait was cancelled.
func (s *watching) Wait(ctx context.Context) (durward.Result, error) {
	select {
	case <-s.ended:
		return s.result, s.err
	case <-ctx.Done():
		return durward.Result{}, durward.Ended(ctx, "fs/watchMissing")
	}
}

// Close cancels and waits for the end.
func (s *watching) Close() error {
	s.cancel()
	<-s.ended
	return nil
}
