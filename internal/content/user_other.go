//go:build !unix

package content

import (
	"errors"
	"os"
)

// can knows nothing of who can.
func (User) can(string, os.FileMode) (bool, identity, error) {
	return false, identity{}, errors.ErrUnsupported
}
