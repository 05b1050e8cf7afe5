package release

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/smallfile"
)

// What the files of a release may be at most; bytes.
const (
	maxPointer   = 256
	maxSums      = 256 << 10
	maxSignature = 16 << 10
	maxAsset     = 128 << 20
)

// errTooLarge says that a file is larger than it may be.
var errTooLarge = errors.New("it is larger than it may be")

// A Source is where releases are taken from.
type Source interface {
	// Newest finds the newest release of a channel for a system. Nothing of it is to be
	// believed before it is verified.
	Newest(ctx context.Context, c Channel, s System) (*Release, error)
}

// A System is what an asset is made for.
type System struct{ OS, Arch string }

func (s System) String() string { return s.OS + "/" + s.Arch }

// program is the name of the program in an archive for this system.
func (s System) program() string {
	if s.OS == "windows" {
		return "durward.exe"
	}
	return "durward"
}

func (s System) asset(v Version) string {
	return fmt.Sprintf("durward_%s_%s_%s.tar.gz", v, s.OS, s.Arch)
}

// version reads the version out of the name of an asset for this system.
func (s System) version(asset string) (Version, bool) {
	begin, end, _ := strings.Cut(s.asset("*"), "*")
	text, ok := strings.CutPrefix(asset, begin)
	text, too := strings.CutSuffix(text, end)
	v, err := ParseVersion(text)
	return v, ok && too && err == nil
}

// only gives the one version that these assets are of, as far as they are for this system.
func (s System) only(assets []string) (only Version, ok bool) {
	for _, name := range assets {
		if v, is := s.version(name); is {
			if ok {
				return "", false
			}
			only, ok = v, true
		}
	}
	return only, ok
}

// A Folder is a folder of this machine that is a release, or holds some.
type Folder string

// Newest looks for the release, or among the releases in the folder for the newest.
func (f Folder) Newest(_ context.Context, c Channel, s System) (*Release, error) {
	dir := string(f)
	if _, err := os.Stat(filepath.Join(dir, sumsName)); err == nil {
		return f.alone(c, s)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, missing("name a folder with a release in it", err)
	}
	var newest *Release
	for _, entry := range entries {
		v, ok := folderVersion(entry.Name())
		if !ok || !c.has(v) || newest != nil && !newest.Wanted.Older(v) {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		if _, err := os.Stat(filepath.Join(path, sumsName)); err == nil {
			newest = Folder(path).release(v, c, s)
		}
	}
	if newest == nil {
		return nil, missing("name a folder with "+sumsName+" in it, or with such folders named by their version; --channel chooses among these",
			fmt.Errorf("%s holds no release of channel %s", dir, c))
	}
	return newest, nil
}

// alone gives the one release that the folder is. Where its own name says no version, those
// of its assets do.
func (f Folder) alone(c Channel, s System) (*Release, error) {
	path, err := filepath.Abs(string(f))
	if err != nil {
		return nil, err
	}
	wanted, ok := folderVersion(filepath.Base(path))
	if !ok {
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, missing("see that the folder can be read", err)
		}
		names := make([]string, len(entries))
		for i, entry := range entries {
			names[i] = entry.Name()
		}
		wanted, _ = s.only(names)
	}
	return Folder(path).release(wanted, c, s), nil
}

func (f Folder) release(wanted Version, c Channel, s System) *Release {
	return &Release{Wanted: wanted, Where: string(f), channel: c, system: s, read: f.read}
}

func (f Folder) read(_ context.Context, name string, most int64) ([]byte, error) {
	text, err := smallfile.Read(filepath.Join(string(f), name), most, func(info fs.FileInfo) error {
		if info.Size() > most {
			return errTooLarge
		}
		return nil
	})
	if errors.Is(err, syscall.ENOTDIR) {
		err = fs.ErrNotExist
	}
	return text, err
}

// missing says that there is no such release.
func missing(fix string, err error) error {
	return &durward.Error{Reason: durward.ReleaseNotFound, Op: "find the release", Hint: fix, Err: err}
}
