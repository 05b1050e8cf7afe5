package coretest

import (
	"context"
	"os"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience bounds every wait of a battery. Nothing that keeps its rules comes near it.
const patience = 20 * time.Second

// A rule is one claim of a battery about what it is shown.
type rule[T any] struct {
	claim string
	check func(t testing.TB, subject T)
}

// holdAll makes a fresh subject for each rule. A rule leaves no goroutine behind.
func holdAll[T any](t *testing.T, fresh func(t *testing.T) T, rules []rule[T]) {
	for _, r := range rules {
		t.Run(r.claim, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			t.Cleanup(func() { goleak.VerifyNone(t, before) })
			r.check(t, fresh(t))
		})
	}
}

// closed waits until no more descriptors are open than before: what was cut short may
// still be closing its own.
func closed(t testing.TB, before int) {
	t.Helper()
	after := descriptors(t)
	for ctx := within(t); after > before && ctx.Err() == nil; after = descriptors(t) {
		runtime.Gosched()
	}
	if after > before {
		t.Errorf("%d descriptors were open before and %d are after", before, after)
	}
}

// within gives a context that ends when patience does.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// soon runs f and fails when it does not come back.
func soon(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s did not come back within %s", what, patience)
	}
}

// descriptors counts what this process holds open, or gives 0 where there is no way
// to know.
func descriptors(t testing.TB) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
