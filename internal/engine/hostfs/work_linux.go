package hostfs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/fsroot"
)

// methods are how a request is prepared, by what there is to be done.
var methods = map[Work]func(*request, context.Context) (*work, error){
	ReadsFile:        (*request).readFile,
	WritesFile:       (*request).writeFile,
	CreatesDirectory: (*request).createDirectory,
	GetsMetadata:     (*request).getMetadata,
	ReadsDirectory:   (*request).readDirectory,
	Removes:          (*request).remove,
	Copies:           (*request).copy,
	Canonicalizes:    (*request).canonicalize,
	Walks:            (*request).walk,
	Opens:            (*request).open,
	ReadsBlock:       (*request).readBlock,
	WritesBlock:      (*request).writeBlock,
	Closes:           (*request).closeHandle,
}

func (r *request) prepare(ctx context.Context, does Work) (core.Prepared, error) {
	if does == WatchesMissing {
		return r.watchMissing(ctx)
	}
	method, ok := methods[does]
	if !ok {
		return nil, fmt.Errorf("there is no file operation %d", does)
	}
	w, err := method(r, ctx)
	if err != nil {
		return nil, err // and not a work that is nil
	}
	return w, nil
}

// begin finds out what holds the request.
func (r *request) begin(ctx context.Context, changes bool) error {
	access, err := r.engine.keeper.Under(r.grant)
	if err == nil {
		r.hold, err = access.Hold(ctx, r.op, changes)
	}
	return err
}

// A work is a request that is ready: places that were found, and what is to be done there.
type work struct {
	*request
	places []io.Closer
	do     func(context.Context, *work) (durward.Result, error)
}

// ready makes a work of a request.
func (r *request) ready(do func(context.Context, *work) (durward.Result, error), places ...io.Closer) *work {
	return &work{request: r, places: places, do: do}
}

// Run does it.
func (w *work) Run(ctx context.Context) (durward.Result, error) {
	if ctx.Err() != nil {
		return durward.Result{}, durward.Ended(ctx, w.op)
	}
	return w.do(ctx, w)
}

// Close gives up what is still held.
func (w *work) Close() error {
	closeAll(w.places)
	w.places = nil
	return nil
}

func closeAll(places []io.Closer) {
	for _, p := range places {
		p.Close()
	}
}

// look does f, which changes nothing, under the grant. When ctx ends first f is left to
// itself, with the places: then nothing that it sets may be looked at.
func (w *work) look(ctx context.Context, f func() error) error {
	_, err := opened(ctx, w, func() (none, error) { return none{}, f() })
	return err
}

// ask is look for f that asks no more than what was found answers anyway: no rule speaks of
// it, and no thread is needed.
func (w *work) ask(ctx context.Context, f func() error) error {
	places := w.places
	w.places = nil
	_, err := apart(ctx, w.op, func() (none, error) {
		defer closeAll(places)
		return none{}, f()
	})
	return err
}

// none is something that is not open.
type none struct{}

func (none) Close() error { return nil }

// opened is look for what f opens, which is closed where nobody waits for it any more.
func opened[T io.Closer](ctx context.Context, w *work, f func() (T, error)) (T, error) {
	answers, places := make(chan answer[T]), w.places
	done, err := w.hold.Start(ctx, func() error {
		defer closeAll(places)
		tell(ctx, answers, f)
		return nil
	})
	if err != nil {
		return *new(T), err
	}
	w.places = nil
	select {
	case a := <-answers:
		return a.got, a.err
	case err := <-done:
		if err != nil {
			return *new(T), err
		}
	case <-ctx.Done():
	}
	return *new(T), durward.Ended(ctx, w.op)
}

// An answer is what was opened, or why nothing was.
type answer[T io.Closer] struct {
	got T
	err error
}

// tell hands on what f opens while ctx goes on, and else closes it.
func tell[T io.Closer](ctx context.Context, answers chan<- answer[T], f func() (T, error)) {
	got, err := f()
	select {
	case answers <- answer[T]{got, err}:
	case <-ctx.Done():
		if err == nil {
			got.Close()
		}
	}
}

// result is the answer to a request that neither read nor wrote content.
func (r *request) result(answer []byte) durward.Result {
	report := r.hold.Report()
	return durward.Result{Output: json.RawMessage(answer), Report: &report}
}

// empty is the answer of a method that has nothing to say.
func (r *request) empty() durward.Result { return r.result([]byte("{}")) }

// apart does f beside its caller, who does not wait for a file system that does not answer
// when ctx ends. What f opens after that is closed.
func apart[T io.Closer](ctx context.Context, op string, f func() (T, error)) (T, error) {
	answers := make(chan answer[T])
	go tell(ctx, answers, f)
	select {
	case a := <-answers:
		return a.got, a.err
	case <-ctx.Done():
		return *new(T), durward.Ended(ctx, op)
	}
}

// failed gives an error the form in which it leaves the engine. It names the path as the
// client wrote it and never where that led. What is hidden from the client is told in no
// other way than what is not there; that it was refused shows by the kind alone, which is
// for the record.
func (r *request) failed(n named, err error) error {
	inner := durward.AsError(err)
	if err == nil || inner != nil && inner.Path == n.text {
		return err
	}
	e := &durward.Error{
		Reason: reasonFor(err), Op: r.op, Path: n.text, Err: fmt.Errorf("%q: %w", n.text, err),
		Retry: errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.EAGAIN),
	}
	switch {
	case inner == nil:
	case e.Reason == durward.FileNotFound:
		e.Kind, e.Err = durward.KindOf(err), fmt.Errorf("%q: %w", n.text, unix.ENOENT)
	default:
		e.Kind, e.Rule, e.Hint, e.Retry = durward.KindOf(err), inner.Rule, inner.Hint, inner.Retry
	}
	return e
}

func reasonFor(err error) durward.Reason {
	switch {
	case errors.Is(err, unix.EISDIR):
		return durward.IsDirectory
	case errors.Is(err, unix.ENOTEMPTY):
		return durward.DirectoryNotEmpty
	}
	return fsroot.ReasonFor(err)
}
