package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/durward/durward"
)

// statusPipe is the status of a program whose reader has gone.
const statusPipe = 128 + 13

// pipeClosed says that nobody takes our output any more.
var pipeClosed = signalled(13)

// signalled is the cause of a context that a signal ended.
type signalled int

func (s signalled) Error() string { return fmt.Sprintf("signal %d", int(s)) }

// signals are those that a person or a supervisor ends a program with. The first one
// ends the context; the second one closes second.
type signals struct {
	second chan struct{}
	stop   func()
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	first signalled // guarded by mu; zero until one came
}

// endings are the signals that end a program. A server takes the last one otherwise.
var endings = []os.Signal{os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP}

// catchSignals gives a context that one of the signals ends. The goroutine ends at stop.
func catchSignals(ctx context.Context, numbers ...os.Signal) (context.Context, *signals) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &signals{second: make(chan struct{}), cancel: cancel}
	caught, pipe := make(chan os.Signal, 4), make(chan os.Signal, 1)
	for _, number := range numbers {
		if !signal.Ignored(number) { // whoever started us by nohup wants us to stay
			signal.Notify(caught, number)
		}
	}
	signal.Notify(pipe, syscall.SIGPIPE) // a write to a closed pipe is an error and not the end
	quit, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		s.listen(caught, quit)
	}()
	s.stop = sync.OnceFunc(func() {
		signal.Stop(caught)
		signal.Stop(pipe)
		close(quit)
		<-gone
		cancel(nil)
	})
	return ctx, s
}

// await waits for a server to end, and closes what it served then. Each signal of again has that
// read anew. The second signal waits for nothing: what runs dies with this process.
func (s *signals) await(ended <-chan error, again <-chan os.Signal, reload func(), closing func() error) error {
	for {
		select {
		case <-again:
			reload()
		case err := <-ended:
			return errors.Join(err, closing())
		case <-s.second:
			return exitStatus(s.status())
		}
	}
}

func (s *signals) listen(caught <-chan os.Signal, quit <-chan struct{}) {
	for times := 0; ; {
		select {
		case got := <-caught:
			if number, ok := got.(syscall.Signal); ok {
				s.end(signalled(number))
			}
			if times++; times == 2 {
				close(s.second)
			}
		case <-quit:
			return
		}
	}
}

// end ends the context with a signal as its cause, unless one came before.
func (s *signals) end(number signalled) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == 0 {
		s.first = number
		s.cancel(number)
	}
}

// status is the exit status of a program that the first signal ended. Whoever embeds
// it and ends its context counts as one who interrupts.
func (s *signals) status() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == 0 {
		return 128 + int(syscall.SIGINT)
	}
	return 128 + int(s.first)
}

// unlessTwice waits for do to end. After a second signal it waits no longer than a
// moment: nobody may be taking our output. What do still waits for ends with the program.
func (s *signals) unlessTwice(do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-s.second:
	}
	moment := time.NewTimer(outputGrace)
	defer moment.Stop()
	select {
	case err := <-done:
		return err
	case <-moment.C:
		return exitStatus(s.status())
	}
}

// interruptible runs do, which starts no commands, under a context that a signal ends.
// That it was ended is the result, unless it had found the log damaged.
func interruptible(ctx context.Context, do func(context.Context) error) error {
	ctx, signals := catchSignals(ctx, endings...)
	defer signals.stop()
	err := signals.unlessTwice(func() error { return do(ctx) })
	if ctx.Err() != nil && durward.ReasonOf(err) != durward.AuditBroken {
		return exitStatus(signals.status())
	}
	return err
}
