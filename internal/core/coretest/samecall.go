package coretest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

// A Door is one way in. It takes a call through itself.
type Door struct {
	Name string
	// Enter gives the call to the door, comes back once it was answered, and gives the
	// records that stand behind the door then. The end of ctx is the caller going away.
	Enter func(ctx context.Context, t testing.TB, c Case) []Record
}

// A Case is a call that goes through every door.
type Case struct {
	Name string
	Call durward.Call
	// Within is the time the caller gives the call; zero leaves it to the policy.
	Within time.Duration
	// Leaves lists the phases of the records that the call leaves, and Ends what the
	// last of them says, at least.
	Leaves []string
	Ends   Record
	// Watch, if set, observes the work of the call. It is asked for before each run.
	Watch func(t testing.TB) Watch
	// GoesAway is set when the caller goes away once the work has begun.
	GoesAway bool
}

// What may differ between doors. Of own, each door has to say something; of free, it
// need not.
var (
	own  = []string{"reqId", "traceId", "ts", "door", "caller"}
	free = []string{"seq", "prev", "clientId", "client", "surface", "durationMs", "queueMs", "sandbox.setupUs"}
)

// SameCall takes the cases through the doors. Each must leave what the case says, and
// all the same records, compared member by member but for ids, times, durations, the
// place in the chain, the caller and the name of the door.
func SameCall(t testing.TB, cases []Case, doors []Door) {
	t.Helper()
	for _, c := range cases {
		var first []Record
		for i, door := range doors {
			name := c.Name + " through " + door.Name
			records := enter(t, name, c, door)
			checkCase(t, name, c, records)
			blind(t, name, records)
			if i == 0 {
				first = records
			} else if diff := cmp.Diff(first, records); diff != "" {
				t.Errorf("%s leaves other records (+) than through %s (-):\n%s", name, doors[0].Name, diff)
			}
		}
	}
}

// enter takes one case through one door, and away again where the caller leaves.
func enter(t testing.TB, name string, c Case, door Door) []Record {
	t.Helper()
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	var watch Watch
	if c.Watch != nil {
		watch = c.Watch(t)
	}
	var caller sync.WaitGroup
	if c.GoesAway {
		caller.Go(func() {
			defer cancel()
			if err := watch.Started(ctx); err != nil {
				t.Errorf("%s: the work did not begin: %v", name, err)
			}
		})
	}
	records := callsOnly(door.Enter(ctx, t, c))
	cancel()
	caller.Wait()
	if watch.Gone != nil && !watch.Gone() {
		t.Errorf("%s: the work goes on after the answer", name)
	}
	return records
}

// checkCase checks what the case says of itself, so that doors cannot agree on
// something wrong, and that the records are those of one call.
func checkCase(t testing.TB, name string, c Case, records []Record) {
	t.Helper()
	if !slices.Equal(phases(records), c.Leaves) {
		t.Errorf("%s leaves %q; want %q", name, phases(records), c.Leaves)
		return
	}
	for member, value := range c.Ends {
		if last := records[len(records)-1]; !last.says(member, value) {
			t.Errorf("%s ends with %s: %v; want %v", name, member, last[member], value)
		}
	}
	for _, member := range []string{"reqId", "traceId", "tool", "door", "caller", "args"} {
		for _, r := range records[1:] {
			if !r.says(member, records[0][member]) {
				t.Errorf("%s: one record says %s: %v, another one %v", name, member, records[0][member], r[member])
			}
		}
	}
}

// blind replaces what may differ between doors, and complains of what is missing.
func blind(t testing.TB, name string, records []Record) {
	t.Helper()
	for _, r := range records {
		for _, member := range own {
			if text, _ := r[member].(string); text == "" {
				t.Errorf("%s: a record has no %s", name, member)
			}
			r[member] = "*"
		}
		for _, path := range free {
			remove(r, strings.Split(path, "."))
		}
	}
}

func remove(object map[string]any, path []string) {
	if len(path) == 1 {
		delete(object, path[0])
		return
	}
	if inner, ok := object[path[0]].(map[string]any); ok {
		remove(inner, path[1:])
	}
}

// A House is a runtime with the records it leaves. A fresh one stands behind a door for
// each call.
type House struct {
	Runtime *core.Runtime
	Records func(t testing.TB) []Record
}

// CoreDoors are the two ways into the core itself, which all other doors use.
func CoreDoors(fresh func(t testing.TB) House) []Door {
	return []Door{through("core.Do", fresh, do), through("core.Open", fresh, open)}
}

func through(name string, fresh func(t testing.TB) House, call func(context.Context, *core.Runtime, durward.Call)) Door {
	return Door{Name: name, Enter: func(ctx context.Context, t testing.TB, c Case) []Record {
		t.Helper()
		house := fresh(t)
		c.Call.Door, c.Call.Caller = name, durward.Caller{Name: fmt.Sprintf("caller of %s", name)}
		if c.Within > 0 {
			c.Call.Deadline = time.Now().Add(c.Within)
		}
		call(ctx, house.Runtime, c.Call)
		return house.Records(t)
	}}
}

func do(ctx context.Context, r *core.Runtime, c durward.Call) { _, _ = r.Do(ctx, c) }

func open(ctx context.Context, r *core.Runtime, c durward.Call) {
	s, err := r.Open(ctx, c, nil)
	if err != nil {
		return
	}
	_ = s.CloseInput()
	_, _ = s.Wait(context.WithoutCancel(ctx))
	_ = s.Close()
}
