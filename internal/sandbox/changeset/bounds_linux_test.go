package changeset

import (
	"os"
	"strings"
	"testing"

	"github.com/durward/durward"
)

func TestOverlayBounds(t *testing.T) {
	w := newWorld(t, plain)
	w.shell(t, "mkdir n; for i in 1 2 3 4 5 6 7 8 9; do echo $i >n/$i; done")
	for name, change := range map[string]func(*bounds){
		"entries": func(b *bounds) { b.entries = 9 },
		"names":   func(b *bounds) { b.nameBytes = 29 },
		"bytes":   func(b *bounds) { b.bytes = 17 },
	} {
		b := newBounds(0)
		change(&b)
		_, err := read(t.Context(), w.layers(t), b)
		reason(t, err, durward.TooManyChanges)
		if durward.AsError(err).Hint == "" {
			t.Errorf("%s: no hint", name)
		}
	}
	b := newBounds(18)
	b.entries = 10
	_, err := read(t.Context(), w.layers(t), b)
	must(t, err)
}

func TestOverlayHoles(t *testing.T) {
	w := newWorld(t, nil)
	w.command(t, func(merged string) {
		put(t, merged+"/n", "")
		must(t, os.Truncate(merged+"/n", 1<<40))
	})
	_, err := Read(t.Context(), w.layers(t), 0)
	reason(t, err, durward.TooManyChanges)
}

func TestOverlayDeepTree(t *testing.T) {
	w := newWorld(t, nil)
	w.command(t, func(merged string) { must(t, os.MkdirAll(merged+strings.Repeat("/n", maxDepth), 0o755)) })
	s := w.read(t)
	must(t, w.apply(s))
	same(t, "the depth", len(tree(t, w.lower)), maxDepth)

	w = newWorld(t, nil)
	w.command(t, func(merged string) { must(t, os.MkdirAll(merged+strings.Repeat("/n", maxDepth+1), 0o755)) })
	_, err := Read(t.Context(), w.layers(t), 0)
	reason(t, err, durward.TooManyChanges)

	long := "/" + strings.Repeat("n", 255)
	w = newWorld(t, nil)
	dir := w.upper
	for range 17 { // beyond what one path can name
		must(t, os.Chdir(dir))
		must(t, os.Mkdir(long[1:], 0o755))
		dir = long[1:]
	}
	must(t, os.Chdir("/"))
	_, err = Read(t.Context(), w.layers(t), 0)
	reason(t, err, durward.TooManyChanges)
}
