package audit

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/durward/durward"
)

// A permissionError says that others could touch the log, and what to type.
type permissionError struct{ path, what, fix string }

func (e *permissionError) Error() string { return e.path + ": " + e.what }

// unavailable is the refusal to go on without a record.
func unavailable(op string, err error) error {
	refusal := &durward.Error{Kind: durward.Unavailable, Reason: durward.AuditUnavailable, Op: op, Err: err}
	var known *durward.Error
	if errors.As(err, &known) {
		return err
	}
	if permission := (*permissionError)(nil); errors.As(err, &permission) {
		refusal.Hint = permission.fix
	}
	return refusal
}

// notFound is the error of a reader whose log could not be found.
func notFound(op string, err error) error {
	if missing(err) {
		return &durward.Error{Reason: durward.AuditNotFound, Op: op, Hint: "name a log that exists; durward audit verify lists those there are", Err: err}
	}
	return unread(op, err)
}

// unread is the error of a reader whose log is there.
func unread(op string, err error) error {
	failed := &durward.Error{Reason: durward.AuditUnreadable, Op: op, Err: err}
	if errors.Is(err, fs.ErrPermission) {
		failed.Hint = "read it as the user that it belongs to"
	}
	return failed
}

// unreadable is the problem of a log that cannot be read.
func unreadable(path string, err error) *Problem {
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		path, err = failed.Path, failed.Err
	}
	if info, failed := os.Lstat(path); failed == nil && info.Mode()&fs.ModeSymlink != 0 {
		return &Problem{File: path, Why: "it is a symbolic link"}
	}
	return &Problem{File: path, Why: "it cannot be read: " + err.Error()}
}

// quote makes a path one word of a shell.
func quote(path string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("/._-+,:@%", c)
	}
	if path != "" && !strings.ContainsFunc(path, func(c rune) bool { return !plain(c) }) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

func ignoreMissing(err error) error {
	if missing(err) {
		return nil
	}
	return err
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
