package audit

import (
	"bytes"
	"container/heap"
	"context"
	"errors"
	"iter"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
)

// A Filter says which records are wanted. A zero member wants all.
type Filter struct {
	// Since is the first moment wanted, Until the first one not wanted any more.
	Since, Until time.Time
	Phase        Phase
	Tool         durward.ToolID
	Door, Caller string
	// Decision is "allow" or "deny".
	Decision string
	Code     durward.Reason
	// Cause is how the call ended, or the kind of event.
	Cause string
	ReqID durward.CallID
	// Text is contained anywhere in the record, in the same case.
	Text string
	// Files lists further logs to read, beside those of the folder and those that its
	// heads file names.
	Files []string
}

func (f Filter) match(e Entry) bool {
	return (f.Since.IsZero() || !e.TS.Before(f.Since)) &&
		(f.Until.IsZero() || e.TS.Before(f.Until)) &&
		wants(f.Phase, e.Phase) && wants(f.Tool, e.Tool) && wants(f.Door, e.Door) &&
		wants(f.Caller, e.Caller) && wants(f.Decision, e.Decision) && wants(f.Code, e.Code) &&
		wants(f.Cause, e.Cause) && wants(f.ReqID, e.ReqID) && f.contained(e.Raw)
}

func wants[T ~string](wanted, have T) bool { return wanted == "" || wanted == have }

// contained looks for the text as a record spells it.
func (f Filter) contained(raw []byte) bool {
	if f.Text == "" {
		return true
	}
	quoted, err := jsonx.Marshal(f.Text)
	if err != nil {
		return false
	}
	quoted = escapeControls(bytes.TrimSuffix(quoted, []byte("\n")))
	return bytes.Contains(raw, quoted[1:len(quoted)-1])
}

// Records gives the records of all chains of the audit folder dir in the order of
// their time; those of one chain stay in its order. Processes may write meanwhile.
//
// A folder or file that does not exist ends it with reason AuditNotFound, one that cannot
// be read with AuditUnreadable.
//
// A line that is no record, and a file that cannot be read as a log, comes as a
// [*Problem] and the sequence goes on; any other error ends it. However long the log, a few lines of each chain are in memory.
func Records(ctx context.Context, dir string, filter Filter) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		f := follower{dir: dir, files: filter.Files}
		defer f.close()
		if err := f.look(); err != nil {
			yield(Entry{}, notFound("audit.read", err))
			return
		}
		f.drain(ctx, filter, yield)
	}
}

// maxShown bounds the records of one call.
const maxShown = 1000

// Show gives all records of one call in the order of their time. Without any, the
// error has reason RecordNotFound. Lines that are no records are passed over; where
// files cannot be read, the error has reason AuditBroken and names them, a line each,
// and the records that could be found come with it.
func Show(ctx context.Context, dir string, id durward.CallID, files ...string) ([]Entry, error) {
	var found []Entry
	var odd []error
	for e, err := range Records(ctx, dir, Filter{ReqID: id, Files: files}) {
		if problem := (*Problem)(nil); errors.As(err, &problem) {
			if problem.Line == 0 {
				odd = append(odd, problem)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(found) < maxShown {
			found = append(found, e.keep())
		}
	}
	if len(odd) > 0 {
		return found, &durward.Error{Reason: durward.AuditBroken, Op: "audit.show", Err: errors.Join(odd...)}
	}
	if len(found) == 0 {
		return nil, &durward.Error{Reason: durward.RecordNotFound, Op: "audit.show"}
	}
	return found, nil
}

// keep makes an entry independent of what is read after it.
func (e Entry) keep() Entry {
	e.Raw = bytes.Clone(e.Raw)
	return e
}

// A follower reads all chains of a folder, and again what was added since.
type follower struct {
	dir     string
	files   []string
	cursors map[string]*cursor
	// odd is what is wrong with the heads file and beside the logs until it was given;
	// told are the files that were.
	odd  []Problem
	told map[string]bool
}

// look adds the chains that it does not know yet.
func (f *follower) look() error {
	found, err := find(f.dir, f.files)
	if err != nil {
		return err
	}
	if f.cursors == nil {
		f.cursors, f.told = map[string]*cursor{}, map[string]bool{}
	}
	if found.damage != nil && found.damage.Line == 0 {
		f.note(*found.damage)
	}
	for _, bad := range found.odd {
		f.note(bad)
	}
	for active, segments := range found.chains {
		if f.cursors[active] != nil {
			continue
		}
		c := &cursor{active: active}
		if len(segments) > 0 {
			c.first = segments[0].path
		}
		f.cursors[active] = c
	}
	return nil
}

// note keeps a problem for the next drain, unless one with that file was given.
func (f *follower) note(bad Problem) {
	if !f.told[bad.File] {
		f.told[bad.File] = true
		f.odd = append(f.odd, bad)
	}
}

func (f *follower) close() {
	for _, c := range f.cursors {
		c.close()
	}
}

// drain gives everything behind the cursors in the order of time. It is false when
// nothing more is to be given.
func (f *follower) drain(ctx context.Context, filter Filter, yield func(Entry, error) bool) bool {
	for len(f.odd) > 0 {
		bad := f.odd[0]
		f.odd = f.odd[1:]
		if !yield(Entry{File: bad.File}, &bad) {
			return false
		}
	}
	for m := f.merge(); len(m) > 0; m.reload() {
		s := m[0]
		if s.loaded {
			s.loaded = false
			if (s.err != nil || filter.match(s.entry)) && !yield(s.entry, s.err) {
				return false
			}
		}
		if err := ctx.Err(); err != nil {
			yield(Entry{}, unread("audit.read", err))
			return false
		}
	}
	return true
}

// merge gives the chains that have something to give.
func (f *follower) merge() merge {
	var m merge
	for _, c := range f.cursors {
		s := &source{cursor: c}
		if !s.load() {
			continue
		}
		if !c.odd {
			s.loaded = false
			c.unread()
		}
		m = append(m, s)
	}
	heap.Init(&m)
	return m
}
