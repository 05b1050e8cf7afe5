package audit

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sort"
	"time"
)

// The kinds of events. Those of "audit." hold a chain together.
const (
	// EventSegment is the first record of every segment but the first. Path names the
	// file of the segment before and SHA256 its last line.
	EventSegment = "audit.segment"
	// EventPrune says that the file named by Path was removed because there were more
	// segments than are kept.
	EventPrune = "audit.prune"
	// EventTorn follows a line that was never finished because its writer died. Prev
	// and Bytes describe that line, SHA256 is the record before it.
	EventTorn = "audit.torn"
	// EventRefused says that a command was kept from a host.
	EventRefused = "network.refused"
	// EventExplained says that a call was not made, but asked about.
	EventExplained = "policy.explain"
	// EventLoad names the policy that a process begins with, and EventReload one that was to
	// take its place.
	EventLoad   = "policy.load"
	EventReload = "policy.reload"
	// EventApply comes before changes to a copy are applied, EventApplied or EventFailed
	// after that, and EventDropped where they are not to be.
	EventApply   = "changes.apply"
	EventApplied = "changes.applied"
	EventFailed  = "changes.failed"
	EventDropped = "changes.dropped"
)

// EventKinds lists all kinds of events.
func EventKinds() []string {
	return []string{
		EventSegment, EventPrune, EventTorn, EventRefused, EventExplained, EventLoad, EventReload,
		EventApply, EventApplied, EventFailed, EventDropped,
	}
}

var (
	errHeld    = errors.New("another process writes this log")
	errChanged = errors.New("the log was changed by someone else")
)

// A chain is the writing end of a log: the locked active file and where it ends.
type chain struct {
	path string
	file *os.File
	id   fs.FileInfo
	// seq and head are those of the last record, in whatever segment.
	seq  uint64
	head digest
	// size counts the bytes of the whole lines of the active file.
	size int64
	// day is the UTC day of the last record of the active file; zero before the first.
	day day
	// ragged is set while bytes that are no whole line may stand behind size.
	ragged bool
	// text is memory for the lines of one write.
	text []byte
	// looked is when the log's name was last seen to lead to the file.
	looked time.Time
}

// keptText is the most memory that a chain keeps for the next write.
const keptText = 64 << 10

// lookEvery is how long nobody looks whether the file still has the log's name. That it
// has not been removed, cut or added to is seen each time.
const lookEvery = time.Millisecond

// A day is a day in UTC; the first one of 1970 is 1, and zero is none.
type day int64

func dayOf(t time.Time) day { return day(t.Unix()/(24*60*60)) + 1 }

// create makes and locks a new active file.
func create(path string) (*os.File, error) {
	f, err := openFile(path, os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, err
	}
	err = f.Chmod(0o600)
	if err == nil {
		err = lockSoon(f)
	}
	if errors.Is(err, errHeld) { // whoever holds it has taken it up already
		return nil, errors.Join(err, f.Close())
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(path), f.Close())
	}
	return f, nil
}

