// Package file carries out three tools: one reads a file, one writes one, one lists a
// directory. Their input and output are JSON objects.
//
//	read    {"path":"notes/a.txt","offset":0,"length":100,"encoding":"utf8"}
//	        {"data":"…","bytesRead":100,"sha256":"…"}
//	write   {"path":"notes/b.txt","data":"…","encoding":"base64","create":true,"overwrite":false}
//	        {"bytesWritten":3,"sha256":"…"}
//	list    {"path":"notes"}
//	        {"entries":[{"name":"a.txt","type":"file"}],"truncated":false}
//
// Of read only path is needed, of write path and data; what else is shown for write, and
// the offset and encoding of read, are the defaults. Offset and length count bytes. The
// numbers and digests of an output are those of the bytes in the file.
//
// Text is UTF-8 and is neither cleaned nor converted. A character that the end of the
// window cuts is left out, unless the file ends there.
package file

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/fsroot"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/pathguard"
	"github.com/durward/durward/internal/sandbox/confined"
)

// DefaultMaxReadBytes is how far into a file may be read where a tool does not say.
const DefaultMaxReadBytes = 5_000_000

// A Spec is what a tool of this engine holds.
type Spec struct {
	// Guard finds the files.
	Guard *pathguard.Guard
	// Does is what the tool does.
	Does Work
	// Whole makes the input simpler: of read it is the path alone, of write the path and
	// "content", and a file that is there is replaced.
	Whole bool
	// MaxReadBytes is the end of every window: no byte behind it is read. Zero means
	// DefaultMaxReadBytes.
	MaxReadBytes int64
}

// Work is what a tool does.
type Work int

// The tools. The zero value reads.
const (
	Reads Work = iota
	Writes
	Lists
)

// An Engine reads, writes and lists files. It is safe for concurrent use.
type Engine struct{ keeper *confined.Keeper }

// New gives an engine whose work is confined by the keeper, which stays its owner's to close.
func New(keeper *confined.Keeper) *Engine { return &Engine{keeper} }

// Enforces lists what holds the work with a file: the path sets of the grant by the kernel,
// whatever level it names, and its limits. For the network and for variables it has no use.
func (e *Engine) Enforces() []durward.GrantField {
	return []durward.GrantField{durward.FieldLevel, durward.FieldFiles, durward.FieldNetwork, durward.FieldEnv, durward.FieldLimits}
}

// Prepare reads the input, and opens what is to be read or listed or judges what is to be
// written.
func (e *Engine) Prepare(ctx context.Context, t durward.Tool, c durward.Call, g durward.Grant) (core.Prepared, error) {
	spec, ok := t.Spec.(Spec)
	if !ok {
		return nil, fmt.Errorf("tool %q neither reads nor writes files", t.ID)
	}
	switch spec.Does {
	case Writes:
		return e.prepareWrite(ctx, spec, c, g)
	case Lists:
		return e.prepareList(ctx, spec, c, g)
	}
	return e.prepareRead(ctx, spec, c, g)
}

// result is an answer about these bytes of a file, whose digest is sum.
func result(answer json.RawMessage, content []byte, sum string, report durward.Report) durward.Result {
	return durward.Result{
		Output:  answer,
		Content: &durward.Content{Bytes: int64(len(content)), SHA256: sum},
		Report:  &report,
	}
}

// appendCounted ends an answer by how many bytes it is about, and their digest.
func appendCounted(answer []byte, member string, count int, sum string) json.RawMessage {
	answer = strconv.AppendInt(append(answer, member...), int64(count), 10)
	return append(jsonx.AppendString(append(answer, `,"sha256":`...), sum), '}')
}

// apart does f beside its caller, who does not wait for a file system that does not answer
// when ctx ends. An error of f names the path.
func apart[T any](ctx context.Context, op, path string, f func() (T, error)) (T, error) {
	type answer struct {
		got T
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		got, err := f()
		answers <- answer{got, err}
	}()
	select {
	case a := <-answers:
		switch {
		case a.err == nil:
			return a.got, nil
		case ctx.Err() != nil:
			return a.got, durward.Ended(ctx, op)
		}
		return a.got, &durward.Error{Reason: fsroot.ReasonFor(a.err), Op: op, Path: path, Err: fmt.Errorf("%q: %w", path, a.err)}
	case <-ctx.Done():
		return *new(T), durward.Ended(ctx, op)
	}
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
