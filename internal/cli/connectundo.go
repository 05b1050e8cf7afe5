package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/clientconfig"
	"github.com/durward/durward/internal/config/replace"
)

// disconnect undoes what was written under a name.
func (x *connecting) disconnect() error {
	known, err := x.connected()
	if err != nil {
		return err
	}
	x.at = known.File
	c, err := x.openToUndo(known)
	if err != nil {
		return err
	}
	if err := c.takeOut(known); err != nil {
		return err
	}
	c.write = func(now []byte) (string, error) { return "", c.putBack(known, now) }
	if len(c.done) == 0 && !x.dryRun {
		if err := x.forget(known); err != nil {
			return err
		}
	}
	return c.finish()
}

// connected finds what is to be undone.
func (x *connecting) connected() (*deed, error) {
	file, _, err := x.clientFile()
	if err != nil {
		return nil, err
	}
	if known, err := x.deedOf("connect", file, x.name); known != nil || err != nil {
		return known, err
	}
	all, err := x.deeds("connect")
	if err != nil {
		return nil, err
	}
	var files, names []string
	var found deed
	for _, d := range all {
		switch {
		case d.Client != string(x.client):
		case d.Name != x.name:
			names = append(names, d.Name)
		case x.at == "":
			found = d
			files = append(files, d.File)
		}
	}
	switch {
	case len(files) == 1:
		return &found, nil
	case len(files) > 1:
		slices.Sort(files)
		return nil, usageError("name one of them: --file FILE", "%s was connected in %s", x.client, strings.Join(files, " and "))
	}
	hint := "see which entries there are in " + file
	if len(names) > 0 {
		slices.Sort(names)
		hint = "name the entry: --name " + strings.Join(names, " or --name ")
	}
	return nil, &durward.Error{
		Reason: durward.ServerUnknown, Op: "undo", Hint: hint, Err: fmt.Errorf("there is nothing to undo: durward wrote no entry %q into %s", x.name, file),
	}
}

// openToUndo reads the file, which may be broken if it still is what was written.
func (x *connecting) openToUndo(known *deed) (*clientChange, error) {
	c := &clientChange{connecting: x}
	c.data = connectData{Client: string(x.client), Name: x.name, Command: known.Command, Args: known.Args, URL: known.URL}
	var err error
	c.file, c.missing, err = x.clientFile()
	c.data.File, c.data.DryRun = c.file, x.dryRun
	if err != nil || c.missing {
		return c, err
	}
	if err := c.read(); err != nil {
		return nil, err
	}
	c.text, err = clientconfig.OpenText(x.client, c.file, c.was)
	return c, c.refused(err)
}

// takeOut has the text be as it was before: the former one where nothing was changed since, and else without the
// entry, or with the one that was there.
func (c *clientChange) takeOut(known *deed) error {
	former, kept := c.former(known)
	switch {
	case c.missing:
		c.gone = true
		return nil
	case digestOf(c.was) == known.Wrote && known.Was == "":
		c.gone, c.data.Removed, c.done = true, true, []string{"removed " + c.name}
		return nil
	case digestOf(c.was) == known.Wrote && kept:
		c.whole, c.done = former, []string{"put the former text back"}
		return nil
	case c.text.Doubtful(c.name) != nil:
		return c.refused(c.text.Doubtful(c.name))
	case !c.text.Has(c.name):
		return nil
	case !c.text.Leads(c.name, clientconfig.Entry{Command: known.Command, Args: known.Args, URL: known.URL}):
		return &durward.Error{
			Reason: durward.ChangedMeanwhile, Op: "undo", Hint: "look at it, and take it out by hand",
			Err: fmt.Errorf("the entry %q of %s is not the one that durward wrote: it leads to %s", c.name, c.file, c.foundAt(c.text.Raw(c.name))),
		}
	}
	return c.takeEntryOut(known)
}

// takeEntryOut is for a file that was changed since.
func (c *clientChange) takeEntryOut(known *deed) error {
	if known.Replaced != "" {
		c.done = []string{"put back the " + c.name + " that was there before"}
		return c.refused(c.text.Restore(c.name, known.Replaced))
	}
	c.done = []string{"removed " + c.name + " alone, as the file was changed since,"}
	if err := c.text.Remove(c.name, known.Bare); err != nil {
		return c.refused(err)
	}
	if known.Was == "" && c.text.Empty() {
		c.gone, c.data.Removed = true, true
	}
	return nil
}

// putBack makes the change, and forgets what it undoes.
func (c *clientChange) putBack(known *deed, now []byte) error {
	var err error
	if c.gone {
		err = known.removeMade(c.was)
	} else {
		err = unreplaced(replace.Swap(c.file, c.was, now))
	}
	if err != nil {
		return err
	}
	return c.forget(known)
}
