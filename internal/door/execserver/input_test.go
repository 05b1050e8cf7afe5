package execserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/durward/durward"
)

// A reader is a process that reads when it is told to.
type reader struct {
	durward.Session
	reads  chan int // tokens for writes that may go through
	mu     sync.Mutex
	got    strings.Builder // guarded by mu
	closed bool            // guarded by mu
}

func (r *reader) Write(ctx context.Context, p []byte) (int, error) {
	select {
	case <-r.reads:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got.Write(p)
	return len(p), nil
}

func (r *reader) CloseInput() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return nil
}

// poured pours in into a reader until the test is over.
func poured(t *testing.T, in *input) (r *reader, end func()) {
	r = &reader{reads: make(chan int, 100)}
	closed, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		in.pour(context.Background(), r, closed)
	}()
	end = sync.OnceFunc(func() {
		close(closed)
		<-done
	})
	t.Cleanup(end)
	return r, end
}

func name(s string) *string { return &s }

func TestWritesAreAcceptedAsTheyFit(t *testing.T) {
	in := newInput()
	r, end := poured(t, in)
	answers := make(chan string, 10)
	write := func(id string, data []byte) {
		in.write(name(id), data, func(err error) { answers <- fmt.Sprint(id, " ", err) })
	}
	write("a", make([]byte, window)) // fits
	write("b", []byte("b"))          // does not, before a is read
	if got := <-answers; got != "a <nil>" {
		t.Fatal(got)
	}
	write("a", []byte("again"))
	if got := <-answers; got != "a <nil>" {
		t.Fatalf("a write that is repeated is answered %s", got)
	}
	select {
	case got := <-answers:
		t.Fatalf("%s before there is room", got)
	default:
	}
	r.reads <- 1
	if got := <-answers; got != "b <nil>" {
		t.Fatal(got)
	}
	r.reads <- 1
	write("c", []byte("c"))
	<-answers
	r.reads <- 1
	write("d", make([]byte, window))
	<-answers
	write("e", []byte("e"))
	end()
	if got := <-answers; got != "e "+errGone.Error() {
		t.Errorf("a write that waits at the end is answered %s", got)
	}
	if got := r.got.String(); len(got) != window+2 || got[window:] != "bc" {
		t.Errorf("%d bytes are read, and %q at the end", len(got), got[min(len(got), window):])
	}
	in.write(nil, nil, func(err error) {
		if !errors.Is(err, errGone) {
			t.Errorf("a write behind the end is answered %v", err)
		}
	})
}

func TestTheEndOfInputComesBehindWrites(t *testing.T) {
	in := newInput()
	r, end := poured(t, in)
	in.write(nil, []byte("x"), func(error) {})
	in.end()
	in.end()
	var refused error
	in.write(nil, []byte("y"), func(err error) { refused = err })
	r.reads <- 1
	r.reads <- 1
	for {
		r.mu.Lock()
		closed := r.closed
		r.mu.Unlock()
		if closed {
			break
		}
	}
	end()
	if r.got.String() != "x" || refused == nil {
		t.Errorf("it read %q, and a write behind the end is answered %v", r.got.String(), refused)
	}
}

func TestWhatWaitsIsBounded(t *testing.T) {
	in := newInput()
	var last error
	for i := range mostWaiting/window + 3 {
		in.write(name(fmt.Sprint(i)), make([]byte, window), func(err error) { last = err })
	}
	if !errors.Is(last, errFull) {
		t.Errorf("one too many is answered %v", last)
	}
	for i := range rememberedWrites + 10 {
		in.remember(fmt.Sprint("id", i))
	}
	if len(in.known) != rememberedWrites || len(in.order) != rememberedWrites || in.repeated("id9") || !in.repeated("id10") {
		t.Errorf("%d ids are known", len(in.known))
	}
}
