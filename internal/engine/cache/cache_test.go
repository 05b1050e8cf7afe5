package cache_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/core/coretest"
	"github.com/durward/durward/internal/engine/cache"
	"github.com/durward/durward/internal/hubconfig"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A bench is a cache before an engine that does what a test wrote down. By itself that answers
// each call with another number.
type bench struct {
	coretest.Script
	kept *cache.Engine
	now  time.Time
	runs atomic.Int64
	open atomic.Int64 // prepared calls that are not closed
}

var (
	reads = durward.Effect{ReadOnly: true, Idempotent: true}
	once  = durward.Effect{ReadOnly: true}
	keeps = hubconfig.Cache{Keep: hubconfig.Keep{TTL: time.Minute, MaxEntries: 100}}
)

func newBench(c hubconfig.Cache, maxBytes int64) *bench {
	b := &bench{now: time.Unix(0, 0)}
	b.OnPrepare = func(context.Context, durward.Call) error { b.open.Add(1); return nil }
	b.OnClose = func() error { b.open.Add(-1); return nil }
	b.OnRun = func(context.Context, durward.Call) (durward.Result, error) { return b.answer(), nil }
	b.kept = cache.New(cache.Options{
		Engine: &b.Script, Servers: []hubconfig.Server{{Name: "s", Cache: &c}, {Name: "plain"}}, MaxBytes: maxBytes, Now: func() time.Time { return b.now },
	})
	return b
}

func (b *bench) answer() durward.Result {
	return durward.Result{Output: fmt.Appendf(nil, "%d", b.runs.Add(1))}
}

// An order is a call.
type order struct {
	server, tool string
	effect       durward.Effect
	durward.Call
}

func read(input string) order {
	return order{"s", "read", reads, durward.Call{Input: json.RawMessage(input), Caller: durward.Caller{Name: "a"}}}
}

func write() order {
	return order{"s", "write", durward.Effect{Idempotent: true}, durward.Call{Input: json.RawMessage("{}")}}
}

