package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Head is the end of a chain as the heads file holds it.
type Head struct {
	// File is the active file of the chain: a name in the audit folder, or an
	// absolute path.
	File string
	Seq  uint64
	// Hash is the SHA-256 of record Seq; 64 zeros when Seq is 0.
	Hash  string
	State State
}

// State says how a chain was left.
type State string

// The states.
const (
	// StateOpen: its process had not ended it when the head was written.
	StateOpen State = "open"
	// StateClosed: its process ended it.
	StateClosed State = "closed"
	// StateBroken: it did not prove itself when a later process wanted to end it.
	StateBroken State = "broken"
)

// String gives a line of the heads file without its newline.
func (h Head) String() string { return fmt.Sprintf("%s %d %s %s", h.Hash, h.Seq, h.State, h.File) }

// size is the length of the line that holds the head.
func (h Head) size() int64 { return int64(len(h.Hash) + len(h.File) + len("  1000000 closed\n")) }

func parseHead(text string) (Head, bool) {
	hash, rest, _ := strings.Cut(text, " ")
	number, rest, _ := strings.Cut(rest, " ")
	state, file, _ := strings.Cut(rest, " ")
	seq, err := strconv.ParseUint(number, 10, 64)
	known := slices.Contains([]State{StateOpen, StateClosed, StateBroken}, State(state))
	ok := err == nil && known && isDigest(hash) && file != ""
	return Head{File: file, Seq: seq, Hash: hash, State: State(state)}, ok
}

// ReadHeads gives the last head of every chain that the heads file of an audit folder
// holds, sorted by file. A missing heads file holds none.
func ReadHeads(dir string) ([]Head, error) {
	l := ledger{dir: dir}
	heads, err := l.read()
	if err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(heads), func(a, b Head) int { return strings.Compare(a.File, b.File) }), nil
}

const (
	headsFile = "heads"
	// maxHead is the length of the longest line of the heads file that counts.
	maxHead = 8 << 10
	// smallLedger is a size up to which old lines are not worth removing.
	smallLedger = 256 << 10
)

// A ledger is the heads file: one line per chain and moment, the last line of a chain
// counts. Lines are only added, so that a process that dies meanwhile takes none of
// the others with it; from time to time the old ones are left out.
type ledger struct {
	dir string
	// limit is the size in bytes from which old lines are left out.
	limit int64
	// lasts is set once the first head of this process outlives the machine.
	lasts bool
}

// own refuses a file of this user that has the name of the heads file and is another: its
// lines are not ours to cut.
func (l *ledger) own() error {
	f, err := openSegment(l.path())
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = privateFile(l.path(), info)
	}
	if err != nil || info.Size() == 0 {
		return err
	}
	first := make([]byte, len(digest{}.String()))
	if _, err := io.ReadFull(f, first); err != nil || !isDigest(string(first)) {
		return errors.New(l.path() + ": it has the name of the file that holds the ends of the logs beside it, and is none")
	}
	return nil
}

func (l *ledger) path() string { return filepath.Join(l.dir, headsFile) }

// key is how the heads file names a chain.
func (l *ledger) key(active string) string {
	if filepath.Dir(active) == l.dir {
		return filepath.Base(active)
	}
	return active
}

// active is the path of the chain that the heads file names key.
func (l *ledger) active(key string) string {
	if filepath.IsAbs(key) {
		return key
	}
	return filepath.Join(l.dir, key)
}

// read gives the last head of every chain.
func (l *ledger) read() (map[string]Head, error) {
	heads := map[string]Head{}
	err := l.scan(func(h Head) {
		if h.Seq >= heads[h.File].Seq {
			heads[h.File] = h
		}
	})
	return heads, err
}

