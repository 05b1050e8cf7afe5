package cli

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
)

// A stand is a handler that knows when it is used after its end.
type stand struct {
	t      *testing.T
	name   string
	hold   chan struct{} // if set, each request waits for it
	came   chan struct{}
	closed atomic.Bool
	err    error
}

func (s *stand) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if s.came != nil {
		s.came <- struct{}{}
	}
	if s.hold != nil {
		<-s.hold
	}
	if s.closed.Load() {
		s.t.Errorf("%s is asked after its end", s.name)
	}
	_, _ = w.Write([]byte(s.name))
}

func (s *stand) Close() error {
	if s.closed.Swap(true) {
		s.t.Errorf("%s is closed twice", s.name)
	}
	return s.err
}

func ask(h http.Handler) string {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	return w.Body.String()
}

func TestRelayFinishesOnTheOldHandler(t *testing.T) {
	old := &stand{t: t, name: "old", hold: make(chan struct{}), came: make(chan struct{}), err: errors.New("stuck")}
	next := &stand{t: t, name: "next"}
	r := newRelay(old)
	answered := make(chan string)
	go func() { answered <- ask(r) }()
	<-old.came
	failed := make(chan error, 1)
	r.replace(next, func(err error) { failed <- err })
	if got := ask(r); got != "next" {
		t.Errorf("a new request is answered by %q", got)
	}
	if old.closed.Load() {
		t.Error("the old handler is closed while it answers")
	}
	close(old.hold)
	if got := <-answered; got != "old" {
		t.Errorf("the request in flight is answered by %q", got)
	}
	if err := <-failed; !errors.Is(err, old.err) || !old.closed.Load() {
		t.Errorf("the old handler ends with %v", err)
	}
	if err := r.close(); err != nil || !next.closed.Load() {
		t.Errorf("the relay ends with %v", err)
	}
}

func TestRelayUnderLoad(t *testing.T) {
	all := []*stand{{t: t, name: "0"}}
	r := newRelay(all[0])
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range 200 {
				if ask(r) == "" {
					t.Error("a request is not answered")
				}
			}
		})
	}
	for range 50 {
		next := &stand{t: t, name: "n"}
		all = append(all, next)
		r.replace(next, func(err error) { t.Error(err) })
	}
	callers.Wait()
	if err := r.close(); err != nil {
		t.Error(err)
	}
	for i, s := range all {
		if !s.closed.Load() {
			t.Errorf("handler %d is left open", i)
		}
	}
}