func (b *bench) prepare(t require, o order) core.Prepared {
	p, err := b.kept.Prepare(context.Background(), durward.Tool{Effect: o.effect, Spec: &hubconfig.Target{Server: o.server, Tool: o.tool}}, o.Call, durward.Grant{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// require is a test, or a part of a property.
type require interface{ Fatal(args ...any) }

func (b *bench) do(ctx context.Context, t require, o order) (durward.Result, error) {
	p := b.prepare(t, o)
	defer p.Close()
	return p.Run(ctx)
}

// said gives the result of a call, with ! behind it if it was kept.
func (b *bench) said(t require, o order) string {
	r, err := b.do(context.Background(), t, o)
	if err != nil {
		t.Fatal(err)
	}
	return string(r.Output) + map[bool]string{true: "!"}[r.Cached]
}

func (b *bench) expect(t *testing.T, what, want string, orders ...order) {
	t.Helper()
	var got []string
	for _, o := range orders {
		got = append(got, b.said(t, o))
	}
	if said := strings.Join(got, " "); said != want {
		t.Errorf("%s: %s, want %s", what, said, want)
	}
	if n := b.open.Load(); n != 0 {
		t.Errorf("%s: %d calls are left open", what, n)
	}
}

// Only equal calls of tools that say that they may be kept find each other's results.
func TestWhichCallsAreEqual(t *testing.T) {
	b := newBench(keeps, 0)
	other := read(`{}`)
	other.Caller.Name = "b"
	b.expect(t, "another caller", "1 1!", read(`{}`), other)
	b.expect(t, "members in another order", "2 2! 3", read(`{"a":1,"b":{"c":[1,2],"d":"é"}}`), read(` {"b":{"d":"\u00e9","c":[1, 2]},"a":1}`), read(`{"a":1,"b":{"c":[2,1],"d":"é"}}`))
	b.expect(t, "numbers beyond a double", "4 5 4!", read(`{"n":9007199254740993}`), read(`{"n":9007199254740992}`), read(`{"n":9007199254740993}`))
	b.expect(t, "1 and 1.0", "6 7", read(`{"n":1}`), read(`{"n":1.0}`))
	noHint, elsewhere, tool := read(`{}`), read(`{}`), read(`{}`)
	noHint.tool, noHint.effect, elsewhere.server, tool.tool = "once", once, "plain", "other"
	b.expect(t, "a tool that may not be repeated", "8 9", noHint, noHint)
	b.expect(t, "a server without a cache", "10 11", elsewhere, elsewhere)
	b.expect(t, "another tool", "12 12! 1!", tool, tool, read(`{}`))

	private := keeps
	private.Private = true
	b = newBench(private, 0)
	b.expect(t, "each caller for itself", "1 2 1! 2!", read(`{}`), other, read(`{}`), other)

	named := newBench(hubconfig.Cache{Tools: map[string]hubconfig.Keep{"write": {TTL: time.Minute, MaxEntries: 1}}}, 0)
	named.expect(t, "a tool that is named", "1 1! 2 3", write(), write(), read(`{}`), read(`{}`))
}

// What was kept is gone after its time, after a change, and where somebody asked for it; and a
// call that wants none finds none and leaves none.
func TestWhatIsForgotten(t *testing.T) {
	b := newBench(keeps, 0)
	b.expect(t, "at first", "1 1!", read(`{}`), read(`{}`))
	b.now = b.now.Add(time.Minute - 1)
	b.expect(t, "a moment before its end", "1!", read(`{}`))
	b.now = b.now.Add(1)
	b.expect(t, "at its end", "2 2!", read(`{}`), read(`{}`))
	b.kept.Clear("s")
	b.kept.Clear("plain")
	b.kept.Clear("unknown")
	b.expect(t, "after a restart", "3 3!", read(`{}`), read(`{}`))
	b.expect(t, "after a change", "4 5 5!", write(), read(`{}`), read(`{}`))
	fresh := read(`{}`)
	fresh.Fresh = true
	b.expect(t, "anew", "6 5!", fresh, read(`{}`))
	change := write()
	change.Fresh = true
	b.expect(t, "a change that wants nothing kept is one", "7 8", change, read(`{}`))
}

// Neither an error nor a failure by the tool's own account is kept.
func TestFailuresAreNotKept(t *testing.T) {
	b := newBench(keeps, 0)
	b.OnRun = func(context.Context, durward.Call) (durward.Result, error) {
		r := b.answer()
		switch b.runs.Load() {
		case 1:
			return durward.Result{}, &durward.Error{Reason: durward.ServerDisconnected}
		case 2:
			r.Failed = true
		}
		return r, nil
	}
	if _, err := b.do(t.Context(), t, read(`{}`)); durward.ReasonOf(err) != durward.ServerDisconnected {
		t.Error(err)
	}
	b.expect(t, "after an error", "2 3 3!", read(`{}`), read(`{}`), read(`{}`))
}

// A change forgets what is there when it begins, and what was read while it went on.
func TestReadsBesideAChange(t *testing.T) {
	b := newBench(keeps, 0)
	entered, goOn := make(chan string), make(chan bool)
	b.OnRun = func(_ context.Context, c durward.Call) (durward.Result, error) {
		r := b.answer()
		entered <- string(r.Output)
		<-goOn
		return r, nil
	}
	begin := func(o order) (number string, answer chan string) {
		answer = make(chan string, 1)
		go func() { answer <- b.said(t, o) }()
		select {
		case number = <-entered:
		case got := <-answer:
			t.Fatalf("%s was kept", got)
		case <-time.After(10 * time.Second):
			t.Fatal("it shares a call with another one")
		}
		return number, answer
	}
	before, first := begin(read(`{}`))
	change, second := begin(write())
	beside, third := begin(read(`{}`)) // not that of before
	for range 3 {
		goOn <- true
	}
	if a, b, c := <-first, <-second, <-third; a != before || b != change || c != beside {
		t.Error(a, b, c)
	}
	last, fourth := begin(read(`{}`))
	goOn <- true
	if got := <-fourth; got != last {
		t.Errorf("what was read beside a change was kept: %s", got)
	}
	b.expect(t, "behind it", last+"!", read(`{}`))
}

// Equal calls at once are one, whose end they all hear; each has its own patience.
func TestEqualCallsAreDoneOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(keeps, 0)
		b.OnRun = func(ctx context.Context, _ durward.Call) (durward.Result, error) {
			r := b.answer()
			select {
			case <-time.After(time.Second):
				if b.open.Load() != 1 {
					t.Errorf("%d calls are open while one is done for all", b.open.Load())
				}
				return r, nil
			case <-ctx.Done():
				return durward.Result{}, durward.Ended(ctx, "run")
			}
		}
		var waiters sync.WaitGroup
		ends := make([]string, 20)
		for i := range ends {
			waiters.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				switch {
				case i < 3: // the first among them
					ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
				case i == 3:
					time.AfterFunc(time.Millisecond, cancel)
				}
				defer cancel()
				began := time.Now()
				r, err := b.do(ctx, t, read(`{}`))
				ends[i] = fmt.Sprint(string(r.Output), durward.ReasonOf(err), time.Since(began))
			})
			synctest.Wait()
		}
		waiters.Wait()
		want := slices.Concat(slices.Repeat([]string{"timeout1ms"}, 3), []string{"cancelled1ms"}, slices.Repeat([]string{"11s"}, 16))
		if !slices.Equal(ends, want) || b.runs.Load() != 1 || b.open.Load() != 0 {
			t.Errorf("%q; it ran %d times, and %d calls are open", ends, b.runs.Load(), b.open.Load())
		}
	})
}

