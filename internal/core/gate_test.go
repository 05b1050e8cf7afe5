package core

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/durward/durward"
)

// A visit is one call at the gate.
type visit struct {
	tool durward.Tool
	*waiter
	err error
}

func (v *visit) inside() bool {
	if v.waiter == nil { // it did not have to wait
		return v.err == nil
	}
	select {
	case <-v.admitted:
		return true
	default:
		return false
	}
}

// A model is the gate as one would explain it: a list in order of arrival, from which
// everybody who may is let in, first come first served.
type model struct {
	slots, queue    int
	inside, waiting []*visit
	refused         []*visit
}

func (m *model) arrive(v *visit) {
	m.waiting = append(m.waiting, v)
	m.admit()
	if len(m.waiting) > m.queue {
		m.waiting = m.waiting[:len(m.waiting)-1]
		m.refused = append(m.refused, v)
	}
}

func (m *model) leave(v *visit) {
	m.inside = slices.DeleteFunc(m.inside, func(o *visit) bool { return o == v })
	m.admit()
}

func (m *model) withdraw(v *visit) {
	m.waiting = slices.DeleteFunc(m.waiting, func(o *visit) bool { return o == v })
}

func (m *model) admit() {
	for i := 0; i < len(m.waiting); {
		if v := m.waiting[i]; m.mayEnter(v.tool) {
			m.inside = append(m.inside, v)
			m.waiting = slices.Delete(m.waiting, i, i+1)
			continue
		}
		i++
	}
}

func (m *model) mayEnter(tool durward.Tool) bool {
	same := 0
	for _, v := range m.inside {
		if v.tool.ID == tool.ID {
			same++
		}
	}
	return len(m.inside) < m.slots && (tool.Concurrent == 0 || same < tool.Concurrent)
}

// check compares the gate with the model.
func (m *model) check(t *rapid.T, all []*visit) {
	for i, v := range all {
		inside, refused := slices.Contains(m.inside, v), slices.Contains(m.refused, v)
		if refused != (v.err != nil) || (refused && durward.KindOf(v.err) != durward.Busy) {
			t.Fatalf("visit %d of %s is to be refused: %t; it is told %v", i, v.tool.ID, refused, v.err)
		}
		if !refused && slices.Contains(slices.Concat(m.inside, m.waiting), v) && v.inside() != inside {
			t.Fatalf("visit %d of %s is inside: %t; want %t", i, v.tool.ID, v.inside(), inside)
		}
	}
}

// TestGateIsAQueue drives the gate and the model with the same random visits.
func TestGateIsAQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{slots: rapid.IntRange(1, 4).Draw(t, "slots"), queue: rapid.IntRange(0, 4).Draw(t, "queue")}
		g := newGate(m.slots, m.queue)
		var all []*visit
		one := func(t *rapid.T, from []*visit) *visit {
			if len(from) == 0 {
				t.Skip("there is nobody")
			}
			return rapid.SampledFrom(from).Draw(t, "visit")
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { m.check(t, all) },
			"arrive": func(t *rapid.T) {
				limit := rapid.IntRange(0, 2).Draw(t, "limit")
				v := &visit{tool: durward.Tool{ID: durward.ToolID(fmt.Sprint("at most ", limit)), Concurrent: limit}}
				v.waiter, v.err = g.join(v.tool)
				all = append(all, v)
				m.arrive(v)
			},
			"leave": func(t *rapid.T) {
				v := one(t, m.inside)
				g.leave(v.tool.ID)
				m.leave(v)
			},
			"withdraw": func(t *rapid.T) {
				v := one(t, m.waiting)
				_, first := g.withdraw(v.waiter)
				_, second := g.withdraw(v.waiter)
				if !first || second {
					t.Fatal("one that waits can withdraw once")
				}
				m.withdraw(v)
			},
		})
		for len(m.inside) > 0 {
			v := m.inside[0]
			g.leave(v.tool.ID)
			m.leave(v)
		}
		checkEmpty(t, g)
	})
}

