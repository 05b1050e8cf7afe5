package changeset

import (
	"context"
	"slices"
	"testing"

	"github.com/durward/durward"
)

var plain = map[string]string{
	"a": "one\n", "b": "two\n", "d/a": "three\n", "d/b": "four\n", "d/e/a": "five\n", "e/": "", "f/a": "six\n", "f/g/h/a": "seven\n",
}

func TestOverlayKinds(t *testing.T) {
	for _, test := range []struct {
		name, script string
		want         []string
	}{
		{"nothing", "cat a d/a; ls -R . >/dev/null", nil},
		{"opened for writing and left as it was", "exec 3>>a; touch d/a; chmod 644 b", nil},
		{"written again the same", "cp a x; cat x >a; rm x", nil},
		{"made and deleted again", "mkdir n; echo x >n/x; rm -r n", nil},
		{"deleted and made again the same", "printf 'three\\n' >n; rm d/a; mv n d/a", nil},
		{"added", "echo n >n; mkdir -p o/p q", []string{"A n", "A o", "A o/p", "A q"}},
		{"content, of the same length too", "printf 'eno\\n' >a; echo longer >>d/e/a", []string{"M a", "M d/e/a"}},
		{"mode", "chmod 600 a; chmod 700 d", []string{"M a", "M d"}},
		{"deleted", "rm a; rm -r d", []string{"D a", "D d", "D d/a", "D d/b", "D d/e", "D d/e/a"}},
		{"an opaque directory", "rm -r d; mkdir d; echo n >d/n; printf 'four\\n' >d/b; mkdir d/e", []string{"D d/a", "D d/e/a", "A d/n"}},
		{"file to directory", "rm a; mkdir a; echo n >a/n", []string{"T a", "A a/n"}},
		{"directory to file", "rm -r f; echo n >f", []string{"T f", "D f/a", "D f/g", "D f/g/h", "D f/g/h/a"}},
		{"renamed", "mv a z; mv e y", []string{"D a", "D e", "A y", "A z"}},
		{"order", "mkdir m; echo >m-n; echo >m/n; echo >m.n", []string{"A m", "A m/n", "A m-n", "A m.n"}},
		{"to a link", "ln -sf b a", []string{"T a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, plain)
			before := tree(t, w.lower)
			w.shell(t, test.script)
			s := w.read(t)
			got, want := list(s), slices.Clone(test.want)
			slices.Sort(got)
			slices.Sort(want)
			same(t, "the list", got, want)
			same(t, "the workspace", tree(t, w.lower), before)
		})
	}
}

func TestOverlayEndedRead(t *testing.T) {
	w := newWorld(t, plain)
	w.shell(t, busy)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Read(ctx, w.layers(t), 0)
	reason(t, err, durward.CallCancelled)
}
