package content

import (
	"errors"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/durward/durward/internal/fsroot"
)

// What a page allows is read anew each time that it is asked for, as its times do not
// tell of every way to change it. To open it takes longer than to read it, so the files
// that were read last stay open: whoever finds the same file again, unchanged as far as
// can be told, reads it there. A file that is open cannot become another one.
type kept struct {
	mu    sync.Mutex
	files map[version]*os.File // guarded by mu
	shut  bool                 // guarded by mu; nothing is kept any more
}

// A version is a file and what the system tells of its state.
type version struct {
	identity
	size, modified, changed int64
}

func versionOf(i fsroot.Info) version {
	return version{identityOf(i), i.Size, i.Modified.UnixNano(), i.Changed.UnixNano()}
}

// mostKept bounds the files that stay open.
const mostKept = 64

// read reads a whole file into a buffer, and one byte more than most where there is more.
func (k *kept) read(h *fsroot.Handle, buffer []byte, most int64) ([]byte, error) {
	v := versionOf(h.Info)
	f := k.take(v)
	if f == nil {
		var err error
		if f, err = h.Open(); err != nil {
			return nil, err
		}
		if !k.put(v, f) {
			defer f.Close()
		}
	}
	document, err := readWhole(f, buffer, v.size, most)
	if errors.Is(err, os.ErrClosed) { // to make room for others
		return io.ReadAll(io.LimitReader(h, most+1))
	}
	return document, err
}

func (k *kept) take(v version) *os.File {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.files[v]
}

// put keeps a file, unless it is there already.
func (k *kept) put(v version, f *os.File) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.shut || k.files[v] != nil {
		return false
	}
	if k.files == nil {
		k.files = map[version]*os.File{}
	}
	if len(k.files) >= mostKept {
		k.drop()
	}
	k.files[v] = f
	return true
}

// drop closes all files; it needs mu.
func (k *kept) drop() {
	for _, f := range k.files {
		f.Close()
	}
	clear(k.files)
}

func (k *kept) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.shut = true
	k.drop()
}

// readWhole reads a file from its start, of which size is known unless it grows.
func readWhole(f io.ReaderAt, buffer []byte, size, most int64) ([]byte, error) {
	document := slices.Grow(buffer[:0], int(min(max(size, 0), most))+1) // one more, for the end to be seen
	for {
		room := min(int64(cap(document)), most+1)
		n, err := f.ReadAt(document[len(document):room], int64(len(document)))
		document = document[:len(document)+n]
		switch {
		case errors.Is(err, io.EOF) || int64(len(document)) > most:
			return document, nil
		case err != nil:
			return nil, err
		}
		document = slices.Grow(document, 1)
	}
}
