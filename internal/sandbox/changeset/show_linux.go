package changeset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/durward/durward/internal/safetext"
)

// What is shown of a set at most.
const (
	maxShown     = 2_000    // changes in the list
	maxDiffFile  = 64 << 10 // bytes of a file that is compared line by line
	maxDiffBytes = 1 << 20  // of all such comparisons together
)

// Show writes the changes for a person to read: a list, a line for each change, and then, as
// a unified diff, what changed in text files of up to 64 KiB. Nothing in it is obeyed by a
// terminal, whatever a name or a file holds. What is too much is counted instead: what has no
// line, by its kind, after the list and once more at the end. See [Set.Whole]. What the
// command's user could not read is not shown; a line says so.
func (s *Set) Show(w io.Writer) error {
	if len(s.changes) == 0 {
		_, err := fmt.Fprintln(w, "nothing was changed")
		return err
	}
	if err := s.showList(w); err != nil {
		return err
	}
	if err := s.showTexts(w); err != nil {
		return err
	}
	return s.showUnlisted(w, "\n")
}

// line gives one change: "M  main.go (120 B)".
func (c *change) line() string {
	text := fmt.Sprintf("%s  %s", c.Kind, safetext.Line(c.Path))
	form := c.Is
	if form == Nothing {
		form = c.Was
	}
	switch {
	case c.Kind == TypeChanged:
		text += fmt.Sprintf(" (%s → %s%s)", c.Was, c.Is, c.arrived())
	case form == Directory && c.Kind == Modified:
		text += fmt.Sprintf("/ (mode %04o → %04o)", c.was.bits, c.is.bits)
	case form == Directory:
		text += "/" + c.unusual(" (mode %04o)", 0o700, 0o755)
	case form != File:
		text += fmt.Sprintf(" (%s)", form)
	case c.Kind == Modified && c.was.bits != c.is.bits:
		text += fmt.Sprintf(" (%d B, mode %04o → %04o)", c.Size, c.was.bits, c.is.bits)
	default:
		text += fmt.Sprintf(" (%d B%s)", c.Size, c.unusual(", mode %04o", 0o600, 0o644, 0o700, 0o755))
	}
	if c.Refused != "" {
		text += " cannot be applied: " + c.Refused.Summary()
	}
	if c.Bare {
		text += " without its extended attributes"
	}
	return text
}

// unusual tells of the permission bits of what is new, where they are not those that most have.
func (c *change) unusual(format string, usual ...uint32) string {
	if c.Kind != Added || slices.Contains(usual, c.is.bits) {
		return ""
	}
	return fmt.Sprintf(format, c.is.bits)
}

// arrived tells of what takes the place of something else.
func (c *change) arrived() string {
	switch c.is.form {
	case File:
		return fmt.Sprintf(", %d B, mode %04o", c.Size, c.is.bits)
	case Directory:
		return fmt.Sprintf(", mode %04o", c.is.bits)
	}
	return ""
}

func (s *Set) showTexts(w io.Writer) error {
	left, hidden := maxDiffBytes, 0
	for _, c := range s.addedLast() {
		if c.is.form != File {
			continue
		}
		if left == 0 {
			hidden++
			continue
		}
		text, ok := s.text(c)
		if len(text) > left {
			ok, left = false, 0
		}
		if !ok {
			hidden++
			continue
		}
		left -= len(text)
		if text == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "\n%s", text); err != nil {
			return err
		}
	}
	if hidden == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "\nnot shown line by line: %d files that are large, not text, not what they were, or too many\n", hidden)
	return err
}

// text compares a file line by line, if it is a text in both trees. What takes the place of
// something else is new, and all of it is shown. What the command could not read is not.
func (s *Set) text(c *change) (string, bool) {
	l := s.layers
	after, err := l.short(l.Upper, c.Path, c.is, c.is)
	if unreadable(err) {
		return untold(c, "holds"), true
	}
	if err != nil {
		return "", false
	}
	note, from := "", "/dev/null"
	var before []byte
	if c.was.form == File {
		before, err = l.short(l.Lower, c.Path, c.was, l.inCopy(c.was))
		switch {
		case unreadable(err):
			note = untold(c, "held")
		case err != nil:
			return "", false
		default:
			from = path.Join("a", safetext.Line(c.Path))
		}
	}
	text := diff.Diff(from, before, path.Join("b", safetext.Line(c.Path)), after)
	return note + safetext.Output(string(text)), true
}

var errNotText = errors.New("it is not a text that is short enough")

// short reads a file, if the command could, who saw it as this one.
func (l Layers) short(dir *os.File, at string, n, seen node) ([]byte, error) {
	if n.size > maxDiffFile {
		return nil, errNotText
	}
	f, err := openFile(dir, at, n)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := l.keepSecret(f, seen); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxDiffFile))
	if err == nil && (!utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0) {
		err = errNotText
	}
	return text, err
}
