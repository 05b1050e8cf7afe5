package execserver

import (
	"slices"
	"sync/atomic"
	"time"
)

const (
	// chunkCost is what a chunk takes beside its bytes, roughly.
	chunkCost = 64
	// mostAllBytes is how much is kept for all sessions; then those that add to it keep less.
	mostAllBytes = 256 << 20
	// mostClosed is how many closed processes a session keeps to be read.
	mostClosed = 1024
	// mostClosedBytes is how much of their output it keeps in all.
	mostClosedBytes = 64 << 20
)

// A closedList holds the closed processes of a session, the oldest first.
type closedList struct {
	list  []closedProcess
	bytes int64
	all   *atomic.Int64 // bytes of all sessions
}

type closedProcess struct {
	*process
	bytes int64
	timer *time.Timer
}

// add takes one more, and gives those that had to make room for it, perhaps itself.
func (l *closedList) add(p *process, bytes int64, timer *time.Timer) (dropped []*process) {
	l.list = append(l.list, closedProcess{p, bytes, timer})
	l.count(bytes)
	for len(l.list) > mostClosed || l.bytes > mostClosedBytes || len(l.list) > 0 && l.all.Load() > mostAllBytes {
		dropped = append(dropped, l.list[0].process)
		l.cut(0)
	}
	return dropped
}

func (l *closedList) count(bytes int64) {
	l.bytes += bytes
	l.all.Add(bytes)
}

// remove takes one out, if it is there.
func (l *closedList) remove(p *process) {
	for i, c := range l.list {
		if c.process == p {
			l.cut(i)
			return
		}
	}
}

func (l *closedList) cut(i int) {
	l.list[i].timer.Stop()
	l.count(-l.list[i].bytes)
	if i == 0 { // as nearly always: nothing has to move
		l.list[0] = closedProcess{}
		l.list = l.list[1:]
		return
	}
	l.list = slices.Delete(l.list, i, i+1)
}

func (l *closedList) clear() {
	for len(l.list) > 0 {
		l.cut(len(l.list) - 1)
	}
}
