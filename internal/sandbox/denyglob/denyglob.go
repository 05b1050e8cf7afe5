// Package denyglob finds the paths that patterns of denied paths match now.
//
// A pattern is absolute and is matched against physical paths, name by name and on their
// bytes:
//
//	/home/ann/work/**/.env    .env in work, at any depth
//	/home/ann/work/*/[ab].key a.key or b.key, one directory down
//
// Between two slashes * stands for any number of characters, ? for one, [a-c] for one of
// these, [^a-c] for one that is none of them, and a backslash takes the meaning from what
// follows it. ** stands alone, for any number of names: none, too.
//
// A pattern that finds less than it should would be a denial that does not apply. So
// whatever keeps a search from being complete is an error, and nothing has to be run then.
package denyglob

import (
	"context"
	"fmt"

	"github.com/durward/durward"
)

// What one expansion may come to.
const (
	maxPaths = 10_000
	maxNames = 1_000_000
	// maxBytes bounds what is kept in mind of a tree: the way down, and the names of
	// directories still to be searched.
	maxBytes = 16 << 20
)

type limits struct{ paths, names, bytes int }

// Expand gives the paths that exist now and that the patterns match, sorted, each once;
// of what lies beneath a match nothing, as it is denied with it.
//
// within bounds the search: only what lies in or above one of these paths can be seen by
// the command at all, and the rest is not looked at. They are absolute and physical; "/"
// is allowed, and at least one is needed where there are patterns.
//
// A symlink that matches is given by its own path, and none is followed. One that has
// come to stand in a path of within, or in a pattern before its first wildcard, is an
// error: it leads to where the pattern denies nothing.
//
// A directory that cannot be read is an error, too, unless the command cannot reach a
// name in it either. The command is taken to run as the user of this process or as one
// who may less; that of root may run as anybody.
//
// More than 10 000 paths, more than 1 000 000 names to look at, or a path too long for
// the kernel are errors. All errors have reason SandboxError, or SandboxUnavailable where
// the system offers no way to search; but when ctx ends first, its cause is given. A tree
// that others change meanwhile is searched as it is found.
func Expand(ctx context.Context, patterns, within []string) ([]string, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	return expand(ctx, patterns, within, limits{maxPaths, maxNames, maxBytes})
}

func refusal(hint, format string, args ...any) *durward.Error {
	return &durward.Error{
		Reason: durward.SandboxError, Op: "expand deny", Rule: "filesystem.deny", Hint: hint, Err: fmt.Errorf(format, args...),
	}
}

// quoted gives a path or a pattern for an error. Whoever made the tree may have made the
// path as long as he liked.
func quoted(text string) string {
	const part = 120
	if len(text) <= 2*part {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%q…%q", text[:part], text[len(text)-part:])
}
