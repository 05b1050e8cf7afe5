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

func parseHead(text string) (Head, bool) {
	part := strings.SplitN(text, " ", 4)
	if len(part) != 4 || part[3] == "" {
		return Head{}, false
	}
	seq, err := strconv.ParseUint(part[1], 10, 64)
	_, ok := parseDigest(part[0])
	state := State(part[2])
	ok = ok && err == nil && slices.Contains([]State{StateOpen, StateClosed, StateBroken}, state)
	return Head{File: part[3], Seq: seq, Hash: part[0], State: state}, ok
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

func (l *ledger) read() (map[string]Head, error) {
	f, err := openForReading(l.path())
	if missing(err) {
		return map[string]Head{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return scanHeads(f)
}

func scanHeads(r io.Reader) (map[string]Head, error) {
	heads := map[string]Head{}
	in := bufio.NewReaderSize(r, maxHead)
	tooLong := false
	for {
		text, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			tooLong = true
			continue
		}
		if errors.Is(err, io.EOF) {
			return heads, nil // a line without its end was never finished
		}
		if err != nil {
			return nil, err
		}
		h, ok := parseHead(string(bytes.TrimSuffix(text, []byte("\n"))))
		if ok && !tooLong && h.Seq >= heads[h.File].Seq {
			heads[h.File] = h
		}
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
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	text := h.String() + "\n"
	if last := make([]byte, 1); size > 0 {
		if _, err := f.ReadAt(last, size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			text = "\n" + text // whoever wrote before did not finish
		}
	}
	if _, err := io.WriteString(f, text); err != nil {
		return err
	}
	if size+int64(len(text)) < l.limit {
		return nil
	}
	return l.compact(f)
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
func (l *ledger) compact(f *os.File) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	heads, err := scanHeads(f)
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
	l.limit = ledgerLimit(text)
	return os.Rename(temporary, l.path())
}

func formatHeads(heads map[string]Head) []byte {
	var text []byte
	for _, file := range slices.Sorted(maps.Keys(heads)) {
		text = fmt.Appendln(text, heads[file])
	}
	return text
}

func ledgerLimit(text []byte) int64 { return max(smallLedger, 2*int64(len(text))) }
