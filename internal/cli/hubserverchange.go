package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config/edit"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/hubedit"
)

// A serversChange is the configuration of a hub together with what is to become of its text.
type serversChange struct {
	*hubEstate
	textChange
	// foreign is set where others may have written what is added, as in a file that came with a folder. No trust goes along
	// with that.
	foreign bool
}

// changeServers reads the configuration to change it. One that begins has a text to begin with
// where there is none.
func (x *hubServing) changeServers(dryRun, begins, starts bool) (*serversChange, error) {
	e, err := x.estate(starts)
	if err != nil {
		return nil, err
	}
	c := &serversChange{hubEstate: e, textChange: textChange{program: x.program, file: e.settings.file, dryRun: dryRun}}
	f, err := e.readServers(e.settings)
	c.was = f.Text
	if begins && errors.Is(err, fs.ErrNotExist) {
		c.first, c.was, err = true, []byte(hubedit.Seed), nil
	}
	if err != nil {
		return nil, &durward.Error{
			Reason: durward.ConfigInvalid, Op: "read servers", Hint: "name a file that can be read: --config FILE; durward server add makes a first one",
			Err: fmt.Errorf("%s: %w", c.file, err),
		}
	}
	c.text, err = edit.Parse(c.file, c.was)
	return c, c.refused(err)
}

// judge reads the text as it would be then, and gives what it says.
func (c *serversChange) judge() (*hubconfig.Config, error) {
	place := c.place()
	setting := hubconfig.Setting{Dir: filepath.Dir(place.File), Workspace: place.Sandbox, Home: place.Home, Environ: place.Environ}
	read, problems := hubconfig.Parse(c.file, c.text.Bytes(), setting)
	return read, c.refused(problems.Err())
}

// finishServers judges the new text, has it take the place of the former one, and tells.
func (c *serversChange) finishServers() error {
	if _, err := c.judge(); err != nil {
		return err
	}
	data, err := c.made()
	if err != nil {
		return err
	}
	if c.json {
		return c.print(data)
	}
	return c.tellChange(data)
}

// refused says of the mistakes that a change would lead to that it was not made.
func (c *serversChange) refused(err error) error {
	return unmade(err, durward.ConfigInvalid, "change servers",
		"nothing was changed; the lines are those of the changed text. Mend what is named, or change the file by hand")
}
