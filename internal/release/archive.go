package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// What an archive may be at most; bytes.
const (
	maxEntries  = 4096
	maxProgram  = 256 << 20
	maxUnpacked = 512 << 20
)

// unpack gives the program that an archive holds, which may unpack to so many bytes. An archive
// with a single entry that it should not have is refused as a whole, whatever would become of
// the entry.
func unpack(archive []byte, program string, most int64) ([]byte, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, fmt.Errorf("the archive: %w", err)
	}
	limited := &io.LimitedReader{R: unzipped, N: most}
	found, err := find(tar.NewReader(limited), program)
	if err == nil { // what stands behind the last entry is part of the file, too
		_, err = io.Copy(io.Discard, limited)
	}
	switch {
	case limited.N <= 0:
		return nil, fmt.Errorf("the archive unpacks to more than %d bytes", most)
	case err != nil:
		return nil, fmt.Errorf("the archive: %w", err)
	case found == nil:
		return nil, fmt.Errorf("the archive holds no %s", program)
	}
	return found, nil
}

// find reads all entries and gives the program, or nil.
func find(entries *tar.Reader, program string) (found []byte, err error) {
	seen := map[string]bool{}
	for {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err == nil {
			err = admit(entry, seen)
		}
		if err == nil && entry.Name == program {
			found, err = readProgram(entry, entries)
		}
		if err != nil {
			return nil, err
		}
	}
}

// admit refuses an entry that is no plain file or folder below the place it is unpacked to.
func admit(entry *tar.Header, seen map[string]bool) error {
	name := strings.TrimSuffix(entry.Name, "/")
	same := strings.ToLower(name) // some systems hold these for one file
	switch {
	case !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\\:\x00"):
		return fmt.Errorf("the entry %q leads out of it", entry.Name)
	case entry.Typeflag != tar.TypeReg && entry.Typeflag != tar.TypeDir:
		return fmt.Errorf("the entry %q is no file and no folder", entry.Name)
	case entry.Mode&^0o777 != 0:
		return fmt.Errorf("the entry %q has the mode %o", entry.Name, entry.Mode)
	case seen[same]:
		return fmt.Errorf("the entry %q is there twice", entry.Name)
	case len(seen) == maxEntries:
		return fmt.Errorf("there are more than %d entries", maxEntries)
	}
	seen[same] = true
	return nil
}

func readProgram(entry *tar.Header, content io.Reader) ([]byte, error) {
	if entry.Typeflag != tar.TypeReg || entry.Size == 0 || entry.Size > maxProgram {
		return nil, fmt.Errorf("%q is no file of 1 to %d bytes", entry.Name, maxProgram)
	}
	return io.ReadAll(io.LimitReader(content, maxProgram))
}