// When the last who waits goes, the call ends before it comes back, for its reason, and the next
// one is another call.
func TestTheLastWhoLeavesEndsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(keeps, 0)
		var ended error
		b.OnRun = func(ctx context.Context, _ durward.Call) (durward.Result, error) {
			if b.runs.Add(1) > 1 {
				return durward.Result{Output: []byte("later")}, nil
			}
			<-ctx.Done()
			ended = context.Cause(ctx)
			return durward.Result{}, durward.Ended(ctx, "run")
		}
		var waiters sync.WaitGroup
		for i := range 3 {
			waiters.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*time.Second)
				defer cancel()
				began := time.Now()
				_, err := b.do(ctx, t, read(`{}`))
				if durward.ReasonOf(err) != durward.DeadlineExceeded || time.Since(began) != time.Duration(i+1)*time.Second {
					t.Errorf("%d: %v after %v", i, err, time.Since(began))
				}
				if last := i == 2; last != errors.Is(ended, context.DeadlineExceeded) {
					t.Errorf("%d: the call ended with %v", i, ended)
				}
			})
		}
		waiters.Wait()
		b.expect(t, "the next one", "later later!", read(`{}`), read(`{}`))
	})
}

// heard notes progress.
type heard struct {
	durward.Events
	mu   sync.Mutex
	said []string
}

func (h *heard) Progress(done, _ float64, message string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, fmt.Sprint(done, message))
}

func (h *heard) Ended(durward.Result) {}

func (h *heard) all() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.said, " ")
}

// A session may have a result that is kept, share a call and hear its progress, and change
// something, through the core as any other.
func TestSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(keeps, 0)
		b.OnOpen = func(ctx context.Context, c durward.Call, events durward.Events) (durward.Session, error) {
			return core.Background(ctx, "script", func(context.Context) (durward.Result, error) {
				time.Sleep(time.Second)
				events.Progress(1, 2, "half")
				time.Sleep(time.Second)
				return b.answer(), nil
			}), nil
		}
		var memory coretest.Memory
		runtime, err := core.New(core.Options{
			Source: core.Catalogue{
				{ID: "read", Engine: "e", Effect: reads, Spec: &hubconfig.Target{Server: "s", Tool: "read"}},
				{ID: "write", Engine: "e", Spec: &hubconfig.Target{Server: "s", Tool: "write"}},
			},
			Policy: coretest.AllowAll(durward.Grant{StepDown: true}), Recorder: &memory, Engines: map[string]core.Engine{"e": b.kept},
		})
		if err != nil {
			t.Fatal(err)
		}
		open := func(ctx context.Context, tool durward.ToolID) (durward.Session, *heard) {
			h := &heard{}
			s, err := runtime.Open(ctx, durward.Call{Tool: tool, Input: json.RawMessage(`{}`)}, h)
			if err != nil {
				t.Fatal(err)
			}
			return s, h
		}
		end := func(s durward.Session, h *heard) string {
			r, err := s.Wait(t.Context())
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			return fmt.Sprint(string(r.Output), r.Cached, durward.ReasonOf(err), h.all())
		}
		gone, leave := context.WithCancel(t.Context())
		first, firstHeard := open(gone, "read")
		synctest.Wait()
		second, secondHeard := open(t.Context(), "read")
		synctest.Wait()
		leave()
		if got := end(first, firstHeard); got != "falsecancelled" {
			t.Errorf("the one that left: %s", got)
		}
		if got := end(second, secondHeard); got != "1true1half" {
			t.Errorf("the one that stayed: %s", got)
		}
		if got := end(open(t.Context(), "read")); got != "1true" {
			t.Errorf("kept: %s", got)
		}
		change, changeHeard := open(t.Context(), "write")
		synctest.Wait()
		if got := end(open(t.Context(), "read")); !strings.HasSuffix(got, "false1half") {
			t.Errorf("beside a change: %s", got)
		}
		if got := end(change, changeHeard); !strings.HasSuffix(got, "false1half") {
			t.Errorf("a change: %s", got)
		}
		if got := end(open(t.Context(), "read")); got != "4false1half" {
			t.Errorf("behind a change: %s", got)
		}
		if n := b.open.Load(); n != 0 {
			t.Errorf("%d calls are left open", n)
		}
	})
}

