package fsroot

import "testing"

// What is read without waiting is what is there, and never a part of what was asked for.
func TestReadReady(t *testing.T) {
	tr := newTree(t)
	f, err := open(t, tr.root, systemOpener()).OpenFile("a.txt", Rules{})
	must(t, err)
	defer f.Close()
	for _, at := range []struct {
		offset int64
		want   string
	}{{0, "hello"}, {1, "ello"}, {0, "he"}, {5, ""}} {
		if got := make([]byte, len(at.want)); f.ReadReady(got, at.offset) && string(got) != at.want {
			t.Errorf("at %d: %q, not %q", at.offset, got, at.want)
		}
	}
	for _, offset := range []int64{-1, 1, 5, 9} {
		if f.ReadReady(make([]byte, 5), offset) {
			t.Errorf("5 bytes are read at %d of 5", offset)
		}
	}
	must(t, f.Close())
	if f.ReadReady(make([]byte, 5), 0) {
		t.Error("a closed file is read")
	}
}
