package hostfs

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// atOnce reads a file that was opened by [reopen], and waits for nothing: some files of the
// kernel look regular and have more to say later, for which one may wait for ever.
type atOnce struct{ file *os.File }

var errLater = &durward.Error{Reason: durward.NotRegularFile, Err: errors.New("what it holds is still to come")}

func (f atOnce) Read(p []byte) (n int, err error) {
	conn, err := f.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	closed := conn.Read(func(fd uintptr) bool {
		n, err = unix.Read(int(fd), p)
		for err == unix.EINTR {
			n, err = unix.Read(int(fd), p)
		}
		return true // and not to be asked again when there is more
	})
	switch {
	case closed != nil:
		return 0, closed
	case err == unix.EAGAIN:
		return 0, errLater
	case err != nil:
		return 0, err
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}
