package pages

import (
	"context"
	"io"
	"time"
)

// A Resolver finds what a path of a site names. It may be called concurrently. The
// path has passed [CleanPath]; GET and POST ask in the same way.
//
// An error has reason FileNotFound or OutsideRoot; any other one is a failure.
type Resolver interface {
	Resolve(ctx context.Context, path string) (*Content, error)
}

// Content is a file of a site, opened once: what is judged, shown and run by is the
// same file. The caller closes Body.
type Content struct {
	Body io.ReadSeekCloser
	// Path is the file's own path below the root, with slashes: "docs/README.md".
	Path string
	// Dir is the absolute directory in which commands of the page run. Without one none
	// do.
	Dir  string
	Size int64
	// ModTime may be zero: it is not known then.
	ModTime time.Time
	// Key changes whenever the content may have changed. Without a key nothing of the
	// content is kept.
	Key string
}
