//go:build linux || darwin

package denyglob

import (
	"errors"
	"io/fs"
	"slices"
)

const narrow = "narrow the pattern, or deny the directory that holds so much"

func (w *walk) tooManyPaths() error {
	most := slices.Index(w.hits, slices.Max(w.hits))
	return refusal(narrow, "more than %d paths match, most of them %s", w.limits.paths, quoted(w.patterns[most]))
}

func (w *walk) tooManyNames() error {
	return refusal(narrow, "to search for %s takes looking at more than %d names; %s was reached", w.named(w.awaited(), w.open), w.limits.names, quoted(w.here()))
}

func (w *walk) tooMuchMemory() error {
	return refusal(narrow, "to search for %s takes keeping more than %d bytes of names in mind; %s was reached", w.named(w.awaited(), w.open), w.limits.bytes, quoted(w.here()))
}

func (w *walk) tooLong(path string) error {
	const hint = "remove it, or deny a directory above it"
	return refusal(hint, "%s matches %s, which is too long a path to be denied", w.named(w.next, w.ends), quoted(path))
}

// link is for a name whose path was physical when it was written down, in a pattern or
// in the view, and is not now.
func (w *walk) link(name string, step int) error {
	const hint = "reload the policy if the link is meant to be there, and else remove it"
	pattern := w.patterns[w.steps[step].pattern]
	return refusal(hint, "%s leads over %s, which has become a symbolic link since the policy was read", quoted(pattern), quoted(w.at(name)))
}

// unread is for a directory that cannot be searched for what it would be searched for.
func (w *walk) unread(path string, sought states, err error) error {
	var inner *fs.PathError
	if errors.As(err, &inner) {
		err = inner.Err
	}
	const hint = "let the runtime's user read it, or deny it as a whole"
	return refusal(hint, "%s cannot be searched for %s: %w", quoted(path), w.named(sought, w.open), err)
}

// changed is for a directory that is not to be found any more from what lay in it.
func (w *walk) changed(path string, err error) error {
	e := refusal("try again", "%s changed while it was searched: %w", quoted(path), err)
	e.Retry = true
	return e
}

// named gives the pattern of a step that both have, or else of the first in at.
func (w *walk) named(at, of states) string {
	return quoted(w.patterns[w.steps[w.first(at, of)].pattern])
}
