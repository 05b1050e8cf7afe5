package hostfs

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
)

// A handle is a file that is open for a client. It is read or it is written.
type handle struct {
	named
	file   *os.File
	writes bool
	limit  int64 // of its size; negative means none
	report durward.Report
}

// handles are those that are open. Their numbers count from 1, and none is given again.
type handles struct {
	mu     sync.Mutex
	last   uint64             // guarded by mu
	open   map[uint64]*handle // guarded by mu
	closed bool               // guarded by mu
}

// add gives a handle its number.
func (t *handles) add(h *handle) (uint64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return 0, &durward.Error{Reason: durward.ShuttingDown, Op: "fs/open"}
	case len(t.open) == MaxHandles:
		return 0, &durward.Error{
			Reason: durward.QueueFull, Op: "fs/open", Hint: "close handles that are done with", Retry: true,
			Err: fmt.Errorf("%d files are open by handles", MaxHandles),
		}
	case t.open == nil:
		t.open = make(map[uint64]*handle)
	}
	t.last++
	t.open[t.last] = h
	return t.last, nil
}

func (t *handles) find(number uint64) *handle {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open[number]
}

// take gives a handle that nobody finds any more.
func (t *handles) take(number uint64) *handle {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.open[number]
	delete(t.open, number)
	return h
}

// close closes all, and lets none be added.
func (t *handles) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	var errs []error
	for number, h := range t.open {
		errs = append(errs, h.file.Close())
		delete(t.open, number)
	}
	return errors.Join(errs...)
}

type openInput struct {
	Path *string `json:"path"`
	Mode *string `json:"mode"`
}

// open opens a file for blocks to be read or written.
func (r *request) open(ctx context.Context) (*work, error) {
	var in openInput
	if err := r.read(&in); err != nil {
		return nil, err
	}
	n, err := r.name("path", in.Path)
	if err != nil {
		return nil, err
	}
	switch {
	case in.Mode == nil || *in.Mode == "read":
		return r.openRead(ctx, n)
	case *in.Mode == "replace":
		return r.openReplace(ctx, n)
	}
	return nil, &durward.Error{Reason: durward.WrongType, Op: r.op, Hint: `"read" or "replace"`, Err: errors.New(`"mode" is neither`)}
}

func (r *request) openRead(ctx context.Context, n named) (*work, error) {
	p, err := r.sourceAt(ctx, n)
	if err != nil {
		return nil, err
	}
	return r.ready(func(ctx context.Context, w *work) (durward.Result, error) {
		file, err := w.openToRead(ctx, p)
		if err != nil {
			return durward.Result{}, err
		}
		return r.handled(&handle{named: n, file: file})
	}, p), nil
}

func (r *request) openReplace(ctx context.Context, n named) (*work, error) {
	p, err := r.target(ctx, n)
	if durward.ReasonOf(err) == durward.IsDirectory {
		return nil, r.refuse(durward.NotRegularFile, n)
	}
	if err != nil {
		return nil, err
	}
	return r.ready(func(ctx context.Context, w *work) (durward.Result, error) {
		var file *os.File
		err := r.hold.Do(ctx, func() error {
			f, err := r.create(ctx, p)
			if err == nil {
				file = f.keep(n)
			}
			return err
		})
		if err != nil {
			return durward.Result{}, err
		}
		return r.handled(&handle{named: n, file: file, writes: true, limit: r.grant.Limits.WithDefaults().FileSize})
	}, p), nil
}

// keep gives the file, which stays whatever comes.
func (f *written) keep(n named) *os.File {
	if f.dir != nothing {
		unix.Close(f.dir)
	}
	return os.NewFile(uintptr(f.fd), n.text)
}

// handled answers with the number of a handle.
func (r *request) handled(h *handle) (durward.Result, error) {
	h.report = r.hold.Report()
	number, err := r.engine.handles.add(h)
	if err != nil {
		h.file.Close()
		return durward.Result{}, err
	}
	return r.result(append(strconv.AppendUint([]byte(`{"handle":`), number, 10), '}')), nil
}

type blockInput struct {
	Handle *uint64 `json:"handle"`
	Offset *uint64 `json:"offset"`
	Len    *uint64 `json:"len"`
}

// block reads the input of a request that is about a handle.
func (r *request) block() (in blockInput, err error) {
	if err = r.read(&in); err == nil && in.Handle == nil {
		err = r.missing("handle")
	}
	return in, err
}

