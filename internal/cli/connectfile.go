package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/clientconfig"
	"github.com/durward/durward/internal/config/replace"
	"github.com/durward/durward/internal/safetext"
	"github.com/durward/durward/internal/smallfile"
)

// A clientChange is the file of a client together with what is to become of it. Nothing is written before all of it
// was made and judged.
type clientChange struct {
	*connecting
	file string
	// missing is set where there is no file; dirs are the folders that are missing then, innermost first.
	missing bool
	dirs    []string
	was     []byte
	text    *clientconfig.Text
	// whole is a text that takes the place of all, and gone is set where the file goes.
	whole []byte
	gone  bool

	deed  deed
	write func(now []byte) (backup string, err error)
	done  []string
	data  connectData
}

// openClient reads the client's file.
func (x *connecting) openClient() (*clientChange, error) {
	c := &clientChange{connecting: x}
	var err error
	if c.file, c.missing, err = x.clientFile(); err != nil {
		return nil, err
	}
	c.data = connectData{Client: string(x.client), Name: x.name}
	c.data.File, c.data.DryRun, c.data.Made = c.file, x.dryRun, c.missing
	if c.missing {
		if c.dirs = missingDirs(c.file); len(c.dirs) > 0 {
			x.note("there is no %s yet: is %s installed for this user?", safetext.Line(c.dirs[0]), x.client.Title())
		}
		if err := x.othersMayWrite(filepath.Dir(c.file)); err != nil {
			return nil, err
		}
	} else if err := c.read(); err != nil {
		return nil, err
	}
	c.text, err = clientconfig.OpenText(x.client, c.file, c.was)
	return c, c.refused(err)
}

// read reads a file that nobody but this user could have written.
func (c *clientChange) read() error {
	if err := c.othersMayWrite(filepath.Dir(c.file)); err != nil {
		return err
	}
	var err error
	c.was, err = smallfile.Read(c.file, mostImported, func(info fs.FileInfo) error { return c.othersWrite(c.file, info) })
	var trust *trustError
	if errors.As(err, &trust) {
		return notOurs(c.file, trust)
	}
	if err != nil {
		return c.unreadable(c.file, err)
	}
	return nil
}

// othersMayWrite refuses a folder, or the one that it would be made in, that is not this user's.
func (x *connecting) othersMayWrite(dir string) error {
	if missing := missingDirs(filepath.Join(dir, "x")); len(missing) > 0 {
		dir = filepath.Dir(missing[len(missing)-1])
	}
	info, err := os.Stat(dir)
	if err != nil {
		return x.unreadable(dir, err)
	}
	var trust *trustError
	if errors.As(x.othersWrite(dir, info), &trust) {
		return notOurs(dir, trust)
	}
	return nil
}

func notOurs(path string, trust *trustError) error {
	return &durward.Error{
		Reason: durward.FilePermission, Op: "connect", Hint: "if it is yours: " + trust.fix,
		Err: fmt.Errorf("nothing is written to %s: %s", path, trust.why),
	}
}

// refused says of a file that it is broken, or of a change that it cannot be made.
func (c *clientChange) refused(err error) error {
	return unmade(err, durward.ConfigInvalid, "connect", "nothing was changed. Mend what is named, or write to another file: --file FILE")
}

// now is the text that the file is to hold; nil where it is to go.
func (c *clientChange) now() []byte {
	switch {
	case c.gone:
		return nil
	case c.whole != nil:
		return c.whole
	}
	return c.text.Bytes()
}

// putConnected writes the text, and keeps how to undo it.
func (c *clientChange) putConnected(now []byte) (backup string, err error) {
	former := c.was
	if c.missing {
		former = nil
	} else if former == nil {
		former = []byte{}
	}
	known, err := c.deedOf("connect", c.file, c.name)
	if err != nil {
		return "", err
	}
	if known != nil && !c.missing {
		if before, err := c.without(known); err == nil { // what was there the first time is what undo leads to
			former = before
			c.deed.Dirs, c.deed.Bare, c.deed.Replaced = known.Dirs, known.Bare, known.Replaced
		}
	}
	c.deed.Wrote = digestOf(now)
	return c.do(c.deed, former, func() error { return c.swap(now) })
}

// without gives the text as it was before a deed; nil where there was no file. The error says that the entry is not
// that of the deed any more.
func (c *clientChange) without(known *deed) ([]byte, error) {
	u := &clientChange{connecting: c.connecting, file: c.file, was: c.was}
	var err error
	if u.text, err = clientconfig.OpenText(c.client, c.file, c.was); err != nil {
		return nil, c.refused(err)
	}
	if err := u.takeOut(known); err != nil {
		return nil, err
	}
	return u.now(), nil
}

// swap puts the text in the place of the one that was read.
func (c *clientChange) swap(now []byte) error {
	if !c.missing {
		return unreplaced(replace.Swap(c.file, c.was, now))
	}
	err := replace.First(c.file, now)
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%s: %w", c.file, replace.ErrChanged)
	}
	if err != nil {
		removeDirs(c.dirs)
	}
	return unreplaced(err)
}