// claim opens and locks an active file that exists.
func claim(path string) (*os.File, error) {
	f, err := openFile(path, 0)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(lockSoon(f), stillThere(f, path)); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// lockSoon locks a file. Readers and starting processes hold the lock for a moment
// only, so that it pays to ask again.
func lockSoon(f *os.File) error {
	for range 20 {
		if held, err := tryLock(f, false); held || err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return errHeld
}

// stillThere refuses a file that is not private or was replaced while it was locked.
func stillThere(f *os.File, path string) error {
	mine, err := f.Stat()
	if err != nil {
		return err
	}
	there, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !os.SameFile(mine, there) {
		return errHeld
	}
	return privateFile(path, mine)
}

// newChain is the writing end of a file whose content is described by the arguments.
func newChain(path string, f *os.File, seq uint64, head digest, last day) (*chain, error) {
	id, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return &chain{path: path, file: f, id: id, seq: seq, head: head, size: id.Size(), day: last}, nil
}

// append writes bodies as the next records, in one write, and gives how many of them
// are in the file. When that is not all of them, the file ends with the last one that is.
func (c *chain) append(bodies [][]byte, at time.Time) (int, error) {
	if err := c.intact(); err != nil {
		return 0, err
	}
	text := c.text[:0]
	ends, heads := make([]int, len(bodies)), make([]digest, len(bodies))
	head := c.head
	for i, body := range bodies {
		start := len(text)
		text = appendLine(text, c.seq+uint64(i)+1, head, at, body)
		head = digestOf(text[start:])
		text = append(text, '\n')
		ends[i], heads[i] = len(text), head
	}
	if cap(text) <= keptText {
		c.text = text
	}
	n, err := c.file.Write(text)
	whole := sort.SearchInts(ends, n+1)
	if whole > 0 {
		c.seq, c.head, c.size = c.seq+uint64(whole), heads[whole-1], c.size+int64(ends[whole-1])
		c.day = dayOf(at)
	}
	if err != nil {
		c.ragged = true
		err = errors.Join(err, c.trim())
	}
	return whole, err
}

// intact makes sure that the next line will stand behind the last one in the file
// that has the log's name.
func (c *chain) intact() error {
	if err := c.trim(); err != nil {
		return err
	}
	if size, err := linkedSize(c.file); err != nil || size != c.size {
		return cmp.Or(err, fmt.Errorf("%s: %w: it has %d bytes, not %d", c.path, errChanged, size, c.size))
	}
	now := time.Now()
	if now.Sub(c.looked) < lookEvery {
		return nil
	}
	there, err := os.Lstat(c.path)
	if err != nil {
		return err
	}
	if !os.SameFile(c.id, there) {
		return fmt.Errorf("%s: %w: it is another file now", c.path, errChanged)
	}
	c.looked = now
	return nil
}

// trim cuts off what a failed write left behind the last whole line.
func (c *chain) trim() error {
	if !c.ragged {
		return nil
	}
	if err := c.file.Truncate(c.size); err != nil {
		return err
	}
	if _, err := c.file.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	c.ragged = false
	return nil
}

// due reports whether the next record belongs into a new segment.
func (c *chain) due(next int, maxBytes int64, at time.Time) bool {
	return c.size > 0 && (c.size+int64(next) > maxBytes || c.day != dayOf(at))
}

// rotate closes the active segment under a new name, begins the next one and gives the
// segments that are to be removed. When it fails, the segment stays the active one.
func (c *chain) rotate(keep int, at time.Time) ([]segment, error) {
	if err := errors.Join(c.intact(), syncData(c.file)); err != nil {
		return nil, err
	}
	segments, err := segmentsOf(c.path)
	if err != nil {
		return nil, err
	}
	closed := segment{path: closedPath(c.path, segments, at)}
	doomed := tooMany(append(segments[:len(segments)-1:len(segments)-1], closed), keep)
	if err := os.Rename(c.path, closed.path); err != nil {
		return nil, err
	}
	next, err := c.begin(closed, doomed, at)
	if err != nil {
		return nil, errors.Join(err, os.Rename(closed.path, c.path))
	}
	c.file.Close() // the next segment is locked by now
	*c = *next
	return doomed, nil
}

// begin makes the active file that follows a closed segment.
func (c *chain) begin(before segment, doomed []segment, at time.Time) (*chain, error) {
	f, err := create(c.path)
	if err != nil {
		return nil, err
	}
	next, err := newChain(c.path, f, c.seq, c.head, 0)
	if err == nil {
		err = next.follow(before, doomed, at)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(c.path), f.Close())
	}
	return next, nil
}

// follow writes the first records of a segment.
func (c *chain) follow(before segment, doomed []segment, at time.Time) error {
	events := []Record{{Phase: Event, Cause: EventSegment, Path: before.name(), SHA256: c.head.String()}}
	for _, s := range doomed {
		events = append(events, Record{Phase: Event, Cause: EventPrune, Path: s.name()})
	}
	return c.add(events, at)
}

// add writes records, all or an error.
func (c *chain) add(records []Record, at time.Time) error {
	bodies := make([][]byte, len(records))
	for i, r := range records {
		var err error
		if bodies[i], err = r.body(); err != nil {
			return err
		}
	}
	_, err := c.append(bodies, at)
	return err
}

// tooMany gives the oldest closed segments beyond the number to keep.
func tooMany(closed []segment, keep int) []segment {
	if keep < 0 || len(closed) <= keep {
		return nil
	}
	return closed[:len(closed)-keep]
}
