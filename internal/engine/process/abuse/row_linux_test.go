//go:build linux && abuse && (amd64 || arm64)

package abuse

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// A row is one thing that a command may try. It is tried at every level, by every user.
type row struct {
	id string
	// needs lists the guarantees that have to be required to keep a command from it, and
	// from is the lowest level that holds them. A policy that requires them below that is
	// refused.
	needs string
	from  int
	// partly, unless empty, is what level 1 holds of it: then it is tried there, too.
	partly string
	// change changes the scene before its first call.
	change func(*scene)
	// serial rows share something: one level, and one user, at a time.
	serial bool
	// warm rows have a cell ready for each call at level 2; they are serial.
	warm bool
	// in is where the scenes are made; empty means where temporary files are.
	in string
	// clock, unless nil, is the one of the engine.
	clock func() time.Duration
}

// required gives what a policy requires at a level.
func (r row) required(level int) string {
	if level < r.from && r.partly != "" && level == 1 {
		return r.partly
	}
	return r.needs
}

func (r row) holds(level int) bool { return level >= r.from || level == 1 && r.partly != "" }

// A user is whom the runtime runs as, and whose the workspace is.
type user struct {
	name  string
	owner int
}

func users() []user {
	if uid := os.Geteuid(); uid != 0 {
		return []user{{fmt.Sprint("uid ", uid), uid}}
	}
	return []user{{"root", commandUser}, {"root in root's workspace", 0}}
}

// each runs a test in a scene for each level and user.
func (r row) each(t *testing.T, test func(*scene)) {
	t.Helper()
	r.at(t, []int{0, 1, 2}, test)
}

// at runs a test in a scene for some levels and each user.
func (r row) at(t *testing.T, levels []int, test func(*scene)) {
	t.Helper()
	for _, level := range levels {
		for _, u := range users() {
			t.Run(fmt.Sprintf("level %d %s", level, u.name), func(t *testing.T) {
				if !r.serial {
					t.Parallel()
				}
				s := newScene(t, r, level, u)
				if !r.holds(level) {
					s.refused(s.base)
					s.report("refused")
					return
				}
				test(s)
				s.report("held")
			})
		}
	}
}

// report ends the scene and says how it went.
func (s *scene) report(how string) {
	s.Helper()
	s.end()
	delete(s.said, "")
	if len(s.said) > 0 {
		how += " (" + strings.Join(slices.Sorted(maps.Keys(s.said)), ", ") + ")"
	}
	if s.Failed() {
		how = "FAILED"
	}
	s.Logf("%s level %d %s: %s", s.row.id, s.level, s.user.name, how)
}

// A try is an attempt that is to be denied.
type try struct {
	// what holds the words of the attempt. Others may stand before it, each ended by ";":
	// they prepare it, and get through.
	what string
	want []string
	// free attempts get through where nothing confines the command, so that it is seen
	// what denies them.
	free bool
}

// Errors that are as good as each other.
var (
	hidden  = []string{"ENOENT", "EACCES", "EPERM", "ENOTDIR"}
	blocked = []string{"ENOENT", "EACCES", "EPERM", "ENOTDIR", "EROFS", "EXDEV", "EBUSY"}
	eperm   = []string{"EPERM"}
)

// tries makes attempts that are to be denied where the row holds, and shows at level 0,
// where nothing confines the command, that the free ones do get through.
func (r row) tries(t *testing.T, list []try) {
	t.Helper()
	r.each(t, func(s *scene) {
		for _, one := range list {
			s.denied(s.make(s.base, one), one.want...)
		}
	})
	for _, one := range list {
		if one.free {
			t.Run("free "+one.what, func(t *testing.T) {
				t.Parallel()
				r.free(t, one)
			})
		}
	}
}

func (r row) free(t *testing.T, one try) {
	s := newScene(t, row{id: r.id}, 0, users()[0])
	s.spoilt = true
	if a := s.make(s.free(), one); a.Err != "" {
		s.Errorf("%v; it was to get through where nothing confines it", a)
	}
	s.end()
}

// make makes the attempt of a try.
func (s *scene) make(d document, one try) answer {
	s.Helper()
	steps := strings.Split(one.what, ";")
	for _, step := range steps[:len(steps)-1] {
		s.must(s.attemptUnder(d, s.expand(step)...))
	}
	return s.attemptUnder(d, s.expand(steps[len(steps)-1])...)
}
