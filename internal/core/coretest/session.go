package coretest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

// Session holds an engine that offers sessions to the rules of [core.Opener] and
// [durward.Session].
func Session(t *testing.T, fresh func(t *testing.T) Subject) {
	holdAll(t, fresh, sessionRules)
}

var sessionRules = []rule[Subject]{
	{"what is written comes back in chunks without holes", func(t testing.TB, s Subject) {
		talk := s.open(t, s.Echo)
		talk.write("one\n")
		talk.until("one\n")
		talk.write("two\n")
		if err := talk.CloseInput(); err != nil {
			t.Errorf("CloseInput: %v", err)
		}
		if result, err := talk.wait(); err != nil || durward.OutcomeOf(result, err) != durward.OutcomeOK {
			t.Errorf("it ended with %v, %v", result, err)
		}
		chunks := talk.all(1 << 20)
		page, err := talk.Read(within(t), 0, 1<<20, 0)
		if got := joined(chunks, durward.Stdout); err != nil || got != "one\ntwo\n" || !numbered(chunks, page.Exit, 0) {
			t.Errorf("the chunks are %v, the exit is %v, %v", chunks, page.Exit, err)
		}
	}},
	{"late readers see what there was, each at its pace", func(t testing.TB, s Subject) {
		talk := s.open(t, s.Echo)
		for i := range 10 {
			talk.write(fmt.Sprintln("line", i))
			talk.until(fmt.Sprintln("line", i))
		}
		_ = talk.CloseInput()
		_, _ = talk.wait()
		if err := talk.prepared.Close(); err != nil { // the core does, before the session is closed
			t.Fatal(err)
		}
		want := talk.all(1 << 20)
		if strings.Count(joined(want, durward.Stdout), "\n") != 10 {
			t.Fatalf("once the call is closed there is %v", want)
		}
		var readers sync.WaitGroup
		for pace := range 8 {
			readers.Go(func() {
				if got := talk.all(1 << pace); !slices.EqualFunc(got, want, sameChunk) {
					t.Errorf("by %d bytes one reads %v; another %v", 1<<pace, got, want)
				}
			})
		}
		soon(t, "the readers", readers.Wait)
		if page, err := talk.Read(within(t), want[0].Seq, 1<<20, 0); err != nil || !slices.EqualFunc(page.Chunks, want[1:], sameChunk) {
			t.Errorf("behind the first chunk there is %v, %v; want %v", page.Chunks, err, want[1:])
		}
	}},
	{"a read waits for output, and only as long as it is told", func(t testing.TB, s Subject) {
		talk := s.open(t, s.Echo)
		for _, wait := range []time.Duration{0, time.Millisecond} {
			soon(t, "a read", func() {
				if page, err := talk.Read(within(t), 0, 1024, wait); err != nil || len(page.Chunks) > 0 || page.Next != 0 || page.Ended {
					t.Errorf("with nothing to read there is %+v, %v", page, err)
				}
			})
		}
		var reader sync.WaitGroup
		reader.Go(func() {
			if page, err := talk.Read(within(t), 0, 1024, patience); err != nil || len(page.Chunks) == 0 {
				t.Errorf("the reader that waited got %+v, %v", page, err)
			}
		})
		talk.write("here\n")
		soon(t, "the reader", reader.Wait)
	}},
	{"a read and a wait end with their contexts, the session does not", func(t testing.TB, s Subject) {
		talk := s.open(t, s.Echo)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		soon(t, "an ended read", func() { _, _ = talk.Read(ctx, 0, 1024, time.Hour) })
		soon(t, "an ended wait", func() {
			if _, err := talk.Wait(ctx); err == nil {
				t.Error("Wait says that the session is over")
			}
		})
		talk.write("alive\n")
		talk.until("alive\n")
	}},
	{"writes of many do not mix", func(t testing.TB, s Subject) {
		talk := s.open(t, s.Echo)
		line := strings.Repeat("x", 300)
		var writers sync.WaitGroup
		for i := range 16 {
			writers.Go(func() { talk.write(fmt.Sprintf("%s%02d\n", line, i)) })
		}
		soon(t, "the writers", writers.Wait)
		_ = talk.CloseInput()
		_, _ = talk.wait()
		lines := strings.Fields(joined(talk.all(1<<20), durward.Stdout))
		for i := range 16 {
			if !slices.Contains(lines, fmt.Sprintf("%s%02d", line, i)) {
				t.Errorf("line %d is not whole among %d", i, len(lines))
			}
		}
	}},
	{"a write that nobody reads ends with its context", func(t testing.TB, s Subject) {
		talk, _ := s.openEndless(t)
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		soon(t, "a write", func() {
			n, err := talk.Write(ctx, make([]byte, 8<<20))
			if kind := durward.KindOf(err); n == 8<<20 || (kind != durward.Cancelled && kind != durward.Timeout) {
				t.Errorf("Write = %d, %v", n, err)
			}
		})
	}},
	{"what is over takes no more input", func(t testing.TB, s Subject) {
		talk := s.open(t, s.Echo)
		_ = talk.CloseInput()
		_, _ = talk.wait()
		soon(t, "a session that is over", func() {
			if n, err := talk.Write(within(t), []byte("late\n")); n != 0 || err == nil || durward.KindOf(err) == durward.Internal {
				t.Errorf("Write = %d, %v", n, err)
			}
			_ = talk.CloseInput()
			_ = talk.Signal(15)
			talk.Cancel()
		})
		if _, err := talk.wait(); err != nil {
			t.Errorf("what is over now ends with %v", err)
		}
	}},
	{"a size is for terminals", func(t testing.TB, s Subject) {
		talk := s.open(t, s.Echo)
		if err := talk.Resize(durward.WindowSize{Rows: 1, Cols: 1}); durward.KindOf(err) != durward.Invalid {
			t.Errorf("Resize without a terminal says %v", err)
		}
		talk.write("alive\n")
		talk.until("alive\n")
	}},
	{"a terminal has the size it is given", func(t testing.TB, s Subject) {
		s.Sizes.Terminal = &durward.WindowSize{Rows: 31, Cols: 97}
		talk := s.open(t, s.Sizes)
		talk.write("\n")
		talk.until("31 97")
		if err := talk.Resize(durward.WindowSize{Rows: 50, Cols: 132}); err != nil {
			t.Errorf("Resize: %v", err)
		}
		talk.write("\n")
		talk.until("50 132")
		if got := joined(talk.page(), durward.Terminal); !strings.Contains(got, "31 97") {
			t.Errorf("the terminal's stream holds %q", got)
		}
	}},
	{"cancelling stops the work", func(t testing.TB, s Subject) {
		for name, cancel := range map[string]func(talk){
			"Cancel":      func(k talk) { k.Cancel() },
			"its context": func(k talk) { k.cancel() },
			"Close":       func(k talk) { _ = k.Close() },
		} {
			talk, work := s.openEndless(t)
			cancel(talk)
			_, err := talk.wait()
			if gone := work.Gone(); durward.KindOf(err) != durward.Cancelled || !gone {
				t.Errorf("after %s it ended with %v, gone: %t", name, err, gone)
			}
		}
	}},
	{"a deadline stops the work", func(t testing.TB, s Subject) {
		work := s.Endless(t)
		p := s.prepare(t, work.Call)
		defer p.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		session, err := p.(core.Opener).Open(ctx, nil)
		if err == nil {
			_, err = session.Wait(within(t))
			defer session.Close()
		}
		if gone := work.Gone(); durward.KindOf(err) != durward.Timeout || !gone {
			t.Errorf("it ended with %v, gone: %t", err, gone)
		}
	}},
	{"a context that ended before starts nothing", func(t testing.TB, s Subject) {
		mark := filepath.Join(s.Dir, "mark")
		p := s.prepare(t, s.Marks(mark))
		defer p.Close()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		session, err := p.(core.Opener).Open(ctx, nil)
		if err == nil {
			_, err = session.Wait(within(t))
			_ = session.Close()
		}
		if durward.KindOf(err) != durward.Cancelled || exists(mark) {
			t.Errorf("it ended with %v, and the file exists: %t", err, exists(mark))
		}
	}},
	{"a signal reaches the work", func(t testing.TB, s Subject) {
		talk, work := s.openEndless(t)
		if err := talk.Signal(15); err != nil {
			t.Errorf("Signal: %v", err)
		}
		_, err := talk.wait()
		if gone := work.Gone(); err != nil || !gone {
			t.Errorf("it ended with %v, gone: %t", err, gone)
		}
		if err := talk.Signal(-1); err == nil {
			t.Error("there is a signal -1")
		}
	}},
	{"nobody who does not read stops the work", func(t testing.TB, s Subject) {
		const limit = 64 << 10
		s.Grant.Limits.Output, s.Grant.Keep = limit, durward.KeepStream
		talk := s.open(t, s.Noisy)
		if _, err := talk.wait(); err != nil {
			t.Errorf("it ended with %v", err)
		}
		page, err := talk.Read(within(t), 0, 8<<20, 0)
		kept := len(joined(page.Chunks, ""))
		if err != nil || !page.Ended || kept == 0 || kept > limit {
			t.Fatalf("a page of %d bytes, ended: %t, %v; the limit is %d", kept, page.Ended, err, limit)
		}
		if page.Lost == 0 || !numbered(page.Chunks, page.Exit, page.Lost) || page.Next != page.Last {
			t.Errorf("%d chunks are lost, and the next is number %d", page.Lost, page.Chunks[0].Seq)
		}
	}},
	{"with back-pressure the work waits for its reader and nothing is lost", func(t testing.TB, s Subject) {
		const limit, small = 64 << 10, 20 // small chunks, together less than the one they make room for
		s.Grant.Limits.Output, s.Grant.Keep = limit, durward.KeepFlow
		talk := s.open(t, s.Echo)
		for i := range small {
			talk.write("x")
			talk.heard.await(within(t), i+1)
		}
		var writer sync.WaitGroup
		writer.Go(func() {
			talk.write(strings.Repeat("y", 1<<20))
			_ = talk.CloseInput()
		})
		read := 0
		for page := (durward.Page{}); !page.Ended; {
			var err error
			if page, err = talk.Read(within(t), page.Next, 1, patience); err != nil || page.Lost > 0 {
				t.Errorf("after %d bytes %d chunks are lost, %v", read, page.Lost, err)
				break
			}
			if read == 0 { // the writer gets as far as it can with one chunk read
				talk.heard.await(within(t), limit*3/4)
			}
			read += len(joined(page.Chunks, ""))
		}
		talk.Cancel() // what has ended stays as it has
		soon(t, "the writer", writer.Wait)
		if result, err := talk.wait(); err != nil || read != small+1<<20 || result.Truncated() {
			t.Errorf("%d bytes were read, truncated: %t, %v", read, result.Truncated(), err)
		}
	}},
	{"work that waits for its reader can be stopped", func(t testing.TB, s Subject) {
		s.Grant.Limits.Output, s.Grant.Keep = 64<<10, durward.KeepFlow
		talk := s.open(t, s.Noisy)
		if page, err := talk.Read(within(t), 0, 1, patience); err != nil || len(page.Chunks) == 0 {
			t.Fatalf("it has not begun: %+v, %v", page, err)
		}
		talk.finish()
	}},
	{"events tell the same chunks, and nothing after the end", func(t testing.TB, s Subject) {
		talk := s.open(t, s.Echo)
		talk.write("one\n")
		talk.until("one\n")
		talk.write("two\n")
		_ = talk.CloseInput()
		_, _ = talk.wait()
		told := talk.heard.close()
		if want := talk.all(1 << 20); !slices.EqualFunc(told, want, sameChunk) {
			t.Errorf("the events told %v; there is %v", told, want)
		}
	}},
	{"nobody has to listen", func(t testing.TB, s Subject) {
		p := s.prepare(t, s.Succeeds)
		defer p.Close()
		session, err := p.(core.Opener).Open(within(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := session.Wait(within(t)); err != nil {
			t.Errorf("it ended with %v", err)
		}
		if err := errors.Join(session.Close(), session.Close()); err != nil {
			t.Errorf("Close: %v", err)
		}
	}},
	{"nothing stays open", func(t testing.TB, s Subject) {
		if _, err := s.do(within(t), t, s.Succeeds); err != nil { // what an engine opens once
			t.Fatal(err)
		}
		s.settle()
		before := descriptors(t)
		for _, c := range []durward.Call{s.Succeeds, s.Echo, s.Sizes} {
			talk := s.open(t, c)
			talk.finish()
			s.settle()
		}
		if after := descriptors(t); after > before {
			t.Errorf("%d descriptors were open before and %d are after", before, after)
		}
	}},
}

// A talk is a session that a rule holds with a subject. It is over with its test.
type talk struct {
	durward.Session
	t        testing.TB
	prepared core.Prepared
	cancel   context.CancelFunc
	heard    *listener
}

func (s Subject) open(t testing.TB, c durward.Call) talk {
	t.Helper()
	ctx, cancel := context.WithCancel(within(t))
	k := talk{t: t, prepared: s.prepare(t, c), cancel: cancel, heard: &listener{t: t, told: make(chan struct{}, 1)}}
	opener, ok := k.prepared.(core.Opener)
	if !ok {
		t.Fatal("the engine offers no sessions")
	}
	var err error
	if k.Session, err = opener.Open(ctx, k.heard); err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(k.finish)
	return k
}

func (s Subject) openEndless(t testing.TB) (talk, Work) {
	t.Helper()
	work := s.Endless(t)
	k := s.open(t, work.Call)
	if err := work.Started(within(t)); err != nil {
		t.Fatalf("the work has not begun: %v", err)
	}
	return k, work
}

// finish closes everything, which may be closed before.
func (k talk) finish() {
	soon(k.t, "Close", func() {
		if err := k.Close(); err != nil {
			k.t.Errorf("Close: %v", err)
		}
	})
	closeTwice(k.t, k.prepared)
	k.cancel()
}

func (k talk) write(text string) {
	if n, err := k.Write(within(k.t), []byte(text)); n != len(text) || err != nil {
		k.t.Errorf("Write(%q) = %d, %v", text, n, err)
	}
}

func (k talk) wait() (durward.Result, error) { return k.Wait(within(k.t)) }

// until reads until the text is there.
func (k talk) until(text string) {
	k.t.Helper()
	var seen bytes.Buffer
	for after := uint64(0); !strings.Contains(seen.String(), text); {
		page, err := k.Read(within(k.t), after, 1<<20, patience)
		if err != nil || len(page.Chunks) == 0 {
			k.t.Fatalf("%q has not come: %q, then %+v, %v", text, seen.String(), page, err)
		}
		for _, c := range page.Chunks {
			seen.Write(c.Data)
		}
		after = page.Next
	}
}

// page gives the chunks that there are now.
func (k talk) page() []durward.Chunk {
	page, err := k.Read(within(k.t), 0, 1<<20, 0)
	if err != nil {
		k.t.Errorf("Read: %v", err)
	}
	return page.Chunks
}

// all reads a session that is over from the beginning, by so many bytes at a time.
func (k talk) all(maxBytes int) []durward.Chunk {
	var chunks []durward.Chunk
	for after := uint64(0); ; {
		page, err := k.Read(within(k.t), after, maxBytes, 0)
		if err != nil || (page.Next <= after && !page.Ended) || page.Lost != 0 {
			k.t.Errorf("Read behind %d gives %+v, %v", after, page, err)
			return chunks
		}
		if size := len(joined(page.Chunks, "")); size > maxBytes && len(page.Chunks) > 1 {
			k.t.Errorf("a page of at most %d bytes has %d", maxBytes, size)
		}
		chunks, after = append(chunks, page.Chunks...), page.Next
		if page.Ended {
			return chunks
		}
	}
}

// A listener keeps the chunks it is told and knows when it should hear no more.
type listener struct {
	t    testing.TB
	told chan struct{} // has room for one: there is something new
	mu   sync.Mutex
	// chunks and closed are guarded by mu.
	chunks []durward.Chunk
	closed bool
}

func (l *listener) Output(c durward.Chunk) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		l.t.Errorf("chunk %d is told after the end", c.Seq)
	}
	l.chunks = append(l.chunks, c)
	select {
	case l.told <- struct{}{}:
	default:
	}
}

