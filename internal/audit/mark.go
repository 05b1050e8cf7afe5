package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"time"
)

const (
	markFile = "heads.mark"
	// markEvery is how many bytes of heads a start reads before it leaves a mark.
	markEvery = 64 << 10
	// maxMark bounds a mark; with more chains open at once none is left.
	maxMark = 256 << 10
	// markLasts is how long marks are gone by before the heads file is read as a whole
	// again: a wrong one hides a chain no longer.
	markLasts = 24 * time.Hour
)

// A mark says how far an earlier start has read the heads file and which chains were
// not ended by then. It saves reading and proves nothing: without one, or with one that
// is old, does not fit or is not ours alone, the heads file is read from its beginning.
type mark struct {
	// Since is when the heads file was last read from its beginning.
	Since time.Time `json:"since"`
	// Offset is where the line behind Last begins.
	Offset int64  `json:"offset"`
	Last   string `json:"last"`
	// Ended is the size of the lines of ended chains.
	Ended int64    `json:"ended"`
	Open  []string `json:"open,omitempty"`

	heads map[string]Head
}

func newMark(now time.Time) mark { return mark{Since: now, heads: map[string]Head{}} }

func (l *ledger) markPath() string { return filepath.Join(l.dir, markFile) }

// readMark gives the mark that fits the heads file f, or one at its beginning.
func (l *ledger) readMark(f *os.File, now time.Time) mark {
	m, ok := l.findMark(f)
	if age := now.Sub(m.Since); !ok || age < 0 || age > markLasts {
		return newMark(now)
	}
	return m
}

// findMark gives the mark that fits the heads file f, if there is one.
func (l *ledger) findMark(f *os.File) (mark, bool) {
	m := newMark(time.Time{})
	text, err := l.markText()
	if err != nil || json.Unmarshal(text, &m) != nil || !m.fits(f) {
		return m, false
	}
	for _, line := range m.Open {
		h, ok := parseHead(line)
		if !ok {
			return m, false
		}
		m.heads[h.File] = h
	}
	return m, true
}

func (l *ledger) markText() ([]byte, error) {
	in, err := openSegment(l.markPath())
	if err != nil {
		return nil, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err == nil {
		err = privateFile(l.markPath(), info)
	}
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(in, maxMark+1))
	if err == nil && len(text) > maxMark {
		err = errors.New("it is too long")
	}
	return text, err
}

// fits reports whether the line before the mark is what it was.
func (m mark) fits(f io.ReaderAt) bool {
	want := []byte(m.Last + "\n")
	if m.Last == "" || m.Offset < int64(len(want)) || m.Ended < 0 || m.Ended > m.Offset {
		return false
	}
	have := make([]byte, len(want))
	_, err := f.ReadAt(have, m.Offset-int64(len(want)))
	return err == nil && bytes.Equal(have, want)
}

// advance reads from the mark to the end of the last whole line, and moves it there.
func (m *mark) advance(f io.ReadSeeker, own string) error {
	if _, err := f.Seek(m.Offset, io.SeekStart); err != nil {
		return err
	}
	in := newLineReader(f)
	for {
		err := in.next()
		if errors.Is(err, io.EOF) || err == nil && !in.whole {
			return nil // a line without its end was never finished
		}
		if err != nil && !errors.Is(err, errLineTooLong) {
			return err
		}
		m.Offset += in.size
		m.Last = string(in.text)
		if h, ok := parseHead(m.Last); ok && len(m.Last) < maxHead {
			m.take(h, own)
		}
	}
}

func (m *mark) take(h Head, own string) {
	switch {
	case h.State != StateOpen && h.File != own:
		delete(m.heads, h.File)
		m.Ended += h.size()
	case h.Seq >= m.heads[h.File].Seq:
		m.heads[h.File] = h
	}
}

// writeMark leaves a mark for the next start, as long as f is still the heads file. It
// is no loss where that cannot be done.
func (l *ledger) writeMark(f *os.File, m mark) {
	m.Open = nil
	for _, h := range m.heads {
		m.Open = append(m.Open, h.String())
	}
	text, err := json.Marshal(m)
	if err != nil || len(text) > maxMark {
		return
	}
	held, err := l.open() // nobody replaces the file meanwhile
	if err != nil {
		return
	}
	defer held.Close()
	one, err := f.Stat()
	other, err2 := held.Stat()
	if errors.Join(err, err2) != nil || !os.SameFile(one, other) {
		return
	}
	_ = replace(l.markPath(), text)
}

// inspectMark gives what is wrong with a mark for one who doubts. A mark that does not
// fit, as after a compaction, counts for nobody.
func (l *ledger) inspectMark() *Problem {
	info, err := os.Lstat(l.markPath())
	if err != nil {
		return nil // there is none
	}
	if !info.Mode().IsRegular() {
		return &Problem{File: l.markPath(), Why: "it is no regular file"}
	}
	if why := exposed(l.markPath(), 0o600); why != "" {
		return &Problem{File: l.markPath(), Why: why}
	}
	for range 2 { // it may have been replaced at this moment
		if l.markAgrees() {
			return nil
		}
	}
	return &Problem{File: l.markPath(), Why: "it does not name the chains that were open: heads holds others"}
}

// markAgrees reports whether the mark says what the lines before it do.
func (l *ledger) markAgrees() bool {
	f, err := openSegment(l.path())
	if err != nil {
		return true // that is a problem of the heads file
	}
	defer f.Close()
	have, ok := l.findMark(f)
	if !ok {
		return true
	}
	want := newMark(time.Time{})
	err = want.advance(io.NewSectionReader(f, 0, have.Offset), "")
	return err == nil && want.Offset == have.Offset && want.Ended == have.Ended && maps.Equal(want.heads, have.heads)
}

// replace puts a new private file in the place of an old one.
func replace(path string, text []byte) error {
	temporary := path + ".new"
	if err := ignoreMissing(os.Remove(temporary)); err != nil {
		return err
	}
	f, err := openFile(temporary, os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return os.Rename(temporary, path)
}
