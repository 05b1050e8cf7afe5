package core_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/core/coretest"
)

// A warden plays an engine that keeps a command from hosts.
type warden struct {
	tell    func(durward.Contact)
	traffic durward.Traffic
}

// watching makes the engine of a road one that tells of refusals.
func watching(r *road) *warden {
	w := &warden{}
	r.OnRefused = func(tell func(durward.Contact)) { w.tell = tell }
	return w
}

// refuse counts a refusal as the traffic does, with so many targets listed, and tells of it.
func (w *warden) refuse(host string, listed int) {
	to := durward.Contact{Host: host, Port: 80, Rule: "network.allow", Times: 1}
	i := slices.IndexFunc(w.traffic.Refused, func(c durward.Contact) bool { return c.Host == host })
	switch {
	case i >= 0:
		w.traffic.Refused[i].Times++
	case len(w.traffic.Refused) < listed:
		w.traffic.Refused = append(w.traffic.Refused, to)
	default:
		w.traffic.MoreRefused++
	}
	w.tell(to)
}

// events gives the refusals on record, and asks that nothing but the outcome is behind them.
func events(t *testing.T, records []coretest.Record) (list []coretest.Record) {
	t.Helper()
	for i, r := range records {
		switch r["phase"] {
		case coretest.PhaseEvent:
			list = append(list, r)
		case coretest.PhaseOutcome:
			if i != len(records)-1 {
				t.Errorf("behind the outcome there is %v", records[i+1:])
			}
		}
	}
	return list
}

func TestARefusalIsOnRecordBeforeTheCommandHearsOfIt(t *testing.T) {
	r := newRoad()
	w := watching(r)
	r.OnRun = func(context.Context, durward.Call) (durward.Result, error) {
		for i := range 3 {
			w.refuse("evil.test", 128)
			list := events(t, r.Records(t))
			if len(list) != i+1 {
				t.Fatalf("after %d refusals %d are on record", i+1, len(list))
			}
			checkRecord(t, list[i], coretest.Record{"cause": "network.refused", "host": "evil.test", "port": 80.0, "rule": "network.allow", "times": 1.0})
		}
		return durward.Result{Network: &w.traffic}, nil
	}
	if _, err := r.runtime(t).Do(t.Context(), command("x")); err != nil {
		t.Fatal(err)
	}
	if list := events(t, r.Records(t)); len(list) != 3 {
		t.Errorf("at the end %d are on record", len(list))
	}
}

// However many there are and whoever they go to, each is on record once: by itself, in the
// count of its target, or in that of all which are not listed.
func TestRefusalsAddUp(t *testing.T) {
	for _, test := range []struct {
		targets, times, listed, events int
	}{
		{4, 128, 128, 128},
		{4, 129, 128, 128 + 1},
		{4, 1000, 128, 128 + 4},
		{200, 1000, 128, 128 + 128 + 1},
		{200, 200, 100, 128 + 1}, // of the live ones, too, some are not listed
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			r := newRoad()
			w := watching(r)
			r.OnRun = func(context.Context, durward.Call) (durward.Result, error) {
				for i := range test.times {
					w.refuse(fmt.Sprint("h", i%test.targets), test.listed)
				}
				return durward.Result{Network: &w.traffic}, nil
			}
			if _, err := r.runtime(t).Do(t.Context(), command("x")); err != nil {
				t.Fatal(err)
			}
			list := events(t, r.Records(t))
			if len(list) != test.events {
				t.Errorf("%d events; want %d", len(list), test.events)
			}
			counts, sum := map[any]int{}, 0
			for _, e := range list {
				times := int(e["times"].(float64))
				counts[e["host"]] += times
				sum += times
			}
			if sum != test.times {
				t.Errorf("the events count %d refusals of %d", sum, test.times)
			}
			for i, to := range w.traffic.Refused {
				if counts[to.Host] != to.Times {
					t.Errorf("target %d: the events count %d refusals, the result %d", i, counts[to.Host], to.Times)
				}
			}
		})
	}
}

// A call that cannot be recorded does not go on. The log says so once it can be written.
func TestARefusalThatCannotBeRecordedEndsTheCall(t *testing.T) {
	for _, open := range []bool{false, true} {
		r := newRoad()
		w := watching(r)
		var session *coretest.ScriptSession
		began := func() {
			r.Break(coretest.PhaseEvent)
			w.refuse("evil.test", 128)
			w.refuse("evil.test", 128)
		}
		r.OnRun = func(ctx context.Context, _ durward.Call) (durward.Result, error) {
			began()
			<-ctx.Done() // or the test hangs
			return durward.Result{Network: &w.traffic, Output: []byte(`1`)}, coretest.EndOf(ctx)
		}
		if open {
			r.OnOpen = func(ctx context.Context, _ durward.Call, _ durward.Events) (durward.Session, error) {
				session = coretest.NewScriptSession(ctx)
				return session, nil
			}
		}
		result, err := func() (durward.Result, error) {
			if !open {
				return r.runtime(t).Do(t.Context(), command("x"))
			}
			s, err := r.runtime(t).Open(t.Context(), command("x"), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			began()
			return s.Wait(t.Context())
		}()
		checkKind(t, err, durward.Unavailable)
		if result.Output != nil {
			t.Errorf("the call is answered with %s", result.Output)
		}
		checkRecord(t, r.last(t), coretest.Record{"phase": coretest.PhaseOutcome, "code": string(durward.AuditUnavailable)})
		if list := events(t, r.Records(t)); len(list) != 0 {
			t.Errorf("on record are %v", list)
		}
	}
}

// A slow recorder takes the refusals one by one.
type slow struct {
	core.Recorder
	held chan struct{} // closed when it goes on
	came chan struct{}
}

func (s *slow) Refused(c durward.Call, d durward.Decision, to durward.Contact) error {
	s.came <- struct{}{}
	<-s.held
	return s.Recorder.Refused(c, d, to)
}

// While a refusal is being recorded the command can be ended, and whoever asks for it next
// waits for nobody but the recorder.
func TestASlowRecorderDelaysNothingButTheEnd(t *testing.T) {
	const clients = 200
	r := newRoad()
	w := watching(r)
	s := &slow{r, make(chan struct{}), make(chan struct{}, clients)}
	ended := make(chan struct{})
	r.OnRun = func(ctx context.Context, _ durward.Call) (durward.Result, error) {
		var asking sync.WaitGroup
		for range clients {
			asking.Go(func() { w.tell(durward.Contact{Host: "evil.test", Port: 80, Rule: "network.allow", Times: 1}) })
		}
		<-ctx.Done()
		close(ended)
		asking.Wait()
		w.traffic.Refused = []durward.Contact{{Host: "evil.test", Port: 80, Rule: "network.allow", Times: clients}}
		return durward.Result{Network: &w.traffic}, coretest.EndOf(ctx)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	over := make(chan error)
	runtime := r.runtime(t, func(o *core.Options) { o.Recorder = s })
	go func() {
		_, err := runtime.Do(ctx, command("x"))
		over <- err
	}()
	for range 128 {
		<-s.came // all at once: none waits for another
	}
	cancel()
	<-ended
	close(s.held)
	checkKind(t, <-over, durward.Cancelled)
	list := events(t, r.Records(t))
	if len(list) != 128+1 {
		t.Fatalf("%d events", len(list))
	}
	checkRecord(t, list[128], coretest.Record{"host": "evil.test", "times": float64(clients - 128)})
	checkRecord(t, r.last(t), coretest.Record{"phase": coretest.PhaseOutcome, "cause": "cancelled"})
}
