package droplog

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func count(dropped int) string { return fmt.Sprintf("%d dropped\n", dropped) }

func TestWhatIsReadIsAllThere(t *testing.T) {
	var read, want bytes.Buffer
	w := New(&read, 1<<20, count)
	for i := range 1000 {
		fmt.Fprintf(io.MultiWriter(w, &want), "line %d\n", i)
	}
	w.Close(time.Minute)
	if read.String() != want.String() {
		t.Errorf("%d bytes of %d were written", read.Len(), want.Len())
	}
}

// Nobody waits for a reader who has stopped, and what he missed is counted once he reads
// again, where it is missing.
func TestAReaderWhoStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, stuck := io.Pipe()
		w := New(stuck, 30, count)
		say := func(text string) {
			if n, err := io.WriteString(w, text); n != len(text) || err != nil {
				t.Errorf("%q: %d, %v", text, n, err)
			}
		}
		say("first 10.\n")
		synctest.Wait() // it is being written, and counts
		say("second 10\n")
		say(strings.Repeat("x", 11))
		say("third 10.\n") // it would fit, but something before it is missing
		var read bytes.Buffer
		done := make(chan struct{})
		go func() { defer close(done); _, _ = read.ReadFrom(reader) }()
		synctest.Wait()
		say("after\n")
		say(strings.Repeat("y", 31))
		w.Close(time.Minute)
		say("too late\n")
		_ = stuck.Close()
		<-done
		if want := "first 10.\nsecond 10\n2 dropped\nafter\n1 dropped\n"; read.String() != want {
			t.Errorf("got %q, want %q", read.String(), want)
		}
	})
}

func TestCloseWaitsNoLongerThanItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, stuck := io.Pipe()
		w := New(stuck, 30, count)
		_, _ = io.WriteString(w, "nobody reads\n")
		began := time.Now()
		w.Close(time.Second)
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %s", took)
		}
		_ = reader.Close() // what was left behind ends with its stream
	})
}
