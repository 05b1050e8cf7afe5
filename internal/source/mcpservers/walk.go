package mcpservers

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/pathguard"
)

// The bounds of the arguments of one call.
const (
	maxLevels = 64   // of objects and arrays within them
	maxPaths  = 4096 // to be judged
	maxPath   = 4096 // bytes of one
)

// maxGiven bounds what a refusal repeats of the arguments.
const maxGiven = 512

// A Judge says of a path whether it leads to what is inside the sandbox directory, and gives it
// from the root of the machine. A [pathguard.Guard] is one.
type Judge interface {
	JudgeForeign(ctx context.Context, path string) (string, error)
}

// A walk goes through the arguments of one call and judges what holds paths.
type walk struct {
	members
	judge Judge
	// verbatim leaves relative paths as they are.
	verbatim bool
	// dir is the server's working directory; empty is the sandbox directory.
	dir string

	ctx    context.Context
	text   []byte
	frames []frame
	paths  int
	edits  []edit
}

// An edit puts another string in the place of a part of the text.
type edit struct {
	from, to int
	path     string
}

// through judges the arguments, which were checked to be strict JSON, and gives what the server
// gets: the same bytes, but for the paths that are put in the place of relative ones. The
// detail of a refusal has the members "pointer", "rule" and "given".
func (w *walk) through(ctx context.Context, text json.RawMessage) (json.RawMessage, error) {
	w.ctx, w.text = ctx, text
	for t := range jsonx.Tokens(text) {
		if err := w.token(t); err != nil {
			return nil, err
		}
	}
	return w.edited(), nil
}

func (w *walk) token(t jsonx.Token) error {
	switch t.Kind {
	case 'k':
		w.frames[len(w.frames)-1].name = unquoted(w.text[t.From:t.To])
		return nil
	case '}', ']':
		w.frames = w.frames[:len(w.frames)-1]
		w.next()
		return nil
	}
	path, place := w.holds()
	switch t.Kind {
	case '{', '[':
		if len(w.frames) > maxLevels {
			return w.refuse(durward.BadCall, "tooDeep", "", fmt.Sprintf("it is nested deeper than %d levels", maxLevels))
		}
		array := t.Kind == '['
		w.frames = append(w.frames, frame{array: array, path: path && array, place: place && array})
		return nil
	case '"':
		if path {
			if err := w.string(t, place); err != nil {
				return err
			}
		}
	case '0', 't', 'f':
		if path && w.fileServer {
			return w.refuse(durward.WrongType, "notAPath", string(w.text[t.From:t.To]), "a path is a string")
		}
	}
	w.next()
	return nil
}

// holds reports whether the value at hand is a path, or holds some.
func (w *walk) holds() (path, place bool) {
	if len(w.frames) == 0 {
		return false, false
	}
	if f := &w.frames[len(w.frames)-1]; f.array {
		path, place = f.path, f.place
	} else {
		path, place = w.holdsPath(f.name)
	}
	for _, steps := range w.pointers {
		path = path || pointsAt(steps, w.frames)
	}
	return path, place
}

// next counts the elements of an array.
func (w *walk) next() {
	if n := len(w.frames); n > 0 {
		w.frames[n-1].index++
	}
}

func (w *walk) string(t jsonx.Token, place bool) error {
	if w.paths++; w.paths > maxPaths {
		return w.refuse(durward.BadCall, "tooManyPaths", "", fmt.Sprintf("there are more than %d paths", maxPaths))
	}
	given := string(unquoted(w.text[t.From:t.To]))
	if isURI(given) {
		return w.uri(given)
	}
	full, err := w.judge.JudgeForeign(w.ctx, given)
	if bare := trimmed(given); err == nil && bare != given && hasFileScheme(bare) {
		_, err = w.judge.JudgeForeign(w.ctx, bare)
	}
	switch {
	case err != nil:
		return w.refused(given, err)
	case !isRelative(given):
		return nil
	case !place || w.verbatim:
		return w.refused(given, w.fromDir(given))
	case !utf8.ValidString(full):
		return w.refuse(durward.NameNotText, "notText", given, durward.NameNotText.Summary())
	}
	w.edits = append(w.edits, edit{t.From, t.To, full})
	return nil
}