// await waits until so many bytes were told.
func (l *listener) await(ctx context.Context, n int) {
	for {
		l.mu.Lock()
		heard := len(joined(l.chunks, ""))
		l.mu.Unlock()
		if heard >= n {
			return
		}
		select {
		case <-l.told:
		case <-ctx.Done():
			l.t.Errorf("%d bytes are told; want %d", heard, n)
			return
		}
	}
}

func (l *listener) close() []durward.Chunk {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return l.chunks
}

func (l *listener) Progress(float64, float64, string) {}

func (l *listener) Log(string, string) {}

func (l *listener) Ask(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return nil, errors.New("nobody is there to answer")
}

func (l *listener) Ended(durward.Result) { l.t.Error("the engine tells the end; the core does") }

// joined gives the bytes of one stream, or of all when it is "".
func joined(chunks []durward.Chunk, stream durward.Stream) string {
	var out strings.Builder
	for _, c := range chunks {
		if stream == "" || c.Stream == stream {
			out.Write(c.Data)
		}
	}
	return out.String()
}

// numbered reports whether chunks and the exit, where there is one, count from 1 without a
// hole but for the chunks that are lost before the first.
func numbered(chunks []durward.Chunk, exit *durward.Exit, lost uint64) bool {
	next := lost + 1
	if exit != nil && len(chunks) > 0 && exit.Seq < chunks[0].Seq {
		next++
	}
	for _, c := range chunks {
		if exit != nil && exit.Seq == next {
			next++
		}
		if c.Seq != next {
			return false
		}
		next++
	}
	return exit == nil || exit.Seq <= next
}

func sameChunk(a, b durward.Chunk) bool {
	return a.Seq == b.Seq && a.Stream == b.Stream && bytes.Equal(a.Data, b.Data)
}
