package audit

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/durward/durward"
)

// adopt takes over a chain whose process is gone: it locks the active file, checks
// the chain, seals a line that was never finished, and closes the calls that were in
// flight as unknown. A chain that does not prove itself is left as it is.
func adopt(path string, head Head, at time.Time) (*chain, error) {
	f, err := claim(path)
	if missing(err) {
		f, err = claimBehind(path)
	}
	if err != nil {
		return nil, err
	}
	c, err := takeOver(path, f, head, at)
	if err != nil {
		f.Close()
		return nil, err
	}
	return c, nil
}

// claimBehind makes the active file of a chain whose process died between closing a
// segment and beginning the next.
func claimBehind(path string) (*os.File, error) {
	segments, err := segmentsOf(path)
	if err != nil {
		return nil, err
	}
	if len(segments) == 0 {
		return nil, &os.PathError{Op: "open", Path: path, Err: os.ErrNotExist}
	}
	before, err := claim(segments[len(segments)-1].path)
	if err != nil {
		return nil, err
	}
	defer before.Close() // a process that rotates at this moment holds it
	return create(path)
}

func takeOver(path string, f *os.File, head Head, at time.Time) (*chain, error) {
	if c, ok := quickly(path, f, head); ok {
		return c, nil
	}
	segments, err := segmentsOf(path)
	if err != nil {
		return nil, err
	}
	w, err := walkWhole(path, f, segments, head)
	if err != nil {
		return nil, broken(err)
	}
	c, err := newChain(path, f, w.seq, w.hash, w.day)
	if err != nil {
		return nil, err
	}
	if w.torn != nil {
		err = c.seal(*w.torn, at)
	} else if c.size == 0 && len(segments) > 1 {
		err = c.follow(segments[len(segments)-2], nil, at) // its process died before the first record
	}
	if err != nil {
		return nil, err
	}
	return c, c.closeInFlight(w.inFlight, at)
}

// quickly resumes a chain that was closed and has not changed since.
func quickly(path string, f *os.File, head Head) (*chain, bool) {
	if head.State != StateClosed || head.Seq == 0 {
		return nil, false
	}
	text, ok := lastLine(f)
	if !ok || digestOf(text).String() != head.Hash {
		return nil, false
	}
	r, err := parseRecord(text)
	if err != nil || r.Seq != head.Seq {
		return nil, false
	}
	c, err := newChain(path, f, r.Seq, digestOf(text), dayOf(r.TS.Time))
	return c, err == nil
}

// lastLine gives the last whole line of a file that ends in one.
func lastLine(f *os.File) ([]byte, bool) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return nil, false
	}
	tail := make([]byte, min(info.Size(), maxLine+2))
	if _, err := f.ReadAt(tail, info.Size()-int64(len(tail))); err != nil {
		return nil, false
	}
	text, whole := strings.CutSuffix(string(tail), "\n")
	start := strings.LastIndexByte(text, '\n') + 1
	return []byte(text[start:]), whole && (start > 0 || int64(len(tail)) == info.Size())
}

// walkWhole walks a chain that this process has locked. A last record that lacks
// nothing but its newline is given one.
func walkWhole(path string, f *os.File, segments []segment, head Head) (*walk, error) {
	w := newWalk(path, segments, head)
	err := w.run(context.Background())
	if err != nil || w.torn == nil || w.torn.err != nil {
		return w, err
	}
	if _, err := f.Write([]byte("\n")); err != nil {
		return nil, err
	}
	w = newWalk(path, segments, head)
	return w, w.run(context.Background())
}

func broken(err error) error {
	problem := (*Problem)(nil)
	if !errors.As(err, &problem) {
		return err
	}
	return &durward.Error{Reason: durward.AuditBroken, Op: "audit.open", Err: err}
}

// withHint says what can be done about an error of this package.
func withHint(err error, hint string) error {
	if known := (*durward.Error)(nil); errors.As(err, &known) {
		known.Hint = hint
	}
	return err
}

// seal ends a line that was never finished and puts a record behind it that covers it.
func (c *chain) seal(torn line, at time.Time) error {
	size := int64(len(torn.text))
	body, err := Record{Phase: Event, Cause: EventTorn, Bytes: &size, SHA256: c.head.String()}.body()
	if err != nil {
		return err
	}
	c.size -= size // until the seal is written, the file ends before the torn line
	text := appendLine([]byte("\n"), c.seq+1, torn.hash, at, body)
	head := digestOf(text[1:])
	text = append(text, '\n')
	if _, err := c.file.Write(text); err != nil {
		return errors.Join(err, c.file.Truncate(c.size+size))
	}
	c.seq, c.head, c.size, c.day = c.seq+1, head, c.size+size+int64(len(text)), dayOf(at)
	return nil
}

// closeInFlight records that nobody knows how the calls without outcome ended.
func (c *chain) closeInFlight(inFlight map[durward.CallID]place, at time.Time) error {
	places := make([]place, 0, len(inFlight))
	for _, p := range inFlight {
		places = append(places, p)
	}
	slices.SortFunc(places, func(a, b place) int { return int(int64(a.seq) - int64(b.seq)) })
	for _, p := range places {
		r, err := recordAt(p)
		if err != nil {
			return err
		}
		r.Phase, r.Cause = Outcome, string(durward.OutcomeUnknown)
		if err := c.add([]Record{r}, at); err != nil {
			return err
		}
	}
	return nil
}

func recordAt(p place) (Record, error) {
	f, err := openSegment(p.file)
	if err != nil {
		return Record{}, err
	}
	defer f.Close()
	if _, err := f.Seek(p.offset, io.SeekStart); err != nil {
		return Record{}, err
	}
	lines := newLineReader(f)
	if err := lines.next(); err != nil {
		return Record{}, err
	}
	return parseRecord(lines.text)
}

// adoptAll ends the chains that processes left when they died. What cannot be ended
// is reported and is no reason not to start.
func (l *Log) adoptAll(heads map[string]Head, except string) {
	for key, head := range heads {
		path := l.heads.active(key)
		if head.State != StateOpen || path == except {
			continue
		}
		if err := l.adoptOne(path, head); err != nil && !errors.Is(err, errHeld) {
			l.logger.Error("an audit log could not be closed", "file", path, "error", err)
		}
	}
}

func (l *Log) adoptOne(path string, head Head) error {
	if isLive(path) {
		return errHeld
	}
	c, err := adopt(path, head, l.now())
	if errors.Is(err, errHeld) {
		return err
	}
	if durward.ReasonOf(err) == durward.AuditBroken || missing(err) {
		head.State = StateBroken
		return errors.Join(err, l.heads.add(head))
	}
	if err != nil {
		return err
	}
	defer c.file.Close()
	if err := syncData(c.file); err != nil {
		return err
	}
	l.logger.Info("closed the audit log of a process that died", "file", filepath.Base(path), "seq", c.seq)
	return l.heads.add(Head{File: head.File, Seq: c.seq, Hash: c.head.String(), State: StateClosed})
}
