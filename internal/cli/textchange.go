package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/config/edit"
	"github.com/durward/durward/internal/config/replace"
	"github.com/durward/durward/internal/safetext"
)

// A textChange is a file that a person keeps, together with what is to become of its text.
// Nothing is written before all of it was made and judged.
type textChange struct {
	*program
	file   string
	dryRun bool

	// first is set where there is no file yet: was is the text to begin with.
	first bool
	was   []byte
	// text is the one that is edited.
	text *edit.Document
	// done lists what is changed, in words; lines what that does to the text.
	done, lines []string
	// next is what to do after it, or empty.
	next string
}

type changeData struct {
	File    string `json:"file"`
	DryRun  bool   `json:"dry_run"`
	Changed bool   `json:"changed"`
	// Made is set where there was no policy before.
	Made bool   `json:"made,omitempty"`
	Hash string `json:"policy_hash,omitempty"`
	// Backup holds the former text.
	Backup string   `json:"backup,omitempty"`
	Lines  []string `json:"lines"`
}

// append puts an item at the end of a list; what says what is added.
func (c *textChange) append(at edit.Path, item edit.Value, what string) error {
	return c.edit(what, func() error { return c.text.Append(at, item) })
}

func (c *textChange) remove(at edit.Path, what string) error {
	return c.edit(what, func() error { return c.text.Remove(at) })
}

func (c *textChange) edit(what string, change func() error) error {
	before := c.text.Bytes()
	if err := change(); err != nil {
		return err
	}
	c.done = append(c.done, what)
	c.lines = append(c.lines, changedLines(before, c.text.Bytes())...)
	return nil
}

// changedLines lists the lines that differ between two texts, as one block: what was there
// behind a minus, what is there behind a plus.
func changedLines(before, after []byte) []string {
	was, now := strings.Split(string(before), "\n"), strings.Split(string(after), "\n")
	from, same := inCommon(was, now)
	var lines []string
	for _, line := range was[from : len(was)-same] {
		lines = append(lines, "-"+line)
	}
	for _, line := range now[from : len(now)-same] {
		lines = append(lines, "+"+line)
	}
	return lines
}

// inCommon counts what two texts begin with alike, and what their rests end with alike.
func inCommon[T comparable](a, b []T) (begin, end int) {
	for begin < min(len(a), len(b)) && a[begin] == b[begin] {
		begin++
	}
	for end < min(len(a), len(b))-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	return begin, end
}

// made has the new text take the place of the former one, unless nothing is to be changed, and
// gives what there is to tell.
func (c *textChange) made() (data changeData, err error) {
	changed := len(c.done) > 0
	data = changeData{File: c.file, DryRun: c.dryRun, Changed: changed, Made: changed && c.first, Lines: c.lines}
	if data.Made {
		data.Lines = changedLines(nil, c.text.Bytes())
	}
	if data.Lines == nil {
		data.Lines = []string{}
	}
	if data.Changed && !c.dryRun {
		data.Backup, err = c.put(c.text.Bytes())
	}
	return data, err
}

func (c *textChange) tellChange(data changeData) error {
	var err error
	switch done := strings.Join(c.done, " and "); {
	case !data.Changed:
		_, err = fmt.Fprintf(c.stdout, "%s has that already; nothing changed\n", safetext.Line(c.file))
	case c.dryRun:
		var text strings.Builder
		for _, line := range data.Lines {
			text.WriteString(safetext.Line(line) + "\n")
		}
		if c.first {
			done = "made it and " + done
		}
		_, err = fmt.Fprintf(c.stdout, "would have %s in %s:\n%s", safetext.Line(done), safetext.Line(c.file), &text)
	case c.first:
		_, err = fmt.Fprintf(c.stdout, "made %s and %s%s\n", safetext.Line(c.file), safetext.Line(done), c.nextStep())
	default:
		_, err = fmt.Fprintf(c.stdout, "%s in %s; the former text is in %s%s\n", safetext.Line(done), safetext.Line(c.file), safetext.Line(data.Backup), c.nextStep())
	}
	return err
}

// unmade says of the mistakes that a change would lead to that it was not made; any other error is
// given as it is.
func unmade(err error, reason durward.Reason, op, hint string) error {
	problems := config.ProblemsOf(err)
	if len(problems) == 0 {
		return err
	}
	return &durward.Error{Reason: reason, Op: op, Where: problems[0].Where, Err: problems, Hint: hint}
}

// nextStep ends a line of what was done with what to do next.
func (c *textChange) nextStep() string {
	if c.next == "" {
		return ""
	}
	return "; next: " + safetext.Line(c.next)
}

// put has a text take the place of the one that was read, and says where that is kept. A
// first one takes no place.
func (c *textChange) put(text []byte) (backup string, err error) {
	if !c.first {
		return replaceText(c.file, c.was, text)
	}
	err = replace.First(c.file, text)
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%s: %w", c.file, replace.ErrChanged)
	}
	return "", unreplaced(err)
}

// replaceText puts another text in the place of the one that was read, and says where
// that is kept.
func replaceText(file string, was, text []byte) (backup string, err error) {
	if err = replace.File(file, was, text); err != nil {
		return "", unreplaced(err)
	}
	backup, err = filepath.EvalSymlinks(file)
	return backup + replace.Backup, err
}

// unreplaced says why a text could not be written, if it could not.
func unreplaced(err error) error {
	if err == nil {
		return nil
	}
	reason, hint := durward.FileIO, "see to it that the file and its folder can be written, and try again"
	changed := errors.Is(err, replace.ErrChanged)
	switch {
	case changed:
		reason, hint = durward.ChangedMeanwhile, "type the same again: the file is read anew"
	case errors.Is(err, fs.ErrPermission):
		reason = durward.FilePermission
	case errors.Is(err, syscall.ENOSPC):
		reason, hint = durward.NoSpace, "nothing was changed; make room, and try again"
	}
	return &durward.Error{
		Reason: reason, Op: "replace the file", Hint: hint, Retry: changed || errors.Is(err, replace.ErrBusy), Err: err,
	}
}
