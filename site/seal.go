package site

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/content"
	"github.com/durward/durward/internal/engine/process"
	"github.com/durward/durward/internal/fsroot"
	"github.com/durward/durward/internal/sandbox"
	"github.com/durward/durward/internal/source/pages"
)

// Who can write a page with components can run anything. So components are run only on
// pages that the user of their commands cannot write, and could not when the site was
// built. Of pages from elsewhere, and commands that run elsewhere, the embedding program
// knows.

// seal finds those pages, and tells of the others that have components.
func (b *builder) seal(g durward.Grant) error {
	if !b.config.Components || b.local == nil || b.engine == nil {
		return nil
	}
	seal, err := sealed(context.Background(), b.local, b.engine, g)
	if err != nil {
		return err
	}
	b.live = seal.Holds
	if b.config.Logger == nil {
		return nil
	}
	for _, path := range idle(context.Background(), b.local, seal) {
		b.config.Logger.Warn(whyIdle, "page", path)
	}
	return nil
}

// warn tells of files that are not served although they lie in the site, where commands
// can read them all the same.
func (b *builder) warn(g durward.Grant) {
	if b.local == nil || b.engine == nil || b.config.Logger == nil || conceals(g) {
		return
	}
	uid, gids, err := b.engine.User(g, b.local.Root())
	if err != nil {
		return // no command runs there
	}
	user := content.User{UID: uid, GIDs: gids}
	for _, path := range b.config.Hidden {
		below, ok := fsroot.Below(b.local.Root(), path)
		if !ok {
			continue
		}
		if can, err := user.CanRead(path); err == nil && can {
			b.config.Logger.Warn("this file is not served, but the commands of the site can read it: keep it elsewhere", "file", below)
		}
	}
}

// holds refuses to begin where no command could be held to what the operator wrote. A
// built-in policy steps down instead.
func (b *builder) holds(g durward.Grant) error {
	if b.local == nil || b.engine == nil || g.StepDown {
		return nil
	}
	return b.engine.Holds(context.Background(), g, b.local.Root())
}

// conceals reports whether commands do not see what they are denied.
func conceals(g durward.Grant) bool {
	confined := g.Mode.Confines()
	return confined && (g.Level == durward.LevelAuto || g.Level == durward.LevelIsolate) && sandbox.Probe().Level(durward.LevelIsolate) == nil
}

const whyIdle = "the blocks marked component are shown and not run: the commands of this page run as a user who can write it"

func sealed(ctx context.Context, local *content.Local, engine *process.Engine, g durward.Grant) (*content.Seal, error) {
	return local.Seal(ctx, func(dir string) (content.User, error) {
		uid, gids, err := engine.User(g, dir)
		return content.User{UID: uid, GIDs: gids}, err
	})
}

// idle gives the pages whose components are not run.
func idle(ctx context.Context, local *content.Local, seal *content.Seal) (paths []string) {
	for path := range seal.Unsealed() {
		if hasComponents(ctx, local, path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// hasComponents looks at a page; one that went away has none.
func hasComponents(ctx context.Context, local *content.Local, path string) bool {
	c, err := local.Resolve(ctx, path)
	if err != nil {
		return false
	}
	defer c.Body.Close()
	document, err := c.ReadAll(pages.MaxPageBytes)
	return err == nil && len(pages.Components(document)) > 0
}

// checkComponents finds the pages whose components would not be run.
func (c Config) checkComponents(ctx context.Context, local *content.Local, g durward.Grant) (found []Finding, err error) {
	if !c.Components {
		return nil, nil
	}
	engine := process.New(process.Options{})
	defer engine.Close()
	seal, err := sealed(ctx, local, engine, g)
	if err != nil {
		return nil, err
	}
	for _, path := range idle(ctx, local, seal) {
		where := durward.Position{File: filepath.Join(c.Root, filepath.FromSlash(path))}
		found = append(found, Finding{Where: where, Message: fmt.Sprintf("%s; give the page and its directory to another user", whyIdle)})
	}
	return found, nil
}
