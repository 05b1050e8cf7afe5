package site

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// What is kept is bounded, also where there is nothing to it but names and headers.
func TestTheShelfIsBounded(t *testing.T) {
	var s shelf
	name := strings.Repeat("a/", 2000)
	for i := range 10_000 {
		s.put(fmt.Sprint(name, i), newReading([]byte{}, kindMarkdown, "key", time.Time{}))
	}
	names := 0
	for key := range s.byKey {
		names += len(key)
	}
	if names > maxShelf {
		t.Errorf("%d names of %d bytes are kept, and %d bytes are for all", len(s.byKey), names, maxShelf)
	}
	last := fmt.Sprint(name, 9_999)
	if _, ok := s.take(last); !ok {
		t.Error("the newest one is not kept")
	}
}

// A page that many read is kept, and a large one is not.
func TestTheShelfKeepsPages(t *testing.T) {
	var s shelf
	for size, kept := range map[int]bool{0: true, 2 << 10: true, 48 << 10: true, 80 << 10: false} {
		key := fmt.Sprint(size)
		s.put(key, newReading(make([]byte, size), kindMarkdown, key, time.Time{}))
		if in, ok := s.take(key); ok != kept || len(in.body) != size && ok {
			t.Errorf("%d bytes: kept is %v", size, ok)
		}
	}
}
