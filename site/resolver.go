package site

import (
	"context"
	"errors"

	"github.com/durward/durward/internal/content"
)

// Content is a file of a site, opened once.
type Content = content.Content

// A ContentResolver finds what a path of a site names: the page's bytes, a path to
// show, and the directory its commands run in. It may be called concurrently. The path
// has no leading slash, no "..", no hidden segment and no NUL byte; "" is the root.
//
// An error is an [*Error] with code [NotFound] or [PathDenied]; any other one is a
// failure to read.
type ContentResolver interface {
	Resolve(ctx context.Context, path string) (*Content, error)
}

// LocalFS is the resolver for a directory of this machine.
type LocalFS = content.Local

// OpenLocalFS opens a directory. The hidden files, named by absolute paths, are not
// found in it. Close it after use.
func OpenLocalFS(dir string, hidden ...string) (*LocalFS, error) {
	return content.OpenLocal(dir, hidden...)
}

// translated is an embedding program's resolver, whose errors become ours.
type translated struct{ inner ContentResolver }

func (t translated) Resolve(ctx context.Context, path string) (*content.Content, error) {
	c, err := t.inner.Resolve(ctx, path)
	if err == nil && (c == nil || c.Body == nil) {
		return nil, errors.New("the resolver gave no content and no error")
	}
	return c, inward(err)
}
