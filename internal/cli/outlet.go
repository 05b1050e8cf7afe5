package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/droplog"
	"github.com/durward/durward/internal/safetext"
)

// An outlet is standard output or standard error, shared by a command and ourselves:
// what we write begins on a line of its own.
type outlet struct {
	to       io.Writer
	terminal bool
	// unfinished is set while a line of the command stands open; outlets that lead to
	// one place share it.
	unfinished *atomic.Bool
	// exact is set where output goes on byte for byte.
	exact bool
	// ends stands before rest where a terminal ended the lines of the command, or is nil.
	ends *lineEnds
	// rest is the beginning of a character whose end has not come.
	rest *safetext.Writer
	// aside is set where what we have to say is no result: its loss is no failure.
	aside  bool
	failed atomic.Pointer[error]
	// kept is what to is since nobody waits for it any more, or nil.
	kept *droplog.Writer
}

// outlets makes the two of a program.
func outlets(stdout, stderr io.Writer) (out, err *outlet) {
	out, err = newOutlet(stdout), newOutlet(stderr)
	err.aside = true
	if sameFile(stdout, stderr) {
		err.unfinished = out.unfinished
	}
	return out, err
}

func newOutlet(to io.Writer) *outlet {
	o := &outlet{to: to, terminal: isTerminal(to), unfinished: new(atomic.Bool)}
	o.rest = &safetext.Writer{To: writerOf(o.put), Safe: safetext.Output}
	return o
}

func sameFile(a, b io.Writer) bool {
	f, ok := a.(*os.File)
	g, too := b.(*os.File)
	if !ok || !too {
		return false
	}
	one, err := f.Stat()
	other, err2 := g.Stat()
	return err == nil && err2 == nil && os.SameFile(one, other)
}

// maxUnheard bounds what an outlet keeps that nobody waits for, in bytes.
const maxUnheard = 256 << 10

// unhurry has nobody wait any more for who reads the outlet. Nothing may be written
// meanwhile. finish comes last.
func (o *outlet) unhurry() {
	o.kept = droplog.New(o.to, maxUnheard, func(dropped int) string {
		return fmt.Sprintf("durward: warning: %d messages were dropped here: nobody took them\n", dropped)
	})
	o.to = o.kept
}

// finish gives who reads an outlet a moment for what is kept.
func (o *outlet) finish() {
	if o.kept != nil {
		o.kept.Close(outputGrace)
	}
}

// Write writes what we have to say.
func (o *outlet) Write(text []byte) (int, error) {
	begin := 0
	if len(text) > 0 && o.unfinished.Load() && o.unfinished.Swap(false) {
		text = append([]byte("\n"), text...)
		begin = 1
	}
	n, err := o.to.Write(text)
	if !o.aside {
		o.fail(err)
	}
	return max(0, n-begin), err
}

// pass writes what a command said. Unless it is to be exact, nobody obeys any of it.
func (o *outlet) pass(output []byte) error {
	if o.exact {
		_, err := o.put(output)
		return err
	}
	if o.ends != nil {
		return o.ends.write(output)
	}
	_, err := o.rest.Write(output)
	return err
}

// show is pass for all the output there is.
func (o *outlet) show(output []byte) error {
	return errors.Join(o.pass(output), o.flush())
}

// flush ends the output.
func (o *outlet) flush() error {
	if o.ends != nil {
		return errors.Join(o.ends.flush(), o.rest.Flush())
	}
	return o.rest.Flush()
}

// put writes to where the outlet leads.
func (o *outlet) put(output []byte) (int, error) {
	if len(output) == 0 {
		return 0, nil
	}
	n, err := o.to.Write(output)
	o.unfinished.Store(output[len(output)-1] != '\n')
	return n, o.fail(err)
}

// A lineEnds takes the carriage returns away that a terminal put before line ends. Others
// stay.
type lineEnds struct {
	to   io.Writer
	held int // carriage returns that wait for what follows
}

func (l *lineEnds) write(output []byte) error {
	if l.held == 0 && bytes.IndexByte(output, '\r') < 0 {
		_, err := l.to.Write(output)
		return err
	}
	var text []byte
	for _, b := range output {
		switch {
		case b == '\r':
			l.held++
			continue
		case b != '\n':
			text = append(text, bytes.Repeat([]byte("\r"), l.held)...)
		}
		l.held = 0
		text = append(text, b)
	}
	_, err := l.to.Write(text)
	return err
}

func (l *lineEnds) flush() error {
	_, err := l.to.Write(bytes.Repeat([]byte("\r"), l.held))
	l.held = 0
	return err
}

// A writerOf is a function that writes.
type writerOf func([]byte) (int, error)

func (f writerOf) Write(b []byte) (int, error) { return f(b) }

// fail remembers the first error.
func (o *outlet) fail(err error) error {
	if err != nil {
		o.failed.CompareAndSwap(nil, &err)
	}
	return err
}

// failure is the first error of a write, or nil.
func (o *outlet) failure() error {
	if err := o.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// isPipeError reports whether a write failed because its reader has gone.
func isPipeError(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}

// undeliveredStatus is the exit status of a program whose output got lost.
func undeliveredStatus(err error) int {
	if isPipeError(err) {
		return statusPipe
	}
	return 1
}

// undelivered says that output got lost.
func undelivered(err error, fix string) error {
	reason := durward.FileIO
	if errors.Is(err, syscall.ENOSPC) {
		reason = durward.NoSpace
	}
	return &durward.Error{Reason: reason, Op: "print", Hint: fix, Err: err}
}
