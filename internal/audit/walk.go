package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/durward/durward"
)

// A Problem is the first thing in a chain that does not prove itself.
type Problem struct {
	File string
	// Line counts from 1; 0 means that the file itself is the problem.
	Line int
	// Seq is the record that stands there, or should; 0 when it cannot be known.
	Seq uint64
	Why string
}

// Error gives "file:line: record seq: why".
func (p *Problem) Error() string {
	at := p.File
	if p.Line > 0 {
		at += fmt.Sprintf(":%d", p.Line)
	}
	if p.Seq > 0 {
		at += fmt.Sprintf(": record %d", p.Seq)
	}
	return at + ": " + p.Why
}

// behindEnd is why a line is no part of a chain that its process ended.
const behindEnd = "it stands behind the end: heads says that the log was closed before"

// maxInFlight is how many calls without outcome a walk keeps track of.
const maxInFlight = 1 << 16

// A place is where a record stands.
type place struct {
	file   string
	line   int
	offset int64
	seq    uint64
}

// A walk follows a chain from its oldest segment to its end and checks every link. It
// holds a few lines and the places of the calls in flight, however long the chain is.
type walk struct {
	reader *chainReader
	active string
	// head is what the heads file holds of this chain; its Seq is 0 without one.
	head Head

	// seq and hash are those of the last good record, at its place.
	seq  uint64
	hash digest
	at   place
	// first is the sequence number of the first record read, 0 before it; day is the
	// date of the last one.
	first, records uint64
	day            day
	file           string // of the line before
	// lost names the segment before the oldest one, pruned those that were removed
	// by the log itself.
	lost   string
	pruned map[string]bool
	// inFlight holds the intents without outcome.
	inFlight map[durward.CallID]place
	// torn is the line at the end that was never finished, if any.
	torn *line
	// ahead is a line that was read to judge another one.
	ahead *line
}

func newWalk(active string, segments []segment, head Head) *walk {
	return &walk{
		reader: newChainReader(segments), active: active, head: head,
		pruned: map[string]bool{}, inFlight: map[durward.CallID]place{},
	}
}

