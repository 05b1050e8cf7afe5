package mcpclient

import (
	"bufio"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

// A line that has been begun comes whole, whoever gives up meanwhile; of one that has not, nothing
// comes.
func TestLinesAreSentWholeOrNotAtAll(t *testing.T) {
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	s := newSender(in)
	long := strings.Repeat("x", 1<<20) + "\n" // more than there is room for
	refused := func(ctx context.Context, what string) {
		t.Helper()
		if sent, err := s.send(ctx, []byte(what)); sent || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: sent %v, %v", what, sent, err)
		}
	}
	given, giveUp := context.WithCancel(t.Context())
	go func() {
		written(t, out)
		giveUp()
	}()
	if sent, _ := s.send(given, []byte(long)); !sent {
		t.Error("the line that was begun counts as not sent")
	}
	refused(given, "after the end\n")
	waits, stop := context.WithCancel(t.Context())
	go func() {
		written(t, out)
		stop()
	}()
	refused(waits, "behind the long line\n")
	lines := bufio.NewReader(out)
	if got, err := lines.ReadString('\n'); got != long {
		t.Errorf("of the long line came %d bytes, %v", len(got), err)
	}
	if sent, err := s.send(t.Context(), []byte("last\n")); !sent || err != nil {
		t.Errorf("sent %v, %v", sent, err)
	}
	s.close()
	if got, err := lines.ReadString('\n'); got != "last\n" {
		t.Errorf("got %q, %v", got, err)
	}
}
