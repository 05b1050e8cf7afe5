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
	// beside is set where results go to the same place.
	beside bool
	began  time.Time
	stop   chan struct{}
	gone   chan struct{} // closed when nothing more is said

	mu    sync.Mutex
	shown bool // guarded by mu; a line of ours stands on the terminal
	begun bool // guarded by mu; a line of the result stands there, and its end has not come
	over  bool // guarded by mu
}

// working begins to say it, unless nobody wants to hear. The caller ends it by done.
func (p *program) working(what string) *progress {
	if p.quiet || p.json {
		return nil
	}
	w := &progress{
		what: safetext.Line(what), to: p.stderr, inOne: p.stderr.terminal && p.env["TERM"] != "dumb",
		beside: p.stdout.terminal && p.stderr.terminal || p.stdout.unfinished == p.stderr.unfinished,
		began:  time.Now(), stop: make(chan struct{}), gone: make(chan struct{}),
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
	if w.begun {
		return // whoever sees half a line knows that there is more to come
	}
	line := fmt.Sprintf("durward: %s, %s", w.what, time.Since(w.began).Round(time.Second))
	if !w.inOne {
		fmt.Fprintln(w.to, line)
		return
	}
	w.shown = true
	fmt.Fprint(w.to, eraseLine+line)
}

// aside takes the line off the terminal and lets do write there. It comes again later.
func (w *progress) aside(do func()) {
	if w == nil {
		do()
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shown {
		w.shown = false
		fmt.Fprint(w.to, eraseLine)
	}
	do()
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
	w.aside(func() {})
}

// before gives a writer of results: they stand on lines of their own, which no progress
// comes into.
func (w *progress) before(to io.Writer) io.Writer {
	if w == nil {
		return to
	}
	return writerOf(func(text []byte) (n int, err error) {
		w.aside(func() {
			n, err = to.Write(text)
			if len(text) > 0 {
				w.begun = w.beside && text[len(text)-1] != '\n'
			}
		})
		return n, err
	})
}
