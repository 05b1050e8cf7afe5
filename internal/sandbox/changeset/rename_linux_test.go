package changeset

import (
	"maps"
	"slices"
	"testing"

	"github.com/durward/durward"
)

// In an overlay, as a container is, a directory of the image cannot be renamed.
func TestOverlayInOverlay(t *testing.T) {
	image, w := newWorld(t, plain), newWorld(t, nil)
	image.command(t, func(merged string) {
		w.lower = merged
		var seen map[string]string
		w.command(t, func(merged string) {
			shellIn(t, merged, "echo n >>a; rm b; rm -r d; echo n >f/g/n; chmod 700 f; mkdir -p m/n; echo n >m/n/o")
			seen = tree(t, merged)
		})
		layers := w.layers(t)
		defer layers.Lower.Close()
		s, err := Read(t.Context(), layers, 0)
		must(t, err)
		must(t, w.apply(s))
		same(t, "the workspace", tree(t, w.lower), seen)
	})
}

func TestOverlayInOverlayReplacesNoDirectory(t *testing.T) {
	image, w := newWorld(t, plain), newWorld(t, nil)
	image.command(t, func(merged string) {
		w.lower = merged
		w.shell(t, "echo n >>a; rm -r d; rm -r f; echo n >f")
		layers := w.layers(t)
		defer layers.Lower.Close()
		s, err := Read(t.Context(), layers, 0)
		must(t, err)
		before := tree(t, w.lower)
		reason(t, w.apply(s), durward.SandboxUnavailable)
		same(t, "the workspace", tree(t, w.lower), before)
	})
}

// exchange has to do without the kernel's help on some file systems.
func TestExchangeByTwo(t *testing.T) {
	top := t.TempDir()
	put(t, top+"/new", "file")
	put(t, top+"/old/c", "in a directory")
	aside, err := exchangeByTwo(opened(t, top), "new", "old")
	must(t, err)
	all := tree(t, top)
	same(t, "the files", slices.Sorted(maps.Keys(all)), []string{aside, aside + "/c", "old"})
	if _, err := exchangeByTwo(opened(t, top), "missing", "old"); err == nil {
		t.Error("what is not there was exchanged")
	}
	same(t, "the files", tree(t, top), all)
}