// handle finds a handle for one of the two uses.
func (r *request) handle(number uint64, writes bool) (*handle, error) {
	h := r.engine.handles.find(number)
	switch {
	case h == nil:
		return nil, &durward.Error{Reason: durward.HandleUnknown, Op: r.op, Hint: "open the file first"}
	case h.writes != writes:
		return nil, r.refuse(durward.HandleOtherWay, h.named)
	}
	return h, nil
}

// readBlock answers with some bytes of a file. Behind its end there are none.
func (r *request) readBlock(context.Context) (*work, error) {
	in, err := r.block()
	switch {
	case err != nil:
		return nil, err
	case in.Offset == nil:
		return nil, r.missing("offset")
	case in.Len == nil:
		return nil, r.missing("len")
	}
	if err := r.ranged("len", *in.Len, 1, MaxBlockBytes); err != nil {
		return nil, err
	}
	h, err := r.handle(*in.Handle, false)
	if err != nil {
		return nil, err
	}
	return r.ready(func(ctx context.Context, w *work) (durward.Result, error) {
		t, err := apart(ctx, r.op, func() (*transcript, error) { return h.read(*in.Offset, *in.Len) })
		if err != nil {
			return durward.Result{}, r.failed(h.named, err)
		}
		return durward.Result{Output: t.answer, Content: t.content(), Report: &h.report}, nil
	}), nil
}

func (h *handle) read(offset, size uint64) (*transcript, error) {
	const most = 1<<63 - 1
	var block []byte
	eof := offset > most-size
	if !eof {
		block = make([]byte, size)
		n, err := h.file.ReadAt(block, int64(offset))
		if eof = errors.Is(err, io.EOF); err != nil && !eof {
			return nil, err
		}
		block = block[:n]
		if !eof {
			eof = h.endsAt(int64(offset) + int64(n))
		}
	}
	t := &transcript{bytes: int64(len(block))}
	var beside sync.WaitGroup
	beside.Go(func() { t.sum = sha256.Sum256(block) })
	const others = 32
	t.answer = append(make([]byte, 0, base64.StdEncoding.EncodedLen(len(block))+others), `{"chunk":"`...)
	t.answer = jsonx.AppendBase64(t.answer, block)
	beside.Wait()
	t.answer = append(strconv.AppendBool(append(t.answer, `","eof":`...), eof), '}')
	return t, nil
}

// endsAt reports whether there is nothing in the file from there on.
func (h *handle) endsAt(offset int64) bool {
	n, err := h.file.ReadAt(make([]byte, 1), offset)
	return n == 0 && errors.Is(err, io.EOF)
}

// writeBlock writes some bytes of a file. What lies between its end and them is zeros.
func (r *request) writeBlock(context.Context) (*work, error) {
	in, err := r.block()
	switch {
	case err != nil:
		return nil, err
	case in.Offset == nil:
		return nil, r.missing("offset")
	}
	h, err := r.handle(*in.Handle, true)
	if err != nil {
		return nil, err
	}
	content := r.call.Stdin
	const most = 1<<63 - 1
	if err := r.ranged("offset", *in.Offset, 0, most-uint64(len(content))); err != nil {
		return nil, err
	}
	if h.limit >= 0 && *in.Offset+uint64(len(content)) > uint64(h.limit) {
		return nil, r.refuse(durward.MaxFileBytes, h.named)
	}
	return r.ready(func(context.Context, *work) (durward.Result, error) {
		if _, err := h.file.WriteAt(content, int64(*in.Offset)); err != nil {
			return durward.Result{}, r.failed(h.named, err)
		}
		return durward.Result{Output: []byte("{}"), Report: &h.report, Content: contentOf(content)}, nil
	}), nil
}

// closeHandle closes a file. One that nobody knows is as good as closed.
func (r *request) closeHandle(context.Context) (*work, error) {
	in, err := r.block()
	if err != nil {
		return nil, err
	}
	return r.ready(func(context.Context, *work) (durward.Result, error) {
		answer := durward.Result{Output: []byte("{}")}
		h := r.engine.handles.take(*in.Handle)
		if h == nil {
			return answer, nil
		}
		answer.Report = &h.report
		return answer, r.failed(h.named, h.file.Close())
	}), nil
}
