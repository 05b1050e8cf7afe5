package execclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/durward/durward/execserver/protocol"
)

// closeTimeout is how long closing a file may take whose own context has ended.
const closeTimeout = 5 * time.Second

// A handle is a file that is open on the server. It ends with its connection: what was
// opened there cannot be had again for certain.
type handle struct {
	ctx  context.Context // of the opening; io.Reader and io.Writer have no other
	link *link
	id   string
	at   uint64 // offset of the next block
}

// openHandle opens a file on whatever connection there is.
func (f Files) openHandle(ctx context.Context, path string, mode protocol.OpenMode) (*handle, error) {
	p := protocol.OpenParams{HandleID: f.c.newID(), Path: path, Mode: mode, Sandbox: f.sandbox}
	for {
		l, err := f.c.current(ctx)
		if err != nil {
			return nil, err
		}
		h := &handle{ctx: ctx, link: l, id: p.HandleID}
		_, err = callOn[protocol.OpenResult](ctx, l, protocol.FSOpen, p)
		if errors.Is(err, errUnsent) {
			<-l.ended // the next one is another
			continue
		}
		if err != nil {
			return nil, err
		}
		return h, nil
	}
}

// interrupted says of a handle's call what became of it, as the caller can neither be
// told that it was not sent nor make it again.
func interrupted(err error) error {
	if errors.Is(err, errUnsent) {
		return ErrInterrupted
	}
	return err
}

func (h *handle) close() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), closeTimeout)
	defer cancel()
	_, err := callOn[protocol.Empty](ctx, h.link, protocol.FSClose, protocol.CloseParams{HandleID: h.id})
	if h.link.isOver() {
		return nil // the server closed it with the connection
	}
	return interrupted(err)
}

// Open opens a file for reading, by blocks of up to 1 MiB. The ctx is for the reading,
// too. When the connection is lost, reading ends with [ErrInterrupted]. From a server
// that cannot read by blocks, the file comes whole.
func (f Files) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	if len(f.sandbox) > 0 && !f.c.Capabilities().SandboxedFileStreaming {
		return f.openWhole(ctx, path)
	}
	h, err := f.openHandle(ctx, path, protocol.OpenRead)
	if hasCode(err, protocol.MethodNotFound) {
		return f.openWhole(ctx, path)
	}
	if err != nil {
		return nil, err
	}
	return &fileReader{handle: h}, nil
}

func (f Files) openWhole(ctx context.Context, path string) (io.ReadCloser, error) {
	data, err := f.readWhole(ctx, path)
	return io.NopCloser(bytes.NewReader(data)), err
}

type fileReader struct {
	*handle
	block []byte // read, and not given out
	err   error  // what comes after block
}

func (r *fileReader) Read(p []byte) (int, error) {
	for len(r.block) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.fill()
	}
	n := copy(p, r.block)
	r.block = r.block[n:]
	return n, nil
}

func (r *fileReader) fill() {
	b, err := callOn[protocol.ReadBlockResult](r.ctx, r.link, protocol.FSReadBlock,
		protocol.ReadBlockParams{HandleID: r.id, Offset: r.at, Len: protocol.MaxBlock})
	switch {
	case err != nil:
		r.err = interrupted(err)
	case b.EOF:
		r.err = io.EOF
	case len(b.Chunk) == 0:
		r.err = io.ErrNoProgress
	}
	r.block = b.Chunk
	r.at += uint64(len(b.Chunk))
}

// Close closes the file.
func (r *fileReader) Close() error { return r.close() }

// Create makes or empties a file for writing, by blocks of up to 1 MiB. The ctx is for
// the writing, too. The file is whole only when Close has returned nil. It needs the
// capability fileWriteStreaming, and with a sandbox object sandboxedFileStreaming.
func (f Files) Create(ctx context.Context, path string) (io.WriteCloser, error) {
	can := f.c.Capabilities()
	if !can.FileWriteStreaming || len(f.sandbox) > 0 && !can.SandboxedFileStreaming {
		return nil, fmt.Errorf("writing a file by blocks: %w", errors.ErrUnsupported)
	}
	h, err := f.openHandle(ctx, path, protocol.OpenReplace)
	if err != nil {
		return nil, err
	}
	return &fileWriter{handle: h}, nil
}

type fileWriter struct {
	*handle
	block []byte // not sent yet
	err   error  // of the first block that failed
}

func (w *fileWriter) Write(p []byte) (n int, err error) {
	for n < len(p) && w.err == nil {
		room := min(protocol.MaxBlock-len(w.block), len(p)-n)
		w.block = append(w.block, p[n:n+room]...)
		n += room
		if len(w.block) == protocol.MaxBlock {
			w.flush()
		}
	}
	return n, w.err
}

func (w *fileWriter) flush() {
	if len(w.block) == 0 || w.err != nil {
		return
	}
	_, err := callOn[protocol.Empty](w.ctx, w.link, protocol.FSWriteBlock,
		protocol.WriteBlockParams{HandleID: w.id, Offset: w.at, Chunk: w.block})
	w.err = interrupted(err)
	w.at += uint64(len(w.block))
	w.block = w.block[:0]
}

// Close sends what is left and closes the file. It fails as the first write did.
func (w *fileWriter) Close() error {
	w.flush()
	if err := w.close(); w.err == nil {
		w.err = err
	}
	return w.err
}
