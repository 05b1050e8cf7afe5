// Package content finds the file that a path of a site names.
//
// A path is what a request names, percent-decoded once and without the slash that it
// begins with. [CleanPath] judges it by itself; then a [Resolver] looks:
//
//	docs/x.csv    a file
//	docs          docs/README.md, where docs is a directory
//	docs/query    docs/query.md, where nothing is called docs/query
//
// Failures are [*durward.Error] with one of the file reasons.
package content

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/durward/durward"
)

// A Resolver finds what a path of a site names. It may be called concurrently. The
// path has passed [CleanPath].
//
// An error has reason FileNotFound or OutsideRoot; any other one is a failure to
// read.
type Resolver interface {
	Resolve(ctx context.Context, path string) (*Content, error)
}

// A Lister is a Resolver that knows all its files.
type Lister interface {
	// List gives the paths of all files, sorted, without hidden ones and what lies
	// behind links to directories.
	List(ctx context.Context) ([]string, error)
}

// Content is a file of a site, opened once: what is judged, shown and run by is the
// same file. The caller closes Body.
type Content struct {
	Body io.ReadSeekCloser
	// Path is the file's own path below the root, with slashes: "docs/README.md".
	Path string
	// Dir is the absolute directory in which commands of the page run; see
	// [Content.WorkingDir].
	Dir  string
	Size int64
	// ModTime may be zero: it is not known then.
	ModTime time.Time
	// Key changes whenever the content may have changed. Without a key nobody can tell.
	Key string

	// physical finds the file's physical path where there is one, which is worth asking
	// for only now and then; file tells which one it is.
	physical func() (string, error)
	file     identity
	// read reads the whole file in a quick way, if there is one.
	read func(buffer []byte, most int64) ([]byte, error)
}

// WorkingDir gives the absolute directory in which commands of the page run, while Body
// is open. Without one, which is "", none do.
func (c *Content) WorkingDir() (string, error) {
	if c.physical == nil {
		return c.Dir, nil
	}
	physical, err := c.physical()
	return filepath.Dir(physical), err
}

// ReadAll reads the whole file. One of more than most bytes has reason MaxFileBytes.
func (c *Content) ReadAll(most int64) ([]byte, error) { return c.ReadInto(nil, most) }

// ReadInto is ReadAll, of a file of which nothing was read yet, into the memory of a
// buffer as far as that goes.
func (c *Content) ReadInto(buffer []byte, most int64) (document []byte, err error) {
	if c.read != nil {
		document, err = c.read(buffer, most)
	} else {
		document, err = io.ReadAll(io.LimitReader(c.Body, most+1))
	}
	switch {
	case durward.ReasonOf(err) != "":
		return nil, err
	case err != nil:
		return nil, &durward.Error{Reason: durward.FileIO, Op: "read page", Err: err}
	case int64(len(document)) > most:
		return nil, c.tooLarge(most)
	}
	return document, nil
}

func (c *Content) tooLarge(most int64) error {
	return &durward.Error{
		Reason: durward.MaxFileBytes, Op: "read page", Hint: "make the page smaller", Err: fmt.Errorf("%s has more than %d bytes", c.Path, most),
	}
}
