package changeset

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// attributes are what the extended attributes of a file in upper say.
type attributes struct {
	opaque     bool // it is a directory that hides all of the one beneath it
	whiteout   bool // it is a file, and says that nothing is there
	capability bool // who executes it gets rights
	others     bool // it has some that are not applied
}

// attributesOf reads what was noted of an open file or directory.
func (l Layers) attributesOf(f *os.File) (attributes, error) {
	prefix := "trusted.overlay."
	if l.UserAttributes {
		prefix = "user.overlay."
	}
	names, err := attributeNames(f)
	if err != nil {
		return attributes{}, err
	}
	return judgeAttributes(names, prefix, func(name string) (string, error) {
		value := make([]byte, 8)
		n, err := unix.Fgetxattr(descriptor(f), name, value)
		if err == unix.ERANGE {
			return "", nil // longer than any that has a meaning
		}
		if err != nil {
			return "", err
		}
		return string(value[:n]), nil
	})
}

// judgeAttributes refuses what overlayfs notes only where it was mounted otherwise: to pass
// over it would be to take the tree for another than the command saw.
func judgeAttributes(names []string, prefix string, value func(name string) (string, error)) (attributes, error) {
	var a attributes
	for _, name := range names {
		note, ours := strings.CutPrefix(name, prefix)
		switch {
		case name == "security.capability":
			a.capability = true
		case !ours:
			a.others = a.others || strings.HasPrefix(name, "user.") || strings.HasPrefix(name, "system.posix_acl_")
		case strings.HasPrefix(note, "overlay."): // one that the command set, by an escaped name
			a.others = true
		case note == "opaque":
			text, err := value(name)
			if err != nil {
				return attributes{}, err
			}
			if text != "y" && text != "x" {
				return attributes{}, fmt.Errorf("its attribute %s is %q", name, text)
			}
			a.opaque = text == "y" // "x" says that files in it may be whiteouts
		case note == "whiteout":
			a.whiteout = true
		case note != "origin" && note != "impure" && note != "uuid":
			return attributes{}, fmt.Errorf("it has the attribute %q, which this kind of overlay does not have", name)
		}
	}
	return a, nil
}

func attributeNames(f *os.File) ([]string, error) {
	for {
		size, err := unix.Flistxattr(descriptor(f), nil)
		if size == 0 || errors.Is(err, unix.ENOTSUP) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		buf := make([]byte, size)
		size, err = unix.Flistxattr(descriptor(f), buf)
		if err == nil {
			return strings.FieldsFunc(string(buf[:size]), func(r rune) bool { return r == 0 }), nil
		}
		if err != unix.ERANGE {
			return nil, err
		}
	}
}
