package audit

import (
	"fmt"
	"testing"
	"time"

	"github.com/durward/durward"
)

func BenchmarkBothRecords(b *testing.B) {
	code := 0
	result := durward.Result{
		Stdout: durward.Capture{Head: make([]byte, 4096), Total: 4096}, Exit: &code, Took: time.Millisecond,
		Report: &durward.Report{
			Mode: durward.WorkspaceWrite, Level: 2,
			Guarantees: map[durward.Guarantee]durward.Held{},
		},
	}
	for _, g := range durward.Guarantees() {
		result.Report.Guarantees[g] = durward.Held{Held: durward.HeldKernel, By: []string{"mountns", "landlock:7"}}
	}
	both := func(b *testing.B, l *Log, id string) {
		c, d := call(id)
		if l.Intent(c, d) != nil || l.Outcome(c, d, result, nil) != nil {
			b.Fatal("not written")
		}
	}
	b.Run("serial", func(b *testing.B) {
		l := opened(b, private(b), Options{Now: time.Now})
		for i := 0; b.Loop(); i++ {
			both(b, l, fmt.Sprint(i))
		}
	})
	for _, writers := range []int{4, 32} {
		b.Run(fmt.Sprintf("parallel-%d", writers), func(b *testing.B) {
			l := opened(b, private(b), Options{Now: time.Now})
			b.SetParallelism(writers)
			b.RunParallel(func(p *testing.PB) {
				for i := 0; p.Next(); i++ {
					both(b, l, fmt.Sprint(i))
				}
			})
		})
	}
	b.Run("sync-always", func(b *testing.B) {
		l := opened(b, private(b), Options{Now: time.Now, Sync: SyncAlways})
		for i := 0; b.Loop(); i++ {
			both(b, l, fmt.Sprint(i))
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	dir := private(b)
	l := opened(b, dir, Options{Now: time.Now})
	for i := range 10_000 {
		record(b, l, fmt.Sprint(i))
	}
	for b.Loop() {
		verified(b, dir)
	}
}
