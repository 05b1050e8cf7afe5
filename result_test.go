package durward

import "testing"

func TestExitStatus(t *testing.T) {
	code := func(n int) *int { return &n }
	for _, test := range []struct {
		name   string
		result Result
		want   int
	}{
		{"no process", Result{}, 0},
		{"exit 0", Result{Exit: code(0)}, 0},
		{"exit 255", Result{Exit: code(255)}, 255},
		{"killed", Result{Signal: 9}, 137},
		{"terminated", Result{Signal: 15}, 143},
	} {
		if got := test.result.ExitStatus(); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestCapture(t *testing.T) {
	for _, test := range []struct {
		name    string
		capture Capture
		bytes   string
		dropped int64
	}{
		{"nothing", Capture{}, "", 0},
		{"all of it", Capture{Head: []byte("abc"), Total: 3}, "abc", 0},
		{"the head", Capture{Head: []byte("ab"), Total: 10}, "ab", 8},
		{"the tail", Capture{Tail: []byte("yz"), Total: 10}, "yz", 8},
		{"head and tail", Capture{Head: []byte("ab"), Tail: []byte("yz"), Total: 10}, "abyz", 6},
	} {
		if got := string(test.capture.Bytes()); got != test.bytes {
			t.Errorf("%s: %q, want %q", test.name, got, test.bytes)
		}
		if got := test.capture.Dropped(); got != test.dropped {
			t.Errorf("%s: %d bytes dropped, want %d", test.name, got, test.dropped)
		}
		for _, r := range []Result{{Stdout: test.capture}, {Stderr: test.capture}} {
			if got, want := r.Truncated(), test.dropped > 0; got != want {
				t.Errorf("%s: truncated %v, want %v", test.name, got, want)
			}
		}
	}
}

// Joining must not write into the spare room behind the head.
func TestCaptureBytesLeavesTheHeadAlone(t *testing.T) {
	backing := []byte("ab--")
	c := Capture{Head: backing[:2], Tail: []byte("yz"), Total: 10}
	if got := string(c.Bytes()); got != "abyz" || string(backing) != "ab--" {
		t.Errorf("%q, and the head's backing array is now %q", got, backing)
	}
}
