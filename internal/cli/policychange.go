package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/config/edit"
	"github.com/durward/durward/internal/config/replace"
	"github.com/durward/durward/internal/mcppolicy"
	"github.com/durward/durward/internal/safetext"
)

// A policyChange is a policy together with what is to become of its text. Nothing is
// written before all of it was made and judged.
type policyChange struct {
	*program
	file   string
	dryRun bool

	// first is set where there is no policy yet: was is the text to begin with.
	first bool
	was   []byte
	mode  fs.FileMode
	// doc is what the text says as it was, text the one that is edited.
	doc  *mcppolicy.Document
	text *edit.Document
	// done lists what is changed, in words; lines what that does to the text.
	done, lines []string
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

// changeCommand makes a command that changes one place or a few of a policy; word is
// the one it takes. One that begins makes a policy where there is none.
func (p *program) changeCommand(cmd *cobra.Command, begins bool, change func(c *policyChange, word string) error) *cobra.Command {
	c := &policyChange{program: p}
	file := policyFlag(cmd)
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "say what would change and change nothing")
	cmd.Args = exactly(1)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := c.open(*file, begins); err != nil {
			return err
		}
		if err := change(c, args[0]); err != nil {
			return c.refused(err)
		}
		return c.finish()
	}
	return cmd
}

// open reads the policy. It need not hold for this machine: the change may mend that.
func (c *policyChange) open(named string, begins bool) error {
	if err := c.read(named, begins); err != nil {
		return err
	}
	return c.parse()
}

// read reads the text of the policy. One that begins has one to begin with where there is
// no policy.
func (c *policyChange) read(named string, begins bool) error {
	var err error
	if c.file, err = c.policyToChange(named); err != nil {
		return err
	}
	if _, missing := os.Lstat(c.file); begins && errors.Is(missing, fs.ErrNotExist) {
		c.begin()
		return nil
	}
	c.was, c.mode, err = readMCPPolicy(c.file)
	return err
}

// begin has the policy begin with the text of a first one, for these directories.
func (c *policyChange) begin(dirs ...string) {
	c.first, c.mode, c.was = true, 0o600, []byte(mcppolicy.Starter(dirs...))
}

func (c *policyChange) parse() error {
	var err error
	if c.doc, err = mcppolicy.Parse(c.file, c.was); err != nil {
		return err
	}
	c.text, err = edit.Parse(c.file, c.was)
	return c.refused(err)
}

// policyToChange is policyPath for a policy that is written to. That of mdmcpcfg is left
// to it, unless somebody names it.
func (p *program) policyToChange(named string) (string, error) {
	file, err := p.policyPath(named)
	if err == nil && named == "" && p.called != configurator && file == p.otherPolicy() {
		err = usageError("name it: --policy "+shellPath(file), "the only policy there is belongs to %s", configurator)
	}
	return file, err
}

// member gives the path to a member of the document in the spelling that stands there.
func (c *policyChange) member(name, alias string) edit.Path {
	if c.text.Tree().Get(alias) != nil {
		return edit.Member(alias)
	}
	return edit.Member(name)
}

// append puts an item at the end of a list; what says what is added.
func (c *policyChange) append(at edit.Path, item edit.Value, what string) error {
	return c.edit(what, func() error { return c.text.Append(at, item) })
}

func (c *policyChange) remove(at edit.Path, what string) error {
	return c.edit(what, func() error { return c.text.Remove(at) })
}

func (c *policyChange) edit(what string, change func() error) error {
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
	for len(was) > 0 && len(now) > 0 && was[0] == now[0] {
		was, now = was[1:], now[1:]
	}
	for len(was) > 0 && len(now) > 0 && was[len(was)-1] == now[len(now)-1] {
		was, now = was[:len(was)-1], now[:len(now)-1]
	}
	var lines []string
	for _, line := range was {
		lines = append(lines, "-"+line)
	}
	for _, line := range now {
		lines = append(lines, "+"+line)
	}
	return lines
}

// finish judges the new text, has it take the place of the former one, and tells.
func (c *policyChange) finish() error {
	policy, err := compileMCP(c.file, c.text.Bytes(), c.mode, false)
	if err != nil {
		return c.refused(err)
	}
	data := changeData{File: c.file, DryRun: c.dryRun, Changed: len(c.done) > 0, Made: c.first, Hash: policy.Hash, Lines: c.lines}
	if c.first {
		data.Lines = changedLines(nil, c.text.Bytes())
	}
	if data.Lines == nil {
		data.Lines = []string{}
	}
	if data.Changed && !c.dryRun {
		if data.Backup, err = c.put(c.text.Bytes()); err != nil {
			return err
		}
	}
	if c.json {
		return c.print(data)
	}
	c.noteWarnings(policy)
	return c.tellChange(data)
}

func (c *policyChange) tellChange(data changeData) error {
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
		_, err = fmt.Fprintf(c.stdout, "made %s and %s\n", safetext.Line(c.file), safetext.Line(done))
	default:
		_, err = fmt.Fprintf(c.stdout, "%s in %s; the former text is in %s\n", safetext.Line(done), safetext.Line(c.file), safetext.Line(data.Backup))
	}
	return err
}

// refused says of the mistakes that a change would lead to that it was not made.
func (c *policyChange) refused(err error) error {
	problems := config.ProblemsOf(err)
	if len(problems) == 0 {
		return err
	}
	hint := "nothing was changed; the lines are those of the changed text. Mend what is named, or change it by hand: durward policy edit"
	if c.first {
		hint = "nothing was made; the lines are those of the text to begin with. Mend what is named, or begin with a directory that exists: " + beginning(c.file)
	}
	return &durward.Error{
		Reason: durward.PolicyInvalid, Op: "change the policy", Where: problems[0].Where, Err: problems, Hint: hint,
	}
}

// beginning is what makes a first policy.
func beginning(file string) string {
	return "durward policy add-root DIR --policy " + shellPath(file)
}

// put has a text take the place of the one that was read, and says where that is kept. A
// first one takes no place.
func (c *policyChange) put(text []byte) (backup string, err error) {
	if !c.first {
		return replacePolicy(c.file, c.was, text)
	}
	err = replace.First(c.file, text)
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%s: %w", c.file, replace.ErrChanged)
	}
	return "", unreplaced(err)
}

// replacePolicy puts another text in the place of the one that was read, and says where
// that is kept.
func replacePolicy(file string, was, text []byte) (backup string, err error) {
	if err = replace.File(file, was, text); err != nil {
		return "", unreplaced(err)
	}
	backup, err = filepath.EvalSymlinks(file)
	return backup + replace.Backup, err
}

// unreplaced says why a policy could not be written, if it could not.
func unreplaced(err error) error {
	if err == nil {
		return nil
	}
	reason := durward.FileIO
	switch {
	case errors.Is(err, replace.ErrChanged):
		reason = durward.ChangedMeanwhile
	case errors.Is(err, fs.ErrPermission):
		reason = durward.FilePermission
	}
	return &durward.Error{
		Reason: reason, Op: "replace the policy", Hint: "see to it that the file and its folder can be written, and try again",
		Retry: errors.Is(err, replace.ErrBusy), Err: err,
	}
}
