package mcpclient

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/durward/durward/internal/jsonrpc"
)

// A saying is the output of a program that the test writes.
type saying struct {
	*intake
	t    *testing.T
	to   *os.File
	told chan string   // methods of notifications
	over chan struct{} // closed when run has come back
}

func newSaying(t *testing.T) *saying {
	t.Helper()
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := &saying{t: t, to: to, told: make(chan string, 16), over: make(chan struct{})}
	of := &server{engine: &Engine{}, log: slog.New(slog.DiscardHandler)}
	c := newConn(nil, &run{server: of})
	c.notified = func(m jsonrpc.Message) { s.told <- m.Method }
	s.intake = newIntake(from, c)
	go func() { defer close(s.over); s.run() }()
	t.Cleanup(func() {
		to.Close()
		<-s.over
		from.Close()
	})
	return s
}

func (s *saying) say(text string) {
	s.t.Helper()
	if _, err := s.to.WriteString(text); err != nil {
		s.t.Error(err)
	}
}

func (s *saying) asks(id int64) *question {
	s.t.Helper()
	q := &question{id: id, reply: make(chan reply, 1)}
	if err := s.conn.expect(q); err != nil {
		s.t.Error(err)
	}
	return q
}

func answerTo(id int64) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"of":%d}}`+"\n", id, id)
}

func (s *saying) isAnswered(q *question) {
	s.t.Helper()
	select {
	case r := <-q.reply:
		if want := fmt.Sprintf(`{"of":%d}`, q.id); string(r.result) != want || r.err != nil {
			s.t.Errorf("%d is answered by %s, %v", q.id, r.result, r.err)
		}
	case <-time.After(time.Minute):
		s.t.Errorf("%d is not answered", q.id)
	}
}

// called is one call, which may read its answer.
func (s *saying) called(id int64) {
	s.t.Helper()
	q := s.asks(id)
	s.say(answerTo(id))
	s.hearOut(s.t.Context(), q)
	s.isAnswered(q)
}

// reads has a call read, unless run does already, and gives what is closed when it has come back.
func (s *saying) reads(ctx context.Context, q *question) chan struct{} {
	s.t.Helper()
	back := make(chan struct{})
	go func() { defer close(back); s.hearOut(ctx, q) }()
	for taken := false; !taken; {
		s.mu.Lock()
		taken = s.taken
		s.mu.Unlock()
	}
	return back
}

// What the server says is heard whoever reads: beside an answer, before it, and with nobody there.
func TestAnIntakeHearsAll(t *testing.T) {
	s := newSaying(t)
	for id := range int64(50) {
		q := s.asks(id)
		s.say(`{"jsonrpc":"2.0","method":"before"}` + "\n" + answerTo(id) + `{"jsonrpc":"2.0","method":"behind"}` + "\n")
		s.hearOut(t.Context(), q)
		s.isAnswered(q)
		if a, b := <-s.told, <-s.told; a != "before" || b != "behind" {
			t.Fatalf("%s, %s", a, b)
		}
	}
	for range 3 {
		s.called(100)
		s.say(`{"jsonrpc":"2.0","method":"alone"}` + "\n")
		if told := <-s.told; told != "alone" {
			t.Fatal(told)
		}
	}
}

func TestManyWhoWaitAtAnIntake(t *testing.T) {
	s := newSaying(t)
	for round := range int64(100) {
		var callers sync.WaitGroup
		for i := range int64(4) {
			callers.Go(func() { s.called(round*4 + i) })
		}
		callers.Wait()
	}
}

// Who gives up in the middle of a line takes nothing of it away, and whoever waits then hears the
// rest, and the end.
func TestACallThatGivesUpReading(t *testing.T) {
	s := newSaying(t)
	for id := range int64(20) {
		ctx, cancel := context.WithCancel(t.Context())
		s.called(100) // behind which nobody reads
		q := s.asks(id)
		back := s.reads(ctx, q)
		answer := answerTo(id)
		s.say(answer[:len(answer)/2])
		cancel()
		<-back
		s.say(answer[len(answer)/2:])
		s.isAnswered(q)
	}
}

// A call that reads learns the end, and so does who waits for it.
func TestAnIntakeEnds(t *testing.T) {
	for name, end := range map[string]func(s *saying){
		"with the output": func(s *saying) { s.to.Close() },
		"by its time":     func(s *saying) { s.close(time.Now()) }, // somebody else holds the output
	} {
		for _, gives := range []bool{false, true} {
			t.Run(fmt.Sprint(name, gives), func(t *testing.T) {
				s := newSaying(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s.called(100) // behind which nobody reads
				back := s.reads(ctx, s.asks(1))
				if gives {
					go cancel()
				}
				end(s)
				<-s.over
				<-back
				if s.hearOut(t.Context(), s.asks(2)); !s.isEnded() {
					t.Error("it goes on")
				}
			})
		}
	}
}
