package site

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/content"
	"github.com/durward/durward/internal/engine/process"
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
	seal, err := sealed(b.local, b.engine, g)
	if err != nil {
		return err
	}
	b.live = seal.Holds
	if b.config.Logger == nil {
		return nil
	}
	return eachIdle(context.Background(), b.local, seal, func(path string) {
		b.config.Logger.Warn(whyIdle, "page", path)
	})
}

// warn tells of files that are not served although they lie in the site, where commands
// can read them all the same.
func (b *builder) warn(g durward.Grant) {
	if b.local == nil || b.engine == nil || b.config.Logger == nil {
		return
	}
	uid, gids, err := b.engine.User(g, b.local.Root())
	if err != nil {
		return // no command runs there
	}
	user := content.User{UID: uid, GIDs: gids}
	for _, path := range b.config.Hidden {
		below, err := filepath.Rel(b.local.Root(), path)
		if err != nil || !filepath.IsLocal(below) {
			continue
		}
		if can, err := user.CanRead(path); err == nil && can {
			b.config.Logger.Warn("this file is not served, but the commands of the site can read it: keep it elsewhere", "file", below)
		}
	}
}

const whyIdle = "the blocks marked component are shown and not run: the commands of this page run as a user who can write it"

func sealed(local *content.Local, engine *process.Engine, g durward.Grant) (*content.Seal, error) {
	return local.Seal(context.Background(), func(dir string) (content.User, error) {
		uid, gids, err := engine.User(g, dir)
		return content.User{UID: uid, GIDs: gids}, err
	})
}

// eachIdle gives the pages whose components are not run.
func eachIdle(ctx context.Context, local *content.Local, seal *content.Seal, do func(path string)) error {
	paths, err := local.List(ctx)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if strings.HasSuffix(path, ".md") && isIdle(ctx, local, seal, path) {
			do(path)
		}
	}
	return nil
}

// isIdle reports whether a page has components that are not run.
func isIdle(ctx context.Context, local *content.Local, seal *content.Seal, path string) bool {
	c, err := local.Resolve(ctx, path)
	if err != nil {
		return false // it went away
	}
	defer c.Body.Close()
	if seal.Holds(c) {
		return false
	}
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
	seal, err := sealed(local, engine, g)
	if err != nil {
		return nil, err
	}
	err = eachIdle(ctx, local, seal, func(path string) {
		where := durward.Position{File: filepath.Join(c.Root, filepath.FromSlash(path))}
		found = append(found, Finding{Where: where, Message: fmt.Sprintf("%s; give the page and its directory to another user", whyIdle)})
	})
	return found, err
}
