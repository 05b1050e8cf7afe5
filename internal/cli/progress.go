package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/durward/durward/internal/safetext"
)

const (
	// patience is how long work may take before a terminal shows that it goes on.
	patience = 2 * time.Second
	// lineEvery is how often that is said where there is no terminal.
	lineEvery = 10 * time.Second
	// eraseLine goes back to the beginning of the line and empties it.
	eraseLine = "\r\x1b[K"
)

// A progress says on standard error that work goes on. All methods may be called on
// nil, which says nothing, and concurrently.
type progress struct {
	what  string
	to    *outlet
	inOne bool // on one line, which is written again and again
	began time.Time
	stop  chan struct{}
	gone  chan struct{} // closed when nothing more is said

	mu    sync.Mutex
	shown bool // guarded by mu; a line of ours stands on the terminal
	over  bool // guarded by mu
}

// working begins to say it, unless nobody wants to hear. The caller ends it by done.
func (p *program) working(what string) *progress {
	if p.quiet || p.json {
		return nil
	}
	w := &progress{
		what: safetext.Line(what), to: p.stderr, inOne: p.stderr.terminal && p.env["TERM"] != "dumb",
		began: time.Now(), stop: make(chan struct{}), gone: make(chan struct{}),
	}
	go w.run()
	return w
}

func (w *progress) run() {
	defer close(w.gone)
	wait, every := lineEvery, lineEvery
	if w.inOne {
		wait, every = patience, time.Second
	}
	for timer := time.NewTimer(wait); ; timer.Reset(every) {
		select {
		case <-w.stop:
			timer.Stop()
			return
		case <-timer.C:
			w.say()
		}
	}
}

func (w *progress) say() {
	w.mu.Lock()
	defer w.mu.Unlock()
	line := fmt.Sprintf("durward: %s, %s", w.what, time.Since(w.began).Round(time.Second))
	if !w.inOne {
		fmt.Fprintln(w.to, line)
		return
	}
	w.shown = true
	fmt.Fprint(w.to, eraseLine+line)
}

// clear takes the line off the terminal; it comes again.
func (w *progress) clear() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shown {
		w.shown = false
		fmt.Fprint(w.to, eraseLine)
	}
}

// done ends it for good and waits for that. It may be called twice.
func (w *progress) done() {
	if w == nil {
		return
	}
	w.mu.Lock()
	over := w.over
	w.over = true
	w.mu.Unlock()
	if !over {
		close(w.stop)
	}
	<-w.gone
	w.clear()
}

// before gives a writer that clears the line before each write.
func (w *progress) before(to io.Writer) io.Writer {
	if w == nil {
		return to
	}
	return writerOf(func(text []byte) (int, error) {
		w.clear()
		return to.Write(text)
	})
}
