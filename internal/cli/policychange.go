package cli

import (
	"cmp"
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config/edit"
	"github.com/durward/durward/internal/mcppolicy"
)

// A policyChange is a policy together with what is to become of its text. Nothing is
// written before all of it was made and judged.
type policyChange struct {
	textChange
	mode fs.FileMode
	// doc is what the text says as it was.
	doc *mcppolicy.Document
	// instead is what to do where the change cannot be made, or empty.
	instead string
}

// changeCommand makes a command that changes one place or a few of a policy; word is
// the one it takes. One that begins makes a policy where there is none.
func (p *program) changeCommand(cmd *cobra.Command, begins bool, change func(c *policyChange, word string) error) *cobra.Command {
	c := &policyChange{textChange: textChange{program: p}}
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
		c.next = connectWith(named)
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
	if err == nil && cmp.Or(named, p.env[varPolicy]) == "" && p.called != configurator && file == p.otherPolicy() {
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

// finish judges the new text, has it take the place of the former one, and tells.
func (c *policyChange) finish() error {
	policy, err := c.compileMCP(c.file, c.text.Bytes(), c.mode, false)
	if err != nil {
		return c.refused(err)
	}
	data, err := c.made()
	if err != nil {
		return err
	}
	data.Hash = policy.Hash
	if c.json {
		return c.print(data)
	}
	c.noteWarnings(policy)
	return c.tellChange(data)
}

// refused says of the mistakes that a change would lead to that it was not made.
func (c *policyChange) refused(err error) error {
	hint := "nothing was changed; the lines are those of the changed text. Mend what is named, or change it by hand: durward policy edit"
	if c.instead != "" {
		hint = "nothing was changed; " + c.instead
	}
	if c.first {
		hint = "nothing was made; the lines are those of the text to begin with. Mend what is named, or begin with a directory that exists: " + beginning(c.file)
	}
	return unmade(err, durward.PolicyInvalid, "change the policy", hint)
}

// beginning is what makes a first policy.
func beginning(file string) string {
	return "durward policy add-root DIR --policy " + shellPath(file)
}

// connectWith is what has a client use a policy: the user's own, or one that is named.
func connectWith(file string) string {
	if file == "" {
		return "durward connect CLIENT"
	}
	return "durward connect CLIENT --policy " + shellPath(file)
}
