package execserver

import (
	"sync/atomic"
	"testing"
	"time"
)

func TestClosedProcessesMakeRoom(t *testing.T) {
	l := closedList{all: new(atomic.Int64)}
	never := func() *time.Timer { return time.AfterFunc(time.Hour, func() {}) }
	first, second := &process{id: "1"}, &process{id: "2"}
	if dropped := l.add(first, mostClosedBytes, never()); dropped != nil {
		t.Errorf("%v had to go", dropped)
	}
	if dropped := l.add(second, 1, never()); len(dropped) != 1 || dropped[0] != first {
		t.Errorf("%v had to go", dropped)
	}
	l.remove(first) // is not there
	if l.remove(second); len(l.list) != 0 || l.bytes != 0 {
		t.Errorf("%d are left with %d bytes", len(l.list), l.bytes)
	}
	for range mostClosed {
		l.add(&process{}, 0, never())
	}
	if dropped := l.add(second, 0, never()); len(dropped) != 1 || len(l.list) != mostClosed {
		t.Errorf("%d had to go, %d are left", len(dropped), len(l.list))
	}
	if dropped := l.add(first, 1, never()); len(dropped) != 1 {
		t.Errorf("%d had to go", len(dropped))
	}
	l.all.Add(mostAllBytes) // of other sessions
	if dropped := l.add(second, 1, never()); len(dropped) != mostClosed+1 || len(l.list) != 0 {
		t.Errorf("%d had to go for others, %d are left", len(dropped), len(l.list))
	}
	if l.clear(); len(l.list) != 0 {
		t.Errorf("%d are left", len(l.list))
	}
}
