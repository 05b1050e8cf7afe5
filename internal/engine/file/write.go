package file

import (
	"context"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/pathguard"
	"github.com/durward/durward/internal/sandbox/confined"
)

const opWrite = "file.write"

// A writing is content for a file that may be written.
type writing struct {
	guard   *pathguard.Guard
	access  *confined.Access
	path    string // as the caller wrote it
	content []byte
	how     pathguard.WriteOptions
}

func (e *Engine) prepareWrite(ctx context.Context, spec Spec, c durward.Call, g durward.Grant) (core.Prepared, error) {
	w, err := readWriting(spec, c)
	if err != nil {
		return nil, err
	}
	if w.access, err = e.keeper.Under(g); err != nil {
		return nil, err
	}
	w.guard = spec.Guard.Explaining(c.Explain)
	w.how.AllowHardLink = !g.Mode.Confines()
	if err := w.guard.JudgeWrite(ctx, w.access, w.path, int64(len(w.content)), w.how); err != nil {
		return nil, err
	}
	return w, nil
}

// readWriting reads the input of write.
func readWriting(spec Spec, c durward.Call) (*writing, error) {
	w := &writing{}
	data, how, create := "", utf8Text, true
	fields := []field{
		{"path", true, text(&w.path)},
		{"data", true, text(&data)},
		{"encoding", false, named(&how)},
		{"create", false, truth(&create)},
		{"overwrite", false, truth(&w.how.Overwrite)},
	}
	if spec.Whole {
		fields, w.how.Overwrite = fields[:2], true
		fields[1].name = "content"
	}
	err := decode(opWrite, c.Input, fields)
	if err != nil {
		return nil, err
	}
	w.how.NoCreate = !create
	w.content = []byte(data)
	if how == base64ed {
		w.content, err = decodeBase64(data)
	}
	return w, err
}

// decodeBase64 gives the data its reason.
func decodeBase64(data string) ([]byte, error) {
	content, err := jsonx.Base64(data)
	if err != nil {
		return nil, &durward.Error{Reason: durward.BadBase64, Op: opWrite, Hint: "encode data with the standard alphabet and padding", Err: err}
	}
	return content, nil
}

// Close has nothing to free.
func (w *writing) Close() error { return nil }

// Run writes. The path is led to its end once more: what it leads to now is what counts.
func (w *writing) Run(ctx context.Context) (durward.Result, error) {
	if err := w.guard.WriteFile(ctx, w.access, w.path, w.content, w.how); err != nil {
		return durward.Result{}, err
	}
	sum := digest(w.content)
	answer := appendCounted([]byte{'{'}, `"bytesWritten":`, len(w.content), sum)
	return result(answer, w.content, sum, w.access.Report()), nil
}