// Many callers, changes and restarts at once: what a call gives is never older than a change that
// was over when it began.
func TestNothingStaleUnderLoad(t *testing.T) {
	b := newBench(keeps, 0)
	var state atomic.Int64
	var over atomic.Int64 // what the last change that is over has come to
	b.OnRun = func(_ context.Context, c durward.Call) (durward.Result, error) {
		if string(c.Input) == "{}" {
			state.Add(1)
		}
		return durward.Result{Output: fmt.Appendf(nil, "%d", state.Load())}, nil
	}
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for i := range 500 {
				if i%50 == 49 {
					var now int64
					_, _ = fmt.Sscan(b.said(t, write()), &now)
					for was := over.Load(); was < now && !over.CompareAndSwap(was, now); was = over.Load() {
					}
				}
				if i%100 == 99 {
					b.kept.Clear("s")
				}
				floor := over.Load()
				ctx, cancel := context.WithCancel(t.Context())
				if i%7 == 0 {
					go cancel()
				}
				r, err := b.do(ctx, t, read(fmt.Sprintf(`{"n":%d}`, i%3)))
				cancel()
				var got int64
				if _, failed := fmt.Sscan(string(r.Output), &got); err == nil && (failed != nil || got < floor) {
					t.Errorf("%q where %d was", r.Output, floor)
				}
			}
		})
	}
	callers.Wait()
	if n := b.open.Load(); n != 0 {
		t.Errorf("%d calls are left open", n)
	}
}

// A kept result of the model.
type line struct {
	key, value string
	until      time.Time
	named      bool
}

// Whatever is called in whatever order, the cache gives what a list of results gives that is
// looked through from its beginning.
func TestLikeAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 256 + 100
		c := hubconfig.Cache{
			Keep:    hubconfig.Keep{TTL: 10 * time.Second, MaxEntries: rapid.IntRange(1, 4).Draw(t, "entries")},
			Tools:   map[string]hubconfig.Keep{"named": {TTL: 25 * time.Second, MaxEntries: rapid.IntRange(1, 3).Draw(t, "of the named")}},
			Private: rapid.Bool().Draw(t, "private"),
		}
		room := rapid.IntRange(1, 6).Draw(t, "room")
		b := newBench(c, int64(room*size))
		b.OnRun = func(context.Context, durward.Call) (durward.Result, error) {
			r := b.answer()
			r.Output = fmt.Appendf(nil, "%100s", r.Output)
			return r, nil
		}
		var model []line // the last used first
		runs := 0
		drop := func(i int) { model = slices.Delete(model, i, i+1) }
		actions := map[string]func(*rapid.T){
			"wait": func(t *rapid.T) {
				b.now = b.now.Add(time.Duration(rapid.IntRange(1, 6).Draw(t, "seconds")) * time.Second)
			},
			"clear": func(*rapid.T) { b.kept.Clear("s"); model = nil },
			"write": func(t *rapid.T) { b.said(t, write()); runs++; model = nil },
			"read": func(t *rapid.T) {
				o := read(rapid.SampledFrom([]string{`{"a":1}`, `{"a":2}`, `{"a":3}`}).Draw(t, "input"))
				o.tool = rapid.SampledFrom([]string{"read", "named"}).Draw(t, "tool")
				o.Caller.Name = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "caller")
				o.Fresh = rapid.IntRange(0, 5).Draw(t, "fresh") == 0
				keep := c.Keep
				if o.tool == "named" {
					keep = c.Tools["named"]
				}
				key := o.tool + string(o.Input)
				if c.Private {
					key += o.Caller.Name
				}
				at := slices.IndexFunc(model, func(l line) bool { return l.key == key })
				if at >= 0 && !o.Fresh && !b.now.Before(model[at].until) {
					drop(at)
					at = -1
				}
				want := ""
				if at >= 0 && !o.Fresh {
					l := model[at]
					drop(at)
					model = slices.Insert(model, 0, l)
					want = l.value + "!"
				} else {
					runs++
					want = fmt.Sprintf("%100d", runs)
					if !o.Fresh {
						model = slices.Insert(model, 0, line{key, want, b.now.Add(keep.TTL), o.tool == "named"})
						same, last := 0, 0
						for i, l := range model {
							if l.named == (o.tool == "named") {
								same, last = same+1, i
							}
						}
						if same > keep.MaxEntries {
							drop(last)
						}
						model = model[:min(len(model), room)]
					}
				}
				if got := b.said(t, o); got != want {
					t.Fatalf("%s, want %s", strings.TrimSpace(got), strings.TrimSpace(want))
				}
			},
		}
		for i := range 8 { // most are reads
			actions[fmt.Sprint("read ", i)] = actions["read"]
		}
		t.Repeat(actions)
	})
}
