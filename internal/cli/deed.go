package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config/replace"
	"github.com/durward/durward/internal/smallfile"
)

// A deed is what a command did to a file that a person or another program keeps, so that it can be undone. The
// former text is kept beside it.
type deed struct {
	// Kind is the command, File the physical path of what it changed, and Name what it wrote there: the name of
	// an entry for connect, and where servers came from for import.
	Kind string `json:"kind"`
	File string `json:"file"`
	Name string `json:"name"`
	// Client is whose file it is; only of connect.
	Client string `json:"client,omitempty"`
	// Wrote and Was are digests of the text that was written and of the one before it. Was is empty where there was
	// no file.
	Wrote string `json:"wrote"`
	Was   string `json:"was,omitempty"`
	// Dirs are the folders that were made for the file, innermost first.
	Dirs []string `json:"dirs,omitempty"`
	// Replaced is the entry that was there before, and Bare is set where there was no place for entries.
	Replaced string `json:"replaced,omitempty"`
	Bare     bool   `json:"bare,omitempty"`
	// Command, Args and URL are where the entry leads to.
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	URL     string   `json:"url,omitempty"`
	// Servers are those that were added; only of import.
	Servers []string `json:"servers,omitempty"`
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// deedsDir is the folder of all deeds.
func (p *program) deedsDir() (string, error) {
	dir, err := p.stateDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "undo"), nil
}

// deedPlace gives the file of a deed, and that of the former text.
func (p *program) deedPlace(d deed) (file, former string, err error) {
	dir, err := p.deedsDir()
	if err != nil {
		return "", "", err
	}
	base := filepath.Join(dir, d.Kind+"-"+digestOf([]byte(d.File + "\x00" + d.Name))[:24])
	return base + ".json", base + replace.Backup, nil
}

// deedOf reads what a command did to a file under a name. It is nil where it did nothing.
func (p *program) deedOf(kind, file, name string) (*deed, error) {
	at, _, err := p.deedPlace(deed{Kind: kind, File: file, Name: name})
	if err != nil {
		return nil, err
	}
	return p.readDeed(at)
}

func (p *program) readDeed(at string) (*deed, error) {
	text, err := p.readTrusted(at, mostImported, 5*time.Second)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	d := &deed{}
	if err == nil {
		err = json.Unmarshal(text, d)
	}
	if err != nil {
		return nil, &durward.Error{Reason: durward.FileIO, Op: "undo", Hint: "mend or remove the file that is named", Err: fmt.Errorf("%s: %w", at, err)}
	}
	if place, _, err := p.deedPlace(*d); err != nil || place != at {
		return nil, &durward.Error{
			Reason: durward.FileIO, Op: "undo", Hint: "remove it: " + shellWord(at), Err: fmt.Errorf("%s says what was done to another file than its name does", at),
		}
	}
	return d, nil
}

// deeds lists all of a kind.
func (p *program) deeds(kind string) ([]deed, error) {
	dir, err := p.deedsDir()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []deed
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), kind+"-") || filepath.Ext(e.Name()) != ".json" {
			continue
		}
		d, err := p.readDeed(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, *d)
	}
	return all, err
}

// former gives the text before a deed, if that is kept as it was.
func (p *program) former(d *deed) ([]byte, bool) {
	_, at, err := p.deedPlace(*d)
	if err != nil || d.Was == "" {
		return nil, false
	}
	text, err := smallfile.Read(at, mostImported, nil)
	return text, err == nil && digestOf(text) == d.Was
}

// do keeps a deed together with the former text, nil where there was no file, and then has act change the file.
// If that fails, what was kept before is kept again.
func (p *program) do(d deed, former []byte, act func() error) (backup string, err error) {
	at, beside, err := p.deedPlace(d)
	if err != nil {
		return "", err
	}
	d.Was = ""
	if former != nil {
		d.Was, backup = digestOf(former), beside
	}
	line, err := json.Marshal(d)
	if err != nil {
		return "", err
	}
	undo := func() error { return nil }
	for _, one := range []struct {
		file string
		text []byte
	}{{beside, former}, {at, append(line, '\n')}} {
		back, err := keep(one.file, one.text)
		if err != nil {
			return "", errors.Join(unreplaced(err), undo())
		}
		before := undo
		undo = func() error { return errors.Join(back(), before()) }
	}
	if err := act(); err != nil {
		return "", errors.Join(err, undo())
	}
	return backup, nil
}

// keep has a file of ours hold a text, or not be there where the text is nil. Back has it be as it was.
func keep(file string, text []byte) (back func() error, err error) {
	was, err := smallfile.Read(file, mostImported, nil)
	switch {
	case errors.Is(err, fs.ErrNotExist) && text == nil:
		return func() error { return nil }, nil
	case errors.Is(err, fs.ErrNotExist):
		return func() error { return os.Remove(file) }, replace.First(file, text)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", file, err)
	case text == nil:
		return func() error { return replace.First(file, was) }, os.Remove(file)
	}
	return func() error { return replace.Swap(file, text, was) }, replace.Swap(file, was, text)
}

// forget forgets a deed that is undone, and the folder if it was the last one.
func (p *program) forget(d *deed) error {
	at, beside, err := p.deedPlace(*d)
	if err != nil {
		return err
	}
	err = os.Remove(at)
	if gone := os.Remove(beside); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	_ = os.Remove(filepath.Dir(at)) // unless it holds others
	return err
}

// missingDirs lists the folders that have to be made for a file, innermost first.
func missingDirs(file string) (dirs []string) {
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) || filepath.Dir(dir) == dir {
			return dirs
		}
		dirs = append(dirs, dir)
	}
}

// removeMade takes a file away that a deed made, and the folders that were made for it, as far as nothing else is in them.
func (d *deed) removeMade(text []byte) error {
	if err := replace.Remove(d.File, text); err != nil {
		return unreplaced(err)
	}
	removeDirs(d.Dirs)
	return nil
}

// removeDirs takes folders away, innermost first, as far as nothing is in them. What has come to the place of one, such as a
// link, stays.
func removeDirs(dirs []string) {
	for _, dir := range dirs {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || os.Remove(dir) != nil {
			return
		}
	}
}
