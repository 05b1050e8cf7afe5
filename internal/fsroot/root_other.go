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

// A File never exists here.
type File struct{ Info Info }

// OS gives no file.
func (*File) OS() *os.File { return nil }

// Read reads nothing.
func (*File) Read([]byte) (int, error) { return 0, errClosed }

// Close has nothing to close.
func (*File) Close() error { return errClosed }

// OpenFile refuses.
func (*Root) OpenFile(name string, _ Rules) (*File, error) {
	return nil, refuseAll("file.open", name)
}

// A Handle never exists here.
type Handle struct {
	Info  Info
	Plain bool
}

// FindFile refuses.
func (*Root) FindFile(name string, _ Rules) (*Handle, error) {
	return nil, refuseAll("file.open", name)
}

// The methods of a Handle are never called.
func (*Handle) Read([]byte) (int, error)       { return 0, errNoContainment }
func (*Handle) Seek(int64, int) (int64, error) { return 0, errNoContainment }
func (*Handle) Close() error                   { return nil }
func (*Handle) Open() (*os.File, error)        { return nil, errNoContainment }
func (*Handle) PhysicalPath() (string, error)  { return "", errNoContainment }

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