// TestSlotsNeverLeak lets visits be cancelled and leave at any moment, also at the one
// in which they are let in.
func TestSlotsNeverLeak(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newGate(rapid.IntRange(1, 3).Draw(t, "slots"), rapid.IntRange(0, 8).Draw(t, "queue"))
		var visits sync.WaitGroup
		for range rapid.IntRange(1, 40).Draw(t, "visits") {
			limit := rapid.IntRange(0, 2).Draw(t, "limit")
			ctx, cancel := context.WithCancel(context.Background())
			if rapid.Bool().Draw(t, "goes away") {
				visits.Go(cancel)
			}
			visits.Go(func() {
				defer cancel()
				tool := durward.Tool{ID: durward.ToolID(fmt.Sprint(limit)), Concurrent: limit}
				if g.enter(ctx, tool, 0) == nil {
					g.leave(tool.ID)
				}
			})
		}
		visits.Wait()
		checkEmpty(t, g)
	})
}

func checkEmpty(t *rapid.T, g *gate) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running != 0 || len(g.perTool) != 0 || len(g.waiting) != 0 {
		t.Fatalf("in the end %d are inside, %v by tool, and %d wait", g.running, g.perTool, len(g.waiting))
	}
}

func TestAnEndedContextIsNotLetIn(t *testing.T) {
	g := newGate(1, 1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := g.enter(ctx, durward.Tool{ID: "t"}, 0); durward.KindOf(err) != durward.Cancelled {
		t.Errorf("a slot is free, and enter says %v", err)
	}
	if g.running != 0 {
		t.Errorf("%d slots are taken", g.running)
	}
}

// TestASlotThatComesWithTheEndIsGivenBack lets a slot and the end of the caller come at
// the same moment, so that either may be seen first.
func TestASlotThatComesWithTheEndIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool := durward.Tool{ID: "t", Concurrent: 1}
		for range 100 {
			g := newGate(1, 1)
			if err := g.enter(t.Context(), tool, 0); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			told := make(chan error)
			go func() { told <- g.enter(ctx, tool, 0) }()
			synctest.Wait()
			g.mu.Lock()
			cancel()
			g.running, g.perTool[tool.ID] = 0, 0
			g.admit()
			g.mu.Unlock()
			if err := <-told; durward.KindOf(err) != durward.Cancelled {
				t.Fatalf("enter says %v", err)
			}
			if g.running != 0 || len(g.perTool) != 0 {
				t.Fatalf("%d are inside, %v by tool", g.running, g.perTool)
			}
		}
	})
}

// Whoever waits too long hears which limit was in the way, and a call that was cancelled
// while it waited hears that.
func TestWaitingHasATimeOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := durward.Tool{ID: "busy", Concurrent: 1}
		for _, test := range []struct {
			name  string
			slots int
			tool  durward.Tool
			own   time.Duration // the time of the call itself
			after time.Duration
			scope scope
		}{
			{"its tool is busy", 2, busy, time.Hour, 3 * time.Second, scope{"tool", 1}},
			{"all slots are taken", 1, durward.Tool{ID: "other"}, time.Hour, 3 * time.Second, scope{"global", 1}},
			{"its own time is up first", 2, busy, time.Second, time.Second, scope{"tool", 1}},
		} {
			g := newGate(test.slots, 4)
			if err := g.enter(t.Context(), busy, time.Second); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), test.own)
			began := time.Now()
			err := g.enter(ctx, test.tool, 3*time.Second)
			cancel()
			told := durward.DetailOf(err).Members
			if durward.ReasonOf(err) != durward.QueueTimeout || time.Since(began) != test.after ||
				told["scope"] != test.scope.of || told["limit"] != test.scope.limit {
				t.Errorf("%s: after %s: %v, %v", test.name, time.Since(began), err, told)
			}
			ctx, cancel = context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			if err := g.enter(ctx, busy, 3*time.Second); durward.ReasonOf(err) != durward.CallCancelled {
				t.Errorf("%s: cancelled: %v", test.name, err)
			}
			if g.running != 1 || len(g.waiting) != 0 {
				t.Errorf("%s: %d run and %d wait", test.name, g.running, len(g.waiting))
			}
		}
	})
}
