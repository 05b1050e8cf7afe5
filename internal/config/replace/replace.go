// Package replace puts another text in the place of the one that was read from a file, or
// a first one where there is no file, whole or not at all.
//
// It is for files that a person keeps and names, such as a policy: they may be links,
// they lie in any folder that person may write to, and on any system. Files below a
// root, whose names come from others, are for package fsroot.
package replace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// These are what [File] refuses with; its errors wrap them.
var (
	// ErrChanged says that the file is not any more what was read.
	ErrChanged = errors.New("it was changed by another program since it was read; look at it and try again")
	// ErrBusy says that another replacement of the file goes on.
	ErrBusy = errors.New("another program is about to replace it; try again")
)

// Backup is what the name of the former text ends in.
const Backup = ".bak"

// lockTime bounds the wait for another replacement, which takes as long as a disk.
const lockTime = 5 * time.Second

// File gives the file at path, which has to hold was, the text now. What it held is
// kept beside it with [Backup] added to its name, in place of any former backup. Both
// have the permission bits of the file and, where this user may give it, its owner;
// where not, what its group and others get is what all of them had. Access lists and
// other attributes are not taken over.
//
// A symbolic link stays: the file it leads to is replaced, and its backup is beside
// that. A file with several names is refused, as the others would keep the former text,
// and so is one that this user may not write to.
//
// Of replacements at once one after the other is made, and whoever comes late gets
// [ErrChanged]. A program that knows no lock and changes the file within the moment
// before its name is given to the new text loses that change. After an error the file
// holds what it held, and nothing is left behind but perhaps the backup; only an error
// in making the change of names last comes too late for that, and says so.
func File(path string, was, text []byte) error { return file(path, was, text, true) }

// Swap is [File] for who keeps the former text elsewhere: no backup is made.
func Swap(path string, was, text []byte) error { return file(path, was, text, false) }

func file(path string, was, text []byte, backup bool) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if err := replace(target, was, text, backup); err != nil {
		return fmt.Errorf("replace %s: %w", target, err)
	}
	return nil
}

// Remove takes the file at path away, which has to hold was. A link is refused, as [File] refuses what is no
// regular file of one name, and so is what others are about to replace.
func Remove(path string, was []byte) error {
	unlock, _, unchanged, err := hold(path, was)
	if err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	defer unlock()
	if err := unchanged(); err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// First makes the file at path with its first text. The file is open to this user alone,
// and so is each folder that has to be made for it. What has the name already stays, and
// the error is [fs.ErrExist] then, also where it came at this moment.
func First(path string, text []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".new*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Link(f.Name(), path) // unlike a change of names, it replaces nothing
	}
	if err = errors.Join(err, os.Remove(f.Name())); err != nil {
		return err
	}
	return syncDir(dir)
}

func replace(target string, was, text []byte, backup bool) error {
	unlock, info, unchanged, err := hold(target, was)
	if err != nil {
		return err
	}
	defer unlock()
	if err := unchanged(); err != nil {
		return err
	}
	if backup {
		if err := put(target+Backup, was, info, func() error { return nil }); err != nil {
			return fmt.Errorf("its backup: %w", err)
		}
	}
	if err := put(target, text, info, unchanged); err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(target)); err != nil {
		return fmt.Errorf("it is replaced, but that may not outlive a crash of the machine: %w", err)
	}
	return nil
}

// hold keeps others from replacing a file until unlock, and tells by unchanged whether it still is the one
// that was opened, and holds what was read.
func hold(target string, was []byte) (unlock func(), info fs.FileInfo, unchanged func() error, err error) {
	f, err := open(target)
	if err != nil {
		return nil, nil, nil, err
	}
	info, err = f.Stat()
	var release func()
	if err == nil {
		release, err = lock(f, target)
	}
	if err != nil {
		f.Close()
		return nil, nil, nil, err
	}
	unlock = func() {
		release()
		f.Close()
	}
	return unlock, info, func() error { return holds(target, info, was) }, nil
}

// open opens a regular file of one name for writing, though nothing is written to it:
// the file system says whether this user may.
func open(target string) (*os.File, error) {
	info, err := os.Lstat(target)
	if err != nil {
		return nil, err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case hasOtherNames(info):
		return nil, errors.New("it has several names (hard links), and the others would keep the former text")
	}
	return os.OpenFile(target, os.O_RDWR|openFlags, 0)
}

// holds reports by ErrChanged that the name has come to another file than it had, or
// that this holds something else than it did.
func holds(target string, info fs.FileInfo, was []byte) error {
	f, err := os.OpenFile(target, os.O_RDONLY|openFlags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrChanged
	}
	if err != nil {
		return err
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(info, now) {
		return ErrChanged
	}
	text, err := io.ReadAll(io.LimitReader(f, int64(len(was))+1))
	if err == nil && !bytes.Equal(text, was) {
		err = ErrChanged
	}
	return err
}

// put writes a file beside its place, gives it the rights of another, and moves it
// there unless last refuses.
func put(target string, text []byte, like fs.FileInfo, last func() error) error {
	f, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".new*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = inherit(f, like)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = last()
	}
	if err == nil {
		err = os.Rename(f.Name(), target)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
