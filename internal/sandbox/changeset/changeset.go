// Package changeset reads what a command changed in a copy of its workspace, and makes these
// changes in the workspace itself.
//
// The copy is a mount of overlayfs: the workspace is its lower directory, and all that the
// command writes lands in an upper directory, which is read when the command is dead:
//
//	A  docs/new.txt    stands in upper, and nothing does in lower
//	M  main.go         another content, or other permission bits, than in lower
//	D  old             what hides it stands in upper; all that it held is listed, too
//	T  conf            a file where a directory was, or the other way round, or a link, …
//
// What was only copied up, unchanged, is no change. Owners, times and extended attributes
// are not compared, nor are the permission bits of the workspace itself.
//
// Both trees are hostile: in one a command did what it liked, and in the other somebody may
// still be at it. They are walked by descriptor; no link is followed, no mount entered, and
// nothing but regular files opened.
//
// Applying is for the whole list. Each change is judged before anything is done, all that is
// new is written beside its place before anything gets its name, and what is replaced or
// deleted is set aside until all has its place. So a failure on the way is taken back.
package changeset

import (
	"errors"
	"fmt"
	"os"

	"github.com/durward/durward"
)

// Layers are the directories of one overlay, once nothing writes to it any more. It was
// mounted with index=off and metacopy=off, and with redirect_dir=off, or nofollow where that
// is refused: with userxattr. What such a mount does not note is not understood. The
// descriptors may be such as only name a place. They stay the caller's, and open for as
// long as the [Set] is used.
type Layers struct {
	// Path is that of the lower directory, absolute and physical, as the grant has it.
	Path  string
	Lower *os.File
	Upper *os.File
	// UserAttributes says that it was mounted with userxattr: what overlayfs notes about a
	// file is in user.overlay.*, not in trusted.overlay.*. To read the latter takes
	// CAP_SYS_ADMIN; they cannot be seen without it.
	UserAttributes bool
	// UID and GID are whom the command ran as.
	UID, GID uint32
	// Owned says that what belongs to root was shown as theirs. So what is theirs in upper is
	// root's on the machine.
	Owned bool
}

// A Kind says what became of a path.
type Kind string

// The kinds.
const (
	Added       Kind = "A"
	Modified    Kind = "M"
	Deleted     Kind = "D"
	TypeChanged Kind = "T"
)

// A Form is what can stand at a path. The empty one is nothing.
type Form string

// The forms.
const (
	Nothing     Form = ""
	File        Form = "file"
	Directory   Form = "directory"
	Symlink     Form = "symbolic link"
	CharDevice  Form = "character device"
	BlockDevice Form = "block device"
	FIFO        Form = "FIFO"
	Socket      Form = "socket"
)

// A Change is what became of one path.
type Change struct {
	// Path is relative to the workspace. In JSON, bytes of it that are not UTF-8 are
	// replaced; Raw has them then.
	Path string `json:"path"`
	Kind Kind   `json:"kind"`
	// Size is that of a file in bytes, of a deleted one what it had; else zero.
	Size int64 `json:"size"`
	// SHA256 is that of the new content of a file, in hex. All else has none.
	SHA256 string `json:"sha256,omitempty"`
	// Raw is Path where that is not UTF-8, and else nil.
	Raw []byte `json:"raw,omitempty"`

	// Was and Is are what stood there and what does now.
	Was Form `json:"-"`
	Is  Form `json:"-"`
	// Refused is why this is not applied, whatever the grant says; or empty.
	Refused durward.Reason `json:"-"`
	// Bare is set when the file has extended attributes, which are not applied.
	Bare bool `json:"-"`
}

// A Partial is the cause of an error with reason [durward.PartlyApplied]: Apply had begun,
// and what it had done could not all be taken back. Paths are absolute.
type Partial struct {
	// Applied and Left are the changes that are made and those that are not. Apply may be
	// called again for what is left.
	Applied, Left []string
	// Remains are what could not be removed: files of ours, what was set aside, or what
	// somebody put in the place of either. Look before you remove it.
	Remains []string
	// Err is what went wrong first.
	Err error
}

// Error tells it in one line.
func (p *Partial) Error() string {
	text := fmt.Sprintf("%d changes were applied and %d were not", len(p.Applied), len(p.Left))
	if len(p.Remains) > 0 {
		text += fmt.Sprintf("; %s remains and is to be looked at, it may be of others", quoted(p.Remains[0]))
	}
	return text + ": " + p.Err.Error()
}

// Unwrap gives what went wrong first.
func (p *Partial) Unwrap() error { return p.Err }

const opRead, opApply = "changes.read", "changes.apply"

func refusal(op string, reason durward.Reason, rule, hint, path, format string, args ...any) error {
	return &durward.Error{Reason: reason, Op: op, Rule: rule, Hint: hint, Err: fmt.Errorf("%s: %w", quoted(path), fmt.Errorf(format, args...))}
}

// errChanged says that something was not what it had been.
var errChanged = errors.New("it changed meanwhile")

// errFixed is for a directory that an overlay has from one of its lower layers: the file
// system of a container, say.
var errFixed = errors.New("its file system cannot rename it, so that it cannot be replaced at once")

// quoted gives a path for an error. A command may have made it as long as it liked.
func quoted(path string) string {
	const part = 120
	if len(path) > 2*part {
		path = path[:part] + "…" + path[len(path)-part:]
	}
	return fmt.Sprintf("%q", path)
}