// unfinished gives the last head of each chain that was not ended, and that of the
// chain own, which may be "". Few chains are open at any time, however many there are,
// and of the lines that an earlier start has read only the last is read again.
func (l *ledger) unfinished(own string, now time.Time) (map[string]Head, error) {
	f, err := openSegment(l.path())
	if missing(err) {
		l.limit = smallLedger
		return map[string]Head{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m := newMark(now)
	if own == "" {
		m = l.readMark(f, now)
	}
	from := m.Offset
	if err := m.advance(f, own); err != nil {
		return nil, err
	}
	if own == "" && m.Offset-from > markEvery {
		l.writeMark(f, m)
	}
	l.limit = max(smallLedger, 2*m.Ended)
	return m.heads, nil
}

// inspect is read for one who doubts: it also gives the first line that is no head, or
// why the file cannot be read. A missing file is for the caller to judge.
func (l *ledger) inspect() (map[string]Head, *Problem) {
	heads, first := map[string]Head{}, 0
	err := l.scanAll(func(h Head) {
		if h.Seq >= heads[h.File].Seq {
			heads[h.File] = h
		}
	}, func(number int) {
		if first == 0 {
			first = number
		}
	})
	switch {
	case err != nil:
		return heads, unreadable(l.path(), err)
	case first > 0:
		return heads, &Problem{File: l.path(), Line: first, Why: "the line is no head"}
	}
	return heads, nil
}

func (l *ledger) scan(each func(Head)) error { return l.scanAll(each, func(int) {}) }

func (l *ledger) scanAll(each func(Head), bad func(number int)) error {
	f, err := openSegment(l.path())
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return scanHeads(f, each, bad)
}

func scanHeads(r io.Reader, each func(Head), bad func(number int)) error {
	in := bufio.NewReaderSize(r, maxHead)
	tooLong := false
	for number := 1; ; {
		text, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			tooLong = true
			continue
		}
		if errors.Is(err, io.EOF) {
			return nil // a line without its end was never finished
		}
		if err != nil {
			return err
		}
		if h, ok := parseHead(string(bytes.TrimSuffix(text, []byte("\n")))); ok && !tooLong {
			each(h)
		} else {
			bad(number)
		}
		number++
		tooLong = false
	}
}

// add puts a head behind the others.
func (l *ledger) add(h Head) error {
	f, err := l.open()
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := dropUnfinished(f)
	if err != nil {
		return err
	}
	text := h.String() + "\n"
	if _, err := io.WriteString(f, text); err != nil {
		return errors.Join(err, l.takeBack(f, size))
	}
	if size += int64(len(text)); size < l.limit {
		return nil
	}
	if l.compact() != nil {
		l.limit = 2 * size // the head is there; the old ones only take room
	}
	return nil
}

// dropUnfinished cuts off a last line that its writer did not live to finish, and gives
// the size that is left.
func dropUnfinished(f *os.File) (int64, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return size, err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, size-1); err != nil || last[0] == '\n' {
		return size, err
	}
	part := make([]byte, maxHead)
	for size > 0 {
		part = part[:min(size, maxHead)]
		size -= int64(len(part))
		if _, err := f.ReadAt(part, size); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			size += int64(i) + 1
			break
		}
	}
	return cutTo(f, size)
}

func cutTo(f *os.File, size int64) (int64, error) {
	if err := f.Truncate(size); err != nil {
		return 0, err
	}
	return f.Seek(0, io.SeekEnd)
}

// takeBack undoes a write that failed. The caller holds the lock.
func (l *ledger) takeBack(f *os.File, size int64) error {
	if size == 0 {
		return os.Remove(l.path())
	}
	return f.Truncate(size)
}

// last makes the first head of this process outlive the machine, which is to come before
// its records do: a chain that lost its head would look as if someone had taken it.
func (l *ledger) last() error {
	if l.lasts {
		return nil
	}
	f, err := openFile(l.path(), 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := syncData(f); err != nil {
		return err
	}
	l.lasts = true
	return nil
}

// open gives the heads file, locked until it is closed.
func (l *ledger) open() (*os.File, error) {
	for range 1000 {
		f, err := openFile(l.path(), os.O_CREATE)
		if err != nil {
			return nil, err
		}
		held, err := tryLock(f, false)
		if err == nil && held {
			err = stillThere(f, l.path())
		}
		if err == nil && held {
			return f, nil
		}
		f.Close()
		if err != nil && !errors.Is(err, errHeld) && !missing(err) {
			return nil, err
		}
		time.Sleep(time.Millisecond)
	}
	return nil, fmt.Errorf("%s: %w", l.path(), errHeld)
}

// compact replaces the heads file by one without the lines that no longer count. The
// caller holds the lock of the old one.
func (l *ledger) compact() error {
	heads, err := l.read()
	if err != nil {
		return err
	}
	temporary := l.path() + ".new"
	if err := os.Remove(temporary); err != nil && !missing(err) {
		return err
	}
	next, err := openFile(temporary, os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	text := formatHeads(heads)
	_, err = next.Write(text)
	if err := errors.Join(err, next.Chmod(0o600), next.Sync(), next.Close()); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	if err := os.Rename(temporary, l.path()); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	l.limit = max(smallLedger, 2*int64(len(text)))
	_ = os.Remove(l.markPath()) // it does not fit any more, wherever it stays
	return nil
}

func formatHeads(heads map[string]Head) []byte {
	var text []byte
	for _, file := range slices.Sorted(maps.Keys(heads)) {
		text = fmt.Appendln(text, heads[file])
	}
	return text
}
