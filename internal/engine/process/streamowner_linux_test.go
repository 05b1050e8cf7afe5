package process

import (
	"testing"

	"github.com/durward/durward"
)

// A command that runs as another user opens its streams by their names, as any other does.
func TestStreamsAreTheCommandsOwn(t *testing.T) {
	e := newEngine(t, Options{Warm: true})
	for _, level := range []durward.Level{durward.LevelNone, durward.LevelRestrict, durward.LevelIsolate} {
		g := seeingUsr(level)
		for range 2 {
			c := shellIn("/usr", "cat /dev/stdin >/dev/stdout; echo e >/dev/stderr")
			c.Stdin = []byte("in\n")
			r, err := e.run(t.Context(), c, g)
			must(t, err)
			if string(r.Stdout.Bytes()) != "in\n" || string(r.Stderr.Bytes()) != "e\n" {
				t.Errorf("level %d: %q, %q", level.Number(), r.Stdout.Bytes(), r.Stderr.Bytes())
			}
		}
	}
}
