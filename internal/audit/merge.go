package audit

import (
	"cmp"
	"container/heap"
	"errors"
	"io"
	"time"
)

// A source is a chain in a merge.
type source struct {
	cursor *cursor
	// at is the time of the record to come.
	at time.Time
	// entry and err are what comes next while loaded is set; err is nil or a *Problem.
	entry  Entry
	err    error
	loaded bool
}

// load reads what comes next; false means that there is nothing. Of a chain that cannot
// be read this is the last that comes: a [*Problem] that names the file.
func (s *source) load() bool {
	e, err := s.cursor.next()
	if errors.Is(err, io.EOF) {
		return false
	}
	if problem := (*Problem)(nil); err != nil && !errors.As(err, &problem) {
		s.cursor.giveUp()
		err = unreadable(s.cursor.active, err)
	}
	if err == nil {
		s.at = e.TS.Time
	}
	s.entry, s.err, s.loaded = e, err, true
	return true
}

// A merge is a heap of chains, the one with the earliest record on top. The files of
// chains whose time has not come are closed.
type merge []*source

// reload reads on in the chain on top and puts it in its new place.
func (m *merge) reload() {
	if !(*m)[0].load() {
		heap.Pop(m)
		return
	}
	heap.Fix(m, 0)
}

func (m merge) Len() int { return len(m) }

func (m merge) Less(i, j int) bool {
	return cmp.Or(m[i].at.Compare(m[j].at), cmp.Compare(m[i].cursor.active, m[j].cursor.active)) < 0
}

func (m merge) Swap(i, j int) { m[i], m[j] = m[j], m[i] }

func (m *merge) Push(x any) { *m = append(*m, x.(*source)) }

func (m *merge) Pop() any {
	old := *m
	last := old[len(old)-1]
	*m = old[:len(old)-1]
	return last
}
