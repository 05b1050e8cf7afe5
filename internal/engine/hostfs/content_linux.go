package hostfs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
)

type pathInput struct {
	Path *string `json:"path"`
}

// readFile answers with all of a file.
func (r *request) readFile(ctx context.Context) (*work, error) {
	p, err := r.source(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.fits(p.named, p.stat.Size); err != nil {
		p.Close()
		return nil, err
	}
	return r.ready(func(ctx context.Context, w *work) (durward.Result, error) {
		file, err := w.openToRead(ctx, p)
		if err != nil {
			return durward.Result{}, err
		}
		t, err := apart(ctx, r.op, func() (*transcript, error) {
			defer file.Close()
			return r.transcribe(ctx, atOnce{file}, p)
		})
		if err != nil {
			return durward.Result{}, r.failed(p.named, err)
		}
		result := r.result(t.answer)
		result.Content = t.content()
		return result, nil
	}, p), nil
}

// source finds the file that is to be read.
func (r *request) source(ctx context.Context) (*place, error) {
	var in pathInput
	if err := r.read(&in); err != nil {
		return nil, err
	}
	n, err := r.name("path", in.Path)
	if err != nil {
		return nil, err
	}
	return r.sourceAt(ctx, n)
}

func (r *request) sourceAt(ctx context.Context, n named) (*place, error) {
	if err := r.begin(ctx, false); err != nil {
		return nil, err
	}
	p, err := r.find(ctx, n)
	if err != nil {
		return nil, err
	}
	if err := r.holdsContent(n, p.at, &p.stat); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// fits refuses a file of which an answer would be too large.
func (r *request) fits(n named, size int64) error {
	if size > MaxFileBytes {
		return r.refuse(durward.MaxFileBytes, n)
	}
	limit := r.grant.Limits.WithDefaults().Output
	if limit >= 0 && answerBytes(size) > limit {
		return &durward.Error{
			Reason: durward.OutputTooLarge, Op: r.op, Rule: "limits.output", Hint: "read it block by block", Path: n.text,
			Err: durward.Detail{Limit: limit, Err: fmt.Errorf("%q: the answer is larger than %d bytes", n.text, limit)},
		}
	}
	return nil
}

// openToRead opens a file that was found.
func (w *work) openToRead(ctx context.Context, p *place) (*os.File, error) {
	return opened(ctx, w, func() (*os.File, error) {
		fd, err := reopen(p.at, unix.O_RDONLY)
		if err != nil {
			return nil, w.failed(p.named, err)
		}
		return os.NewFile(uintptr(fd), p.text), nil
	})
}

const (
	before = `{"dataBase64":"`
	behind = `"}`
)

// answerBytes is how long the answer with so many bytes is.
func answerBytes(size int64) int64 {
	return int64(len(before)+len(behind)) + (size+2)/3*4
}

// A transcript is an answer with the content of a file.
type transcript struct {
	answer []byte
	bytes  int64
	sum    [sha256.Size]byte
}

// Close has nothing to give up.
func (*transcript) Close() error { return nil }

func (t *transcript) content() *durward.Content {
	return &durward.Content{Bytes: t.bytes, SHA256: hex.EncodeToString(t.sum[:])}
}

// transcribe reads a file to its end. What was read is encoded into the answer at once: a
// large file is in memory no more than once. Beside that the digest is made, which takes as
// long.
func (r *request) transcribe(ctx context.Context, file io.Reader, p *place) (*transcript, error) {
	const chunkBytes = 3 << 16 // nothing is left over of what is encoded
	t := &transcript{answer: append(make([]byte, 0, answerBytes(p.stat.Size)), before...)}
	size := int64(chunkBytes)
	if p.stat.Size > 0 { // else nobody knows: in /proc, no file has a size
		size = min(size, p.stat.Size/3*3+3)
	}
	chunk, hash := make([]byte, size), sha256.New()
	var beside sync.WaitGroup
	for {
		if ctx.Err() != nil {
			return nil, durward.Ended(ctx, r.op)
		}
		n, err := io.ReadFull(file, chunk)
		if t.bytes += int64(n); t.bytes > p.stat.Size {
			if err := r.fits(p.named, t.bytes); err != nil {
				return nil, err
			}
		}
		beside.Go(func() { hash.Write(chunk[:n]) })
		t.answer = jsonx.AppendBase64(t.answer, chunk[:n])
		beside.Wait()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	t.answer = append(t.answer, behind...)
	hash.Sum(t.sum[:0])
	return t, nil
}