// run walks to the end. Its error is a [*Problem], or whatever kept it from reading.
func (w *walk) run(ctx context.Context) error {
	defer w.reader.close()
	for {
		l, err := w.read()
		if errors.Is(err, io.EOF) {
			return w.finish()
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if err := w.step(l); err != nil {
			return err
		}
	}
}

func (w *walk) read() (line, error) {
	if l := w.ahead; l != nil {
		w.ahead = nil
		return *l, nil
	}
	return w.reader.read()
}

// peek gives the line after the one being judged; false when it is no record.
func (w *walk) peek() (line, bool) {
	if w.ahead == nil {
		l, err := w.reader.read()
		if err != nil {
			return line{}, false
		}
		w.ahead = &l
	}
	return *w.ahead, w.ahead.err == nil && w.ahead.whole
}

func (w *walk) step(l line) error {
	switch {
	case !l.whole && l.last:
		return w.tear(l)
	case !l.whole:
		return w.problem(l, "the file ends within this line")
	case l.err != nil:
		return w.bridge(l)
	}
	if err := w.link(l); err != nil {
		return err
	}
	return w.accept(l)
}

// tear judges a line that the newest file ends in without a newline. A writer that
// dies leaves it, and nothing was promised for it.
func (w *walk) tear(l line) error {
	if l.err == nil {
		if err := w.link(l); err != nil {
			return err
		}
	}
	if w.head.State == StateClosed && w.seq >= w.head.Seq {
		return w.problem(l, behindEnd)
	}
	l.text = append([]byte(nil), l.text...)
	w.torn = &l
	return nil
}

// bridge judges a line that is no record: it is accepted when the next one seals it.
func (w *walk) bridge(l line) error {
	next, ok := w.peek()
	if !ok && next.err != nil && w.sealed(l, next) {
		return &Problem{File: next.file, Line: next.number, Seq: w.seq + 1, Why: next.err.Error()}
	}
	if !ok || l.hash == (digest{}) {
		return w.problem(l, l.err.Error())
	}
	r, size := next.record, int64(len(l.text))
	covers, follows := r.Prev == l.hash.String(), r.SHA256 == w.hash.String()
	switch {
	case !covers && (!follows || r.Cause != EventTorn):
		return w.problem(l, l.err.Error())
	case covers && follows && r.Cause == EventTorn && r.Seq == w.seq+1 && r.Bytes != nil && *r.Bytes == size:
		w.ahead = nil
		return w.accept(next)
	case covers == follows || !w.vouched(next):
		return w.problem(next, "the record was changed: it does not seal the line before it")
	case follows:
		return w.problem(l, "the unfinished line was changed after it had been sealed")
	}
	return &Problem{File: w.at.file, Line: w.at.line, Seq: w.seq, Why: "the record was changed: its hash is not what the next record holds"}
}

// sealed reports whether a line that is no record was the seal of the line l before it.
// It may have been cut in two.
func (w *walk) sealed(l, seal line) bool {
	if bytes.Contains(seal.text, []byte(l.hash.String())) {
		return true
	}
	text := bytes.Clone(seal.text)
	w.ahead = nil
	rest, _ := w.peek()
	text = append(text, rest.text...)
	return bytes.Contains(text, []byte(w.hash.String())) && bytes.Contains(text, []byte(EventTorn))
}

// link checks that a record stands behind the one before it.
func (w *walk) link(l line) error {
	r := l.record
	opens := r.Phase == Event && r.Cause == EventSegment
	newFile := l.file != w.file
	switch {
	case w.first == 0 && w.seq == 0 && r.Seq > 1 && opens:
		return w.resume(l)
	case newFile && w.file != "" && opens && r.Seq != w.seq+1 && r.Path != filepath.Base(w.file):
		return &Problem{File: filepath.Join(filepath.Dir(w.active), r.Path), Seq: w.seq + 1, Why: "the segment is missing"}
	case w.first == 0 && r.Seq != 1 && r.Path != "" && r.SHA256 == r.Prev:
		return w.problem(l, "the record was changed: it does not begin a segment")
	case r.Seq != w.seq+1:
		return &Problem{File: l.file, Line: l.number, Seq: w.seq + 1, Why: fmt.Sprintf("record %d stands in its place", r.Seq)}
	case r.Prev != w.hash.String():
		return w.blame(l)
	case newFile && w.file != "" && (!opens || r.Path != filepath.Base(w.file) || r.SHA256 != r.Prev):
		return w.problem(l, "the record does not name the segment before it, "+filepath.Base(w.file))
	}
	return nil
}

// resume begins in the middle of a chain whose older segments are gone.
func (w *walk) resume(l line) error {
	hash, ok := parseDigest(l.record.Prev)
	if !ok || l.record.SHA256 != l.record.Prev {
		return w.problem(l, "the record does not name the last line of the segment before it")
	}
	w.seq, w.hash, w.lost = l.record.Seq-1, hash, l.record.Path
	return nil
}

// blame tells which of two neighbours was changed when the hash of one is not what
// the other one holds: the one that nothing else vouches for.
func (w *walk) blame(l line) error {
	if w.seq == 0 || w.head.Seq == w.seq || !w.vouched(l) {
		return w.problem(l, "the record was changed: it does not hold the hash of the record before it")
	}
	return &Problem{File: w.at.file, Line: w.at.line, Seq: w.seq, Why: "the record was changed: its hash is not what the next record holds"}
}

// vouched reports whether the heads file, the record behind l, or the seal behind a
// torn line holds the hash of l. Without any of them l is taken as good. The walk
// cannot go on afterwards.
func (w *walk) vouched(l line) bool {
	if w.head.Seq == l.record.Seq {
		return w.head.Hash == l.hash.String()
	}
	if w.ahead != nil && w.ahead.hash == l.hash {
		w.ahead = nil
	}
	if next, ok := w.peek(); ok {
		return next.record.Prev == l.hash.String()
	}
	w.ahead = nil
	seal, ok := w.peek()
	return !ok || seal.record.SHA256 == l.hash.String()
}

// accept takes a record as good, unless the heads file holds another one.
func (w *walk) accept(l line) error {
	r := l.record
	if r.Seq == w.head.Seq && l.hash.String() != w.head.Hash {
		return w.problem(l, "the record was changed: the heads file holds another hash for it")
	}
	if w.head.State == StateClosed && r.Seq > w.head.Seq {
		return w.problem(l, behindEnd)
	}
	if w.first == 0 {
		w.first = r.Seq
	}
	w.seq, w.hash, w.file, w.day = r.Seq, l.hash, l.file, dayOf(r.TS.Time)
	w.at = place{file: l.file, line: l.number, offset: l.offset, seq: r.Seq}
	w.records++
	w.note(r)
	return nil
}

func (w *walk) note(r Record) {
	switch {
	case r.Phase == Intent && len(w.inFlight) < maxInFlight:
		w.inFlight[r.ReqID] = w.at
	case r.Phase == Outcome:
		delete(w.inFlight, r.ReqID)
	case r.Phase == Event && r.Cause == EventPrune && len(w.pruned) < maxInFlight:
		w.pruned[r.Path] = true
	}
}

// finish checks what only the whole chain shows.
func (w *walk) finish() error {
	if w.seq < w.head.Seq && len(w.reader.segments) == 0 {
		return &Problem{File: w.active, Seq: w.head.Seq, Why: "the log is missing; heads holds its last record"}
	}
	if w.seq < w.head.Seq {
		return &Problem{File: w.active, Line: w.lastLine() + 1, Seq: w.seq + 1, Why: fmt.Sprintf("the tail is cut off: heads holds record %d", w.head.Seq)}
	}
	if w.lost != "" && !w.pruned[w.lost] {
		return &Problem{File: filepath.Join(filepath.Dir(w.active), filepath.Base(w.lost)), Seq: w.first - 1, Why: "the segment is missing"}
	}
	return nil
}

func (w *walk) lastLine() int {
	if w.at.file != w.active {
		return 0
	}
	return w.at.line
}

func (w *walk) problem(l line, why string) error {
	seq := w.seq + 1
	if l.err == nil {
		seq = l.record.Seq
	}
	return &Problem{File: l.file, Line: l.number, Seq: seq, Why: why}
}
