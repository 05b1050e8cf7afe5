package core

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward"
)

var uuidv7 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func TestCallIDsAreUUIDsOfVersion7(t *testing.T) {
	for _, ms := range []int64{0, 1, 0xffff, 1732192922123, 1<<48 - 1} {
		id := string(newCallID(time.UnixMilli(ms).Add(999 * time.Microsecond)))
		if !uuidv7.MatchString(id) {
			t.Errorf("%q is no UUIDv7", id)
		}
		if got, err := strconv.ParseInt(strings.ReplaceAll(id[:13], "-", ""), 16, 64); err != nil || got != ms {
			t.Errorf("%q carries the time %d, %v; want %d", id, got, err, ms)
		}
	}
}

func TestCallIDsSortByMillisecondAndAreUnique(t *testing.T) {
	seen := map[durward.CallID]bool{}
	now, last := time.UnixMilli(1732192922123), durward.CallID("")
	for range 100 {
		for range 100 {
			id := newCallID(now)
			if id[:13] < last[:min(13, len(last))] {
				t.Fatalf("%s follows %s", id, last)
			}
			if seen[id] {
				t.Fatalf("%s came twice", id)
			}
			seen[id], last = true, id
		}
		now = now.Add(time.Millisecond)
	}
}

func TestTracesAreComplete(t *testing.T) {
	a, b := newTrace(), newTrace()
	if a == b {
		t.Errorf("two traces are both %v", a)
	}
	if again, err := durward.ParseTraceparent(a.Traceparent()); err != nil || again != a {
		t.Errorf("a new trace reads back as %v, %v; want %v", again, err, a)
	}
}
