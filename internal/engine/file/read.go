package file

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/fsroot"
	"github.com/durward/durward/internal/jsonx"
)

const opRead = "file.read"

// A reading is a file that is open to be read.
type reading struct {
	file     *fsroot.File
	path     string // as the caller wrote it
	window   window
	encoding encoding
	hint     string // how else to ask for what is no text; empty where there is no other way
	limit    int64  // of the output; negative means none
	report   durward.Report
}

func (e *Engine) prepareRead(ctx context.Context, spec Spec, c durward.Call, g durward.Grant) (core.Prepared, error) {
	r := &reading{encoding: utf8Text, hint: `read it with the encoding "base64"`, limit: g.Limits.WithDefaults().Output}
	offset, length := int64(0), int64(math.MaxInt64)
	fields := []field{
		{"path", true, text(&r.path)},
		{"offset", false, count(&offset, durward.BadOffset)},
		{"length", false, count(&length, durward.BadLength)},
		{"encoding", false, named(&r.encoding)},
	}
	if spec.Whole {
		fields, r.hint = fields[:1], ""
	}
	if err := decode(opRead, c.Input, fields); err != nil {
		return nil, err
	}
	access, err := e.keeper.Under(g)
	if err != nil {
		return nil, err
	}
	r.report = access.Report()
	if r.file, err = spec.Guard.Explaining(c.Explain).OpenFile(ctx, access, r.path); err != nil {
		return nil, err
	}
	reach := spec.MaxReadBytes
	if reach == 0 {
		reach = DefaultMaxReadBytes
	}
	r.window = windowOf(offset, length, reach, r.file.Info.Size)
	if spec.Whole && !r.window.last() {
		r.limit = reach
		return nil, errors.Join(r.tooLarge(), r.Close())
	}
	return r, nil
}

// Close closes the file.
func (r *reading) Close() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}

// Run reads. When ctx ends first, a file system that does not answer is left to itself.
func (r *reading) Run(ctx context.Context) (durward.Result, error) {
	if ctx.Err() != nil {
		return durward.Result{}, durward.Ended(ctx, opRead)
	}
	if r.limit >= 0 && r.window.size() > r.limit {
		return durward.Result{}, r.tooLarge()
	}
	if content, ok := r.window.ready(r.file); ok {
		return r.result(content)
	}
	file := r.file.OS()
	content, err := apart(ctx, opRead, r.path, func() ([]byte, error) { return r.window.read(ctx, file) })
	if err != nil {
		return durward.Result{}, err
	}
	return r.result(content)
}

func (r *reading) tooLarge() error {
	return &durward.Error{
		Reason: durward.OutputTooLarge, Op: opRead, Rule: "limits.output", Hint: "ask for a smaller length", Path: r.path,
		Err: durward.Detail{Limit: r.limit, Err: fmt.Errorf("%q: the answer is larger than %d bytes", r.path, r.limit)},
	}
}

// result is the answer with these bytes of the file.
func (r *reading) result(content []byte) (durward.Result, error) {
	if r.encoding == utf8Text {
		if !r.window.last() {
			content = wholeRunes(content)
		}
		if !utf8.Valid(content) {
			return durward.Result{}, &durward.Error{
				Reason: durward.NotUTF8, Op: opRead, Path: r.path, Hint: r.hint,
				Err: fmt.Errorf("%q: %s", r.path, durward.NotUTF8.Summary()),
			}
		}
	}
	data := content
	if r.encoding == base64ed {
		data = base64.StdEncoding.AppendEncode(nil, content)
	}
	sum := digest(content)
	answer := answerOf(data, len(content), sum)
	if r.limit >= 0 && int64(len(answer)) > r.limit {
		return durward.Result{}, r.tooLarge()
	}
	return result(answer, content, sum, r.report), nil
}

// answerOf is the output of read. Every read waits for it, and so it is written without
// looking at types.
func answerOf(data []byte, bytesRead int, sum string) json.RawMessage {
	const others = 128
	answer := make([]byte, 0, len(data)+len(data)/16+others)
	answer = jsonx.AppendString(append(answer, `{"data":`...), data)
	return appendCounted(answer, `,"bytesRead":`, bytesRead, sum)
}

// wholeRunes leaves out the beginning of a character at the end.
func wholeRunes(content []byte) []byte {
	for i := len(content) - 1; i >= max(0, len(content)-utf8.UTFMax+1); i-- {
		if utf8.RuneStart(content[i]) {
			if !utf8.FullRune(content[i:]) {
				return content[:i]
			}
			return content
		}
	}
	return content
}

// A window is the bytes of a file from one to before another.
type window struct{ from, to, fileSize int64 }

// windowOf cuts what is asked for at the reach and at the end of the file.
func windowOf(offset, length, reach, fileSize int64) window {
	end := offset + length
	if end < offset { // it overflows
		end = math.MaxInt64
	}
	end = min(end, reach, fileSize)
	return window{from: min(offset, end), to: end, fileSize: fileSize}
}

func (w window) size() int64 { return w.to - w.from }

// last reports whether the window ends where the file does.
func (w window) last() bool { return w.to >= w.fileSize }

const chunkBytes = 256 << 10

// ready gives a window of one chunk of which nothing has to be waited for.
func (w window) ready(file *fsroot.File) ([]byte, bool) {
	if w.size() > chunkBytes {
		return nil, false
	}
	content := make([]byte, w.size())
	return content, file.ReadReady(content, w.from)
}

// read fills the window, or as much of it as the file has. It looks at ctx between chunks.
func (w window) read(ctx context.Context, file io.ReaderAt) ([]byte, error) {
	content := make([]byte, w.size())
	for done := 0; done < len(content); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := file.ReadAt(content[done:min(done+chunkBytes, len(content))], w.from+int64(done))
		done += n
		if errors.Is(err, io.EOF) {
			return content[:done], nil
		}
		if err != nil {
			return nil, err
		}
	}
	return content, nil
}
