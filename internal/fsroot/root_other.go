//go:build !linux && !darwin

package fsroot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/durward/durward"
)

var errNoContainment = errors.New("files cannot be opened contained by descriptor on this system")

// A Root is an open directory. On this system there is none.
type Root struct{}

// Open refuses: containment cannot be held on this system.
func Open(dir string) (*Root, error) { return nil, refuseAll("root.open", dir) }

// Close has nothing to close.
func (*Root) Close() error { return errClosed }

// OpenFile refuses.
func (*Root) OpenFile(name string, _ Rules) (*File, error) {
	return nil, refuseAll("file.open", name)
}

// PhysicalPath refuses.
func (f *File) PhysicalPath() (string, error) { return "", refuseAll("file.path", f.Name()) }

// OpenDir refuses.
func (*Root) OpenDir(name string, _ Rules) (*os.File, error) {
	return nil, refuseAll("dir.open", name)
}

// OpenPlainDir refuses.
func (*Root) OpenPlainDir(name string, _ Rules) (*os.File, error) {
	return nil, refuseAll("dir.open", name)
}

// WriteFile refuses.
func (*Root) WriteFile(_ context.Context, name string, _ io.Reader, _ WriteOptions) (int64, error) {
	return 0, refuseAll("file.write", name)
}

func refuseAll(op, name string) error {
	if err := checkName(name); err != nil {
		return fail(op, name, err)
	}
	return &durward.Error{
		Reason: durward.SandboxUnavailable, Op: op, Hint: "use Linux or macOS",
		Err: fmt.Errorf("%q: %w", name, errNoContainment),
	}
}
