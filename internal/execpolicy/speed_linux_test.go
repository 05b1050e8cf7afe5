package execpolicy_test

import (
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/execpolicy"
)

func BenchmarkDecide(b *testing.B) {
	for _, bench := range []struct{ name, object string }{{"unconfined", `null`}, {"workspace", workspace}, {"little", little}} {
		b.Run(bench.name, func(b *testing.B) {
			w := newWorld(b)
			p, c := w.policy(execpolicy.Options{}), w.call(bench.object, "ws", "true")
			for b.Loop() {
				if d := p.Decide(c, durward.Tool{}); !d.Allow {
					b.Fatal(d.Reason)
				}
			}
		})
	}
}
