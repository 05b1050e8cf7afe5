//go:build linux && (amd64 || arm64)

package sandbox

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// A plan says of each level above its own what stood in the way.
func TestPlansSayWhyTheyAreNotAtAHigherLevel(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*drawing)
		want   []string // from level 2 down
	}{
		{"asked for less", func(d *drawing) { d.request.Grant.Level = durward.LevelRestrict }, []string{"level 1 is asked for"}},
		{"asked for none", func(d *drawing) { d.request.Grant.Level = durward.LevelNone }, []string{"level 0 is asked for", "level 0 is asked for"}},
		{"confines nothing", (*drawing).open, []string{
			"mode danger-full-access confines nothing that level 2 could hold", "mode danger-full-access confines nothing that level 1 could hold",
		}},
		{"no namespaces", func(d *drawing) {
			d.request.Grant.Level = durward.LevelAuto
			d.host.Trials[0].Err = unix.EPERM
		}, []string{"own process-id space: operation not permitted"}},
		{"nowhere to begin", func(d *drawing) {
			d.request.Grant.Level, d.request.Grant.StepDown = durward.LevelAuto, false // and no directory to begin in
		}, []string{"readlink"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := draw(durward.LevelNone, false)
			d.request.Grant.MinLevel = durward.LevelAuto
			test.change(&d)
			p, err := Compile(t.Context(), d.request, d.host)
			if err != nil {
				t.Fatal(err)
			}
			passed := p.PassedLevels(t.Context(), d.request, d.host)
			if len(passed) != len(test.want) {
				t.Fatalf("%v; want %q", passed, test.want)
			}
			for i, one := range passed {
				if one.Level != durward.LevelIsolate-durward.Level(i) || !strings.Contains(one.Why.Error(), test.want[i]) {
					t.Errorf("level %d: %v; want %q", one.Level.Number(), one.Why, test.want[i])
				}
			}
		})
	}
}
