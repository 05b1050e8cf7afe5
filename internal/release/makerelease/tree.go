package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"path"
	"slices"
	"strings"
	"time"
)

// A file is a file, or a folder, that a release holds.
type file struct {
	name       string // with slashes, without one at either end; empty for the top
	folder     bool
	executable bool
	owner      int // the user and the group
	body       []byte
}

func (f file) mode() int64 {
	if f.folder || f.executable {
		return 0o755
	}
	return 0o644
}

// under puts files below a folder.
func under(folder string, files []file) []file {
	moved := slices.Clone(files)
	for i := range moved {
		moved[i].name = path.Join(folder, moved[i].name)
	}
	return moved
}

// ordered gives files in the order of their names. A folder comes before what is in it.
func ordered(files []file) []file {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return files
}

// withFolders adds every folder that a file lies in and that is not there.
func withFolders(files []file) []file {
	there := map[string]bool{}
	for _, f := range files {
		there[f.name] = true
	}
	all := slices.Clone(files)
	for _, f := range files {
		for dir := path.Dir(f.name); dir != "." && !there[dir]; dir = path.Dir(dir) {
			there[dir] = true
			all = append(all, file{name: dir, folder: true})
		}
	}
	return all
}

// tarOf packs files in the order of their names, each with the same time. prefix stands
// before every name.
func tarOf(files []file, when time.Time, prefix string) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range ordered(files) {
		h := &tar.Header{
			Name: prefix + f.name, Typeflag: tar.TypeReg, Mode: f.mode(), Size: int64(len(f.body)),
			Uid: f.owner, Gid: f.owner, ModTime: when, Format: tar.FormatUSTAR,
		}
		if f.folder {
			h.Name, h.Typeflag = strings.TrimSuffix(h.Name, "/")+"/", tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.body); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// zipped packs text with gzip, without a name and a time.
func zipped(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(w, bytes.NewReader(text)); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}