// fromDir judges a relative path that the server gets as it is and may take from its own working
// directory. Where that is outside the sandbox directory all is outside: then only a file server
// is refused, for with others such a member may hold no path at all.
func (w *walk) fromDir(given string) error {
	if w.dir == "" {
		return nil
	}
	if _, err := w.judge.JudgeForeign(w.ctx, w.dir); err != nil && !w.fileServer {
		return nil
	}
	_, err := w.judge.JudgeForeign(w.ctx, w.dir+"/"+given)
	return err
}

// isURI reports whether a string is one of another scheme than file, which names no path.
func isURI(text string) bool {
	scheme, _, ok := strings.Cut(text, "://")
	if !ok || len(scheme) < 2 || strings.EqualFold(scheme, "file") {
		return false
	}
	for i, c := range []byte(scheme) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || !('0' <= c && c <= '9') && c != '+' && c != '.' && c != '-') {
			return false
		}
	}
	return true
}

func hasFileScheme(text string) bool { return len(text) >= 5 && strings.EqualFold(text[:5], "file:") }

// isRelative reports whether a path, or the one in a file: URI, is not from the root.
func isRelative(text string) bool {
	if hasFileScheme(text) {
		text = text[5:]
	}
	return !filepath.IsAbs(text)
}

// uri judges what is no path, and stays as it is. A server that takes it for one all the same
// must not come out by it: "x://../../etc" is a way up from a directory called "x:".
func (w *walk) uri(given string) error {
	switch {
	case w.fileServer:
		return w.refuse(durward.BadPath, "uriScheme", given, "it is a URI of another scheme than file")
	case len(given) <= maxPath:
		_, err := w.judge.JudgeForeign(w.ctx, given)
		return w.refused(given, err)
	case pathguard.GoesUp(given): // nothing opens it as it is, but somebody may resolve the dots first
		return w.refuse(durward.OutsideRoot, "outsideSandbox", given, durward.OutsideRoot.Summary())
	}
	return nil
}

// trimmed gives a text as those read it who drop white space and control characters from URIs.
func trimmed(text string) string {
	text = strings.TrimFunc(text, func(c rune) bool { return c <= ' ' })
	return strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(text)
}

// refused tells which argument the judge refused, if it did. The end of the call is no refusal.
func (w *walk) refused(given string, err error) error {
	e := durward.AsError(err)
	if e == nil || e.Rule == "" {
		return err
	}
	return w.refuse(e.Reason, e.Rule, given, e.Reason.Summary())
}

func (w *walk) refuse(reason durward.Reason, rule, given, what string) error {
	pointer, given := clip(pointerTo(w.frames)), clip(given)
	return &durward.Error{
		Reason: reason, Op: "bind", Rule: rule, Path: given, Hint: "name a path within the sandbox directory, as it is",
		Err: durward.Detail{
			Members: map[string]any{"pointer": pointer, "rule": rule, "given": given},
			Err:     fmt.Errorf("%s: %q: %s", pointer, given, what),
		},
	}
}

// clip bounds what is repeated.
func clip(text string) string {
	if len(text) <= maxGiven {
		return text
	}
	return strings.ToValidUTF8(text[:maxGiven], "") + "…"
}

// edited gives the text with the paths that were put in.
func (w *walk) edited() json.RawMessage {
	if len(w.edits) == 0 {
		return w.text
	}
	size := len(w.text)
	for _, e := range w.edits {
		size += len(e.path) + 2
	}
	out, done := make([]byte, 0, size), 0
	for _, e := range w.edits {
		out = jsonx.AppendString(append(out, w.text[done:e.from]...), e.path)
		done = e.to
	}
	return append(out, w.text[done:]...)
}
