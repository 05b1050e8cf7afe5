package cli

import (
	"bytes"
	"testing"
)

// TestOnlyTheLineEndsOfATerminalGo passes the output of a terminal on in all pieces.
func TestOnlyTheLineEndsOfATerminalGo(t *testing.T) {
	const said, want = "a\r\nb\r\r\n\rc\rd\r\n\r", "a\nb\n" + `\rc\rd` + "\n" + `\r`
	for size := 1; size <= len(said); size++ {
		var shown bytes.Buffer
		o := newOutlet(&shown)
		o.ends = &lineEnds{to: o.rest}
		for rest := []byte(said); len(rest) > 0; rest = rest[min(size, len(rest)):] {
			if err := o.pass(rest[:min(size, len(rest))]); err != nil {
				t.Fatal(err)
			}
		}
		if err := o.flush(); err != nil || shown.String() != want {
			t.Errorf("by %d bytes: %q, %v; want %q", size, shown.String(), err, want)
		}
	}
}
