package release

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func exchange(one, other string) error {
	err := unix.RenamexNp(one, other, unix.RENAME_SWAP)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, errors.ErrUnsupported):
		return errNoExchange
	}
	return &os.LinkError{Op: "exchange", Old: one, New: other, Err: err}
}
