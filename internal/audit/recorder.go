package audit

import (
	"os"
	"path/filepath"
	"time"

	"github.com/durward/durward"
)

// maxBatch is the length in bytes up to which waiting records share a write.
const maxBatch = 1 << 20

const (
	usualBody = 2 << 10 // and less, as a rule
	maxRoom   = 16 << 10
)

// newRoom makes memory for a body.
func newRoom() any { return new(make([]byte, 0, usualBody)) }

// A request is a record on its way into the file.
type request struct {
	body []byte
	// flight is what the record adds to the number of calls in flight.
	flight int
	// told is closed when done and err are valid, or else when it is for this request to
	// write for all. It is nil for one that began with that.
	told chan struct{}
	done bool
	err  error
}

// Deny records a call that will not run.
//
// Deny, Intent, Refused, Outcome and Event return when write(2) has taken the record. Their
// error has reason AuditUnavailable: the record is not in the log, and the log is as
// valid as before.
func (l *Log) Deny(c durward.Call, d durward.Decision) error {
	d.Allow = false
	r := l.describe(Deny, c, d)
	if !c.Arrived.IsZero() {
		r.DurationMs = milliseconds(time.Since(c.Arrived))
	}
	return l.write(r, 0)
}

// Intent records a call that is about to have its first effect.
func (l *Log) Intent(c durward.Call, d durward.Decision) error {
	return l.write(l.describe(Intent, c, d), +1)
}

// Outcome records how such a call ended, before it is answered.
func (l *Log) Outcome(c durward.Call, d durward.Decision, result durward.Result, err error) error {
	r := l.describe(Outcome, c, d)
	r.conclude(result, err)
	return l.write(r, -1)
}

// Refused records that a command was kept from a host, between the intent and the outcome
// of its call.
func (l *Log) Refused(c durward.Call, d durward.Decision, to durward.Contact) error {
	r := l.describe(Event, c, d)
	r.Cause, r.Decision, r.Rule, r.Where = EventRefused, "deny", to.Rule, ""
	r.Args, r.Limits = nil, nil
	r.Host, r.Port, r.Times = cut(to.Host), int64(to.Port), int64(to.Times)
	return l.write(r, 0)
}

// Explained records that a call was not made, but asked about.
func (l *Log) Explained(c durward.Call, d durward.Decision) error {
	r := l.describe(Event, c, d)
	r.Cause = EventExplained
	return l.write(r, 0)
}

// Event records what is not a call, such as [EventReload]. It fills the place, the
// time, the phase and the cause of r; what r says is cut like that of calls.
func (l *Log) Event(kind string, r Record) error {
	r.Phase, r.Cause, r.Where = Event, cut(kind), cut(r.Where)
	return l.write(r, 0)
}

// write returns when the record is in the file. Who finds nobody writing writes for all who
// wait by then, and leaves it to the first of those who came meanwhile to go on.
func (l *Log) write(r Record, flight int) error {
	room := l.rooms.Get().(*[]byte)
	defer l.rooms.Put(room)
	body, err := r.bodyIn(*room)
	if cap(body) <= maxRoom {
		*room = body[:0]
	}
	if err != nil {
		return refusal(err)
	}
	q := &request{body: body, flight: flight}
	if !l.join(q) {
		<-q.told
	}
	if !q.done {
		l.flush(q)
	}
	if q.err != nil {
		return refusal(q.err)
	}
	return nil
}

// join has a request wait for its turn, and reports whether it is to write at once.
func (l *Log) join(q *request) bool {
	l.waiting.Lock()
	defer l.waiting.Unlock()
	l.requests = append(l.requests, q)
	if l.writing {
		q.told = make(chan struct{})
		return false
	}
	l.writing = true
	return true
}

// flush writes all that wait, for the first of them.
func (l *Log) flush(own *request) {
	l.waiting.Lock()
	requests := l.requests
	l.requests = nil
	l.waiting.Unlock()
	l.writeAll(requests)
	for _, q := range requests {
		if q != own {
			close(q.told)
		}
	}
	l.passOn()
}

// passOn leaves it to the next request to write, if there is one.
func (l *Log) passOn() {
	l.waiting.Lock()
	defer l.waiting.Unlock()
	if l.writing = len(l.requests) > 0; l.writing {
		close(l.requests[0].told)
	}
}

func (l *Log) writeAll(requests []*request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(requests) > 0 {
		n, err := l.writeSome(requests)
		for _, q := range requests[:n] {
			q.done = true
			l.inFlight += q.flight
		}
		if requests = requests[n:]; err != nil {
			fail(requests, err)
			return
		}
	}
}

func fail(requests []*request, err error) {
	for _, q := range requests {
		q.done, q.err = true, err
	}
}

// writeSome writes as many records as one segment and one write have room for.
func (l *Log) writeSome(requests []*request) (int, error) {
	if l.chain == nil {
		return 0, errClosed
	}
	if l.failed != nil {
		return 0, l.failed
	}
	at := l.now()
	if l.chain.due(len(requests[0].body)+maxStart, l.options.MaxBytes, at) {
		if err := l.rotate(); err != nil {
			return 0, err
		}
	}
	n, err := l.chain.append(l.batch(requests), at)
	if n > 0 && l.options.Sync == SyncAlways {
		if failed := syncData(l.chain.file); failed != nil {
			l.failed = failed
			return 0, failed
		}
	}
	l.markDirty()
	return n, err
}

func (l *Log) markDirty() {
	select {
	case l.dirty <- struct{}{}:
	default:
	}
}

// batch gives the bodies that fit, and at least one.
func (l *Log) batch(requests []*request) [][]byte {
	room := min(maxBatch, l.options.MaxBytes-l.chain.size)
	var bodies [][]byte
	for _, q := range requests {
		size := int64(len(q.body) + maxStart)
		if room -= size; room < 0 && len(bodies) > 0 {
			break
		}
		bodies = append(bodies, q.body)
	}
	return bodies
}

// rotate begins the next segment and removes those that are too many.
func (l *Log) rotate() error {
	doomed, err := l.chain.rotate(l.options.Keep, l.now())
	if err != nil {
		return err
	}
	for _, s := range doomed {
		if err := os.Remove(s.path); err != nil {
			l.logger.Warn("an old segment of the audit log could not be removed", "error", err)
		}
	}
	if err := syncFolder(filepath.Dir(l.chain.path)); err != nil {
		l.logger.Warn("the folder of the audit log could not be synced", "error", err)
	}
	return nil
}
