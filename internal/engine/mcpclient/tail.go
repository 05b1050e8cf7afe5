package mcpclient

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

const (
	// tailBytes is what is kept of a server's standard error.
	tailBytes = 64 << 10
	// logBytes is the most that one line of it takes in the log.
	logBytes = 8 << 10
)

// A tail keeps the last of what a server printed to its standard error, over all its starts, redacted.
type tail struct {
	mu      sync.Mutex
	text    []byte // guarded by mu; at most twice as much as is kept
	pending []byte // guarded by mu; a line that has not ended, as it was printed
}

func (t *tail) add(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if len(t.text) >= 2*tailBytes { // now and then, and not for each line
		t.text = t.text[:copy(t.text, t.text[len(t.text)-tailBytes:])]
	}
}

func (t *tail) all(of *server) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := append(bytes.Clone(t.text), of.redacted(string(t.pending))...)
	return text[max(len(text)-tailBytes, 0):]
}

func (t *tail) wait(line []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pending = append(t.pending[:0], line...)
}

// follow reads a stream to its end, redacts and keeps it, and tells each line that is not blank, long
// ones in parts. It gives the last of them.
func (t *tail) follow(r io.Reader, of *server, tell func(line string)) (last string) {
	var line []byte
	keep := func(said string) {
		t.add([]byte(said))
		if text := strings.TrimSpace(said); text != "" {
			last = text
			tell(last)
		}
	}
	buf := make([]byte, logBytes)
	for {
		n, err := r.Read(buf)
		for part := range bytes.Lines(buf[:n]) {
			line = append(line, part...)
			switch {
			case part[len(part)-1] == '\n':
				keep(of.redacted(string(line)))
				line = line[:0]
			case len(line) >= logBytes+of.secrets.Longest():
				said, rest := of.redactedPart(string(line))
				keep(said)
				line = append(line[:0], rest...)
			}
		}
		if t.wait(line); err != nil {
			t.wait(nil)
			keep(of.redacted(string(line)))
			return last
		}
	}
}
