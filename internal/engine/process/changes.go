package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
	"github.com/durward/durward/internal/safetext"
	"github.com/durward/durward/internal/sandbox"
	"github.com/durward/durward/internal/sandbox/changeset"
)

// changes are what was written to the copies of one run.
type changes struct {
	files  durward.Files // what the grant says about them
	copies []sandbox.Copy
	sets   []*changeset.Set
}

// readChanges looks at what was written to copies, once the tree is dead, as long as the call
// has time. They are nil where the command had no copies, and after an error.
func (r *run) readChanges(ctx context.Context) (durward.Changes, error) {
	copies := r.proc.Copies()
	if len(copies) == 0 {
		return nil, nil
	}
	c := &changes{files: r.grant.Files, copies: copies}
	for _, one := range copies {
		set, err := readCopy(ctx, one, r.grant.Limits.Tmp)
		if err != nil {
			r.dropCopies()
			return nil, err
		}
		c.sets = append(c.sets, set)
	}
	return c, nil
}

func readCopy(ctx context.Context, c sandbox.Copy, maxBytes int64) (*changeset.Set, error) {
	owned, err := c.Owned()
	if err != nil {
		return nil, &durward.Error{Reason: durward.SandboxError, Op: "changes.read", Rule: "filesystem.copyOnWrite", Hint: "run durward doctor", Err: err}
	}
	return changeset.Read(ctx, changeset.Layers{
		Path: c.Path, Lower: c.Lower, Upper: c.Upper, UserAttributes: c.UserAttributes, UID: c.UID, GID: c.GID, Owned: owned,
	}, maxBytes)
}

// dropCopies gives up what was written to copies, without a look. It may be much: no answer
// waits until all is gone.
func (r *run) dropCopies() {
	copies := r.proc.Copies()
	if len(copies) == 0 {
		return
	}
	r.engine.later.Go(func() {
		_ = (&changes{copies: copies}).Close() // nobody is left to tell
	})
}

func (c *changes) List() []durward.Change {
	list := []durward.Change{}
	for i, set := range c.sets {
		for _, one := range set.Changes() {
			name := one.Path
			if one.Raw != nil {
				name = string(one.Raw)
			}
			path := filepath.Join(c.copies[i].Path, name)
			change := durward.Change{Path: path, Kind: string(one.Kind), Size: one.Size, SHA256: one.SHA256}
			if !utf8.ValidString(path) {
				change.Raw = []byte(path)
			}
			list = append(list, change)
		}
	}
	return list
}

func (c *changes) Show(w io.Writer) error {
	for i, set := range c.sets {
		if len(set.Changes()) == 0 {
			continue
		}
		if len(c.sets) > 1 {
			if _, err := fmt.Fprintf(w, "in %s:\n", safetext.Line(c.copies[i].Path)); err != nil {
				return err
			}
		}
		if err := set.Show(w); err != nil {
			return err
		}
	}
	return nil
}

func (c *changes) Whole() bool {
	return !slices.ContainsFunc(c.sets, func(set *changeset.Set) bool { return !set.Whole() })
}

// Apply takes any file system that holds files, as the command does without a copy: no grant
// says otherwise.
func (c *changes) Apply(ctx context.Context) error {
	return changeset.Apply(ctx, c.files, fsroot.Rules{AllowNetworkFS: true}, c.sets...)
}

// Close lets go of the copies.
func (c *changes) Close() error {
	var err error
	for _, one := range c.copies {
		err = errors.Join(err, one.Close())
	}
	c.copies, c.sets = nil, nil
	return err
}
