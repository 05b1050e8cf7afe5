package coretest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

// A complaint is a testing.TB that keeps failures to itself. What it cannot keep to
// itself it does for the test that it stands in for.
type complaint struct {
	testing.TB
	mu   sync.Mutex
	said []string // guarded by mu
}

func (c *complaint) Helper() {}

func (c *complaint) Errorf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = append(c.said, fmt.Sprintf(format, args...))
}

func (c *complaint) Error(args ...any) { c.Errorf("%s", fmt.Sprint(args...)) }

func (c *complaint) Fatalf(format string, args ...any) {
	c.Errorf(format, args...)
	panic(c)
}

func (c *complaint) Fatal(args ...any) { c.Fatalf("%s", fmt.Sprint(args...)) }

// complaints gives what a check says.
func complaints(t *testing.T, check func(t testing.TB)) []string {
	c := &complaint{TB: t}
	func() {
		defer func() {
			if p := recover(); p != nil && p != any(c) {
				panic(p)
			}
		}()
		check(c)
	}()
	return c.said
}

// broken runs all rules of a battery and gives the claims that do not hold.
func broken[T any](t *testing.T, fresh func() T, rules []rule[T]) []string {
	var claims []string
	for _, r := range rules {
		if len(complaints(t, func(t testing.TB) { r.check(t, fresh()) })) > 0 {
			claims = append(claims, r.claim)
		}
	}
	return claims
}

func checkBites(t *testing.T, claims []string, want string) {
	t.Helper()
	for _, claim := range claims {
		if strings.Contains(claim, want) {
			return
		}
	}
	t.Errorf("the battery complains of %q; want one with %q", claims, want)
}

func TestCatalogue(t *testing.T) {
	Source(t, func(*testing.T) core.Source { return core.Catalogue{{ID: "b.two"}, {ID: "a"}, {ID: "b.One"}} })
}

// oddSource spoils one thing of a good source.
type oddSource struct {
	core.Catalogue
	find func(core.Catalogue, durward.ToolID) (durward.Tool, error)
	list func(core.Catalogue) []durward.Tool
}

func (s oddSource) Find(ctx context.Context, id durward.ToolID) (durward.Tool, error) {
	if s.find != nil {
		return s.find(s.Catalogue, id)
	}
	return s.Catalogue.Find(ctx, id)
}

func (s oddSource) Tools(ctx context.Context) ([]durward.Tool, error) {
	if s.list != nil {
		return s.list(s.Catalogue), nil
	}
	return s.Catalogue.Tools(ctx)
}

func TestSourceBatteryBites(t *testing.T) {
	good := core.Catalogue{{ID: "a"}, {ID: "b"}}
	shared := []durward.Tool{{ID: "a"}, {ID: "b"}}
	for _, test := range []struct {
		source oddSource
		want   string
	}{
		{oddSource{list: func(c core.Catalogue) []durward.Tool { return []durward.Tool{c[1], c[0]} }}, "sorted"},
		{oddSource{list: func(c core.Catalogue) []durward.Tool { return []durward.Tool{c[0], c[0]} }}, "sorted"},
		{oddSource{list: func(core.Catalogue) []durward.Tool { return shared }}, "its own"},
		{oddSource{list: func(core.Catalogue) []durward.Tool { return []durward.Tool{{ID: "c"}} }}, "is found"},
		{oddSource{find: func(c core.Catalogue, id durward.ToolID) (durward.Tool, error) {
			return c.Find(context.Background(), durward.ToolID(strings.ToLower(strings.TrimSpace(string(id)))))
		}}, "not found"},
		{oddSource{find: func(core.Catalogue, durward.ToolID) (durward.Tool, error) {
			return durward.Tool{}, errors.New("no such tool")
		}}, "not found"},
	} {
		test.source.Catalogue = good
		checkBites(t, broken(t, func() core.Source { return test.source }, sourceRules), test.want)
	}
}

func TestMemory(t *testing.T) {
	Recorder(t, func(*testing.T) Book { return new(Memory).Book() })
}

// oddRecorder spoils one method of a good recorder.
type oddRecorder struct {
	*Memory
	deny    func(*Memory, durward.Call, durward.Decision) error
	intent  func(*Memory, durward.Call, durward.Decision) error
	outcome func(*Memory, durward.Call, durward.Decision, durward.Result, error) error
}

func (r oddRecorder) Deny(c durward.Call, d durward.Decision) error {
	if r.deny != nil {
		return r.deny(r.Memory, c, d)
	}
	return r.Memory.Deny(c, d)
}

func (r oddRecorder) Intent(c durward.Call, d durward.Decision) error {
	if r.intent != nil {
		return r.intent(r.Memory, c, d)
	}
	return r.Memory.Intent(c, d)
}

func (r oddRecorder) Outcome(c durward.Call, d durward.Decision, result durward.Result, err error) error {
	if r.outcome != nil {
		return r.outcome(r.Memory, c, d, result, err)
	}
	return r.Memory.Outcome(c, d, result, err)
}

func TestRecorderBatteryBites(t *testing.T) {
	for _, test := range []struct {
		recorder oddRecorder
		want     string
	}{
		{oddRecorder{deny: func(m *Memory, c durward.Call, d durward.Decision) error {
			return errors.Join(m.Deny(c, d), m.Deny(c, d))
		}}, "one record"},
		{oddRecorder{intent: func(*Memory, durward.Call, durward.Decision) error { return nil }}, "an intent and an outcome"},
		{oddRecorder{intent: func(m *Memory, c durward.Call, d durward.Decision) error {
			_ = m.Intent(c, d)
			return nil
		}}, "refused"},
		{oddRecorder{intent: func(m *Memory, c durward.Call, d durward.Decision) error {
			c.Dir = string(c.Stdin)
			return m.Intent(c, d)
		}}, "secret"},
		{oddRecorder{outcome: func(m *Memory, c durward.Call, d durward.Decision, r durward.Result, _ error) error {
			return m.Outcome(c, d, r, nil)
		}}, "closed words"},
		{oddRecorder{deny: func(m *Memory, c durward.Call, d durward.Decision) error {
			if strings.Contains(c.ClientID, "\n") {
				return nil
			}
			return m.Deny(c, d)
		}}, "hostile"},
	} {
		fresh := func() Book {
			m := new(Memory)
			r := test.recorder
			r.Memory = m
			return Book{Recorder: r, Records: m.Records, Break: func(testing.TB) { m.Break() }}
		}
		checkBites(t, broken(t, fresh, recorderRules), test.want)
	}
}
