// Package trust remembers which files of projects somebody has trusted as they were.
//
// A file that came with a project may say what is started and how that is held, and so it is
// obeyed only after a person has said so. What is trusted is a content at a place: the SHA-256
// of the text together with the physical path. Any edit ends it, and so does a move.
//
// The list is a file of the user's own, outside of every project:
//
//	{"files":[{"path":"/home/me/project/durward.yaml","sha256":"3b1f…","at":"2026-02-03T04:05:06Z"}]}
//
// A file is read once, and what was read is what is judged: see [File].
package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/fsroot"
	"github.com/durward/durward/internal/smallfile"
)

// A State says how a file is beside what was trusted.
type State string

const (
	// Untrusted files have not been trusted at this place, whatever is in them.
	Untrusted State = "untrusted"
	Trusted   State = "trusted"
	// Changed files hold something else than what was trusted, or cannot be read.
	Changed State = "changed"
	// Missing files are not at their place any more.
	Missing State = "missing"
)

// A File is a file as it was read.
type File struct {
	// Path is the physical path of what was opened.
	Path string
	Text []byte
}

// SHA256 gives the digest of the text, in 64 hexadecimal digits.
func (f File) SHA256() string {
	sum := sha256.Sum256(f.Text)
	return hex.EncodeToString(sum[:])
}

// Read reads a regular file of at most [config.MaxBytes]. Text and path are those of one
// descriptor. No error names the file.
func Read(path string) (File, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return File{}, err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return File{}, errors.New("it is no regular file") // to open a device may do something
	}
	f, _, err := smallfile.Open(path)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	physical, err := fsroot.PhysicalPath(f)
	if err != nil {
		return File{}, err
	}
	text, err := smallfile.Text(f, config.MaxBytes)
	return File{Path: physical, Text: text}, err
}

// An Entry is a file that was trusted.
type Entry struct {
	Path   string    `json:"path"`
	SHA256 string    `json:"sha256"`
	At     time.Time `json:"at"`
}

// State reads the file and says how it is now: Trusted, Changed or Missing.
func (e Entry) State() State {
	f, err := Read(e.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && f.Path != e.Path:
		return Missing
	case err != nil || f.SHA256() != e.SHA256:
		return Changed
	}
	return Trusted
}
