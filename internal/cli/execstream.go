package cli

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/durward/durward"
)

const (
	// pageBytes is how much output is taken from a session at once.
	pageBytes = 64 << 10
	// pageWait is how long one look for output takes; nothing depends on it.
	pageWait = 10 * time.Second
	sigkill  = 9
	// outputGrace is what the output of a command that had to be ended gets to reach
	// somebody who does not take it.
	outputGrace = time.Second
)

// runStream runs the command as a session and passes its streams on as they come.
func (x *execution) runStream(ctx context.Context, signals *signals, h *house) error {
	x.call.Terminal = x.wantedTerminal()
	if x.call.Terminal != nil {
		x.stdout.ends = &lineEnds{to: x.stdout.rest}
	}
	if x.call.Terminal != nil && x.stdout.terminal && isTerminal(x.stdin) {
		x.stdout.exact = true // a command that has our terminal drives it
	}
	h.gate.refusal = inputError(directoryError(x.stdin))
	session, err := h.Open(ctx, x.call, nil)
	if err != nil {
		return x.concludeStream(h, signals, durward.Result{}, errors.Join(err, h.close()))
	}
	err = signals.unlessTwice(func() error {
		x.sayWhatIsWeak()
		return nil
	})
	if err != nil {
		_ = session.Signal(sigkill) // it may be gone
		return errors.Join(err, session.Close(), h.close())
	}
	restore, err := x.takeTerminal()
	if err != nil {
		return errors.Join(err, session.Close(), h.close())
	}
	defer restore()
	stopResize := x.followSize(session)
	go x.forward(session)
	x.passOn(ctx, session, signals)
	result, err := session.Wait(context.WithoutCancel(ctx))
	stopResize()
	restore() // before anything is printed
	err = errors.Join(err, x.dropStreamed(h, result))
	return x.concludeStream(h, signals, result, errors.Join(err, session.Close(), h.close()))
}

// directoryError is the error that reading a directory gives.
func directoryError(stream any) error {
	f, ok := stream.(*os.File)
	if !ok || f == nil {
		return nil
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return errors.New("it is a directory")
	}
	return nil
}

// wantedTerminal gives the size of the terminal that the command is to have, or nil. It
// is to be asked for: a command that has one says what a terminal obeys.
func (x *execution) wantedTerminal() *durward.WindowSize {
	if !x.tty {
		return nil
	}
	if size, ok := terminalSize(x.stdout.to); ok {
		return &size
	}
	return &durward.WindowSize{Rows: 24, Cols: 80}
}

// takeTerminal has our terminal pass every key on, where it and the command's are one.
// restore may be called twice.
func (x *execution) takeTerminal() (restore func(), err error) {
	if x.call.Terminal == nil || !isTerminal(x.stdin) {
		return func() {}, nil
	}
	return makeRaw(x.stdin)
}

// forward passes standard input on. A read cannot be ended from outside: the goroutine
// ends with its stream, with the command's input, or with the program.
func (x *execution) forward(session durward.Session) {
	defer func() { _ = session.CloseInput() }() // the command may be gone
	if x.stdin == nil {
		return
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := x.stdin.Read(buf)
		if n > 0 {
			if _, err := session.Write(context.Background(), buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// passOn copies the output until it ends, however slowly it is taken. When nobody
// takes it any more, or signals come twice, the command is ended; and a command that
// had to be ended does not wait for its output to be taken.
func (x *execution) passOn(ctx context.Context, session durward.Session, signals *signals) {
	ctx = context.WithoutCancel(ctx)
	done, cut := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		if err := x.copyOutput(ctx, session); err != nil {
			signals.end(pipeClosed)
			session.Cancel()
		}
	}()
	go func() { // ends with the session
		if _, err := session.Wait(ctx); err != nil {
			close(cut)
		}
	}()
	select {
	case <-done:
		return
	case <-signals.second:
		_ = session.Signal(sigkill) // it may be gone
		return
	case <-cut:
	}
	grace := time.NewTimer(outputGrace)
	defer grace.Stop()
	select {
	case <-done:
	case <-signals.second:
	case <-grace.C:
	}
}

func (x *execution) copyOutput(ctx context.Context, session durward.Session) error {
	for cursor := uint64(0); ; {
		page, err := session.Read(ctx, cursor, pageBytes, pageWait)
		if err != nil {
			return err
		}
		for _, chunk := range page.Chunks {
			if err := x.outputOf(chunk.Stream).pass(chunk.Data); err != nil {
				return err
			}
		}
		if cursor = page.Next; page.Ended {
			return errors.Join(x.stdout.flush(), x.stderr.flush())
		}
	}
}

func (x *execution) outputOf(s durward.Stream) *outlet {
	if s == durward.Stderr {
		return x.stderr
	}
	return x.stdout
}

func (x *execution) concludeStream(h *house, signals *signals, result durward.Result, err error) error {
	return signals.unlessTwice(func() error { return x.conclude(h, result, err, x.status(signals, result, err)) })
}
