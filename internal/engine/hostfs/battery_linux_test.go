package hostfs

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/core/coretest"
	"github.com/durward/durward/internal/fsroot"
)

// two is the engine with two of its tools behind one: an input that says so writes.
type two struct{ *Engine }

func (e two) Prepare(ctx context.Context, t durward.Tool, c durward.Call, g durward.Grant) (core.Prepared, error) {
	t.Spec = Spec{Does: ReadsFile}
	if strings.Contains(string(c.Input), `"write"`) {
		t.Spec = Spec{Does: WritesFile}
	}
	return e.Engine.Prepare(ctx, t, c, g)
}

// crowd takes all threads that calls of the grant have, so that another call waits for as long as
// it is let, until leave is called.
func crowd(t testing.TB, s *scene, g durward.Grant) (leave func()) {
	access, err := s.keeper.Under(g)
	must(t, err)
	hold, err := access.Hold(t.Context(), "crowd", false)
	must(t, err)
	over := make(chan struct{})
	var inside, all sync.WaitGroup
	for range 4 {
		inside.Add(1)
		all.Go(func() {
			_ = hold.Do(context.Background(), func() error {
				inside.Done()
				<-over
				return nil
			})
		})
	}
	inside.Wait()
	return func() {
		close(over)
		all.Wait()
	}
}

// watchDir sees a call by what it holds in a directory while it waits.
func watchDir(dir string) coretest.Watch {
	held := func() bool {
		entries, _ := os.ReadDir("/proc/self/fd")
		for _, e := range entries {
			if at, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && fsroot.Contains(dir, at) {
				return true
			}
		}
		return false
	}
	return coretest.Watch{
		Started: func(ctx context.Context) error {
			for !held() && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			return ctx.Err()
		},
		Gone: func() bool { return !held() },
	}
}

// A call that never ends is one that waits for a thread. The battery asks nothing of a tool
// that fails by its own account: these never do.
func TestEngineBattery(t *testing.T) {
	input := func(format string, args ...any) durward.Call {
		return durward.Call{Input: json.RawMessage(fmt.Sprintf(format, args...))}
	}
	coretest.Engine(t, func(t *testing.T) coretest.Subject {
		s := newScene(t)
		s.put(t, "ws/many", strings.Repeat("x", 2<<20))
		grant := durward.Grant{
			Mode: durward.WorkspaceWrite, StepDown: true, Limits: durward.DefaultLimits(), Keep: durward.KeepHead,
			Files: durward.Files{Write: []string{s.path("ws")}},
		}
		crowd(t, s, grant)() // a thread that is there once stays, and keeps what it opens files with
		var crowded sync.Once
		var works atomic.Int64
		return coretest.Subject{
			LetsGoLate: true, // a file is closed as soon as the file system has opened it
			Engine:     two{s.engine}, Tool: durward.Tool{ID: "fs/any", Engine: Name}, Grant: grant,
			Calls: coretest.Calls{
				Dir: s.path("ws"), Succeeds: input(`{"path":%q}`, s.path("ws/a.txt")), Noisy: input(`{"path":%q}`, s.path("ws/many")),
				Refused: input(`{"path":%q,"write":1}`, s.path("ws/none/new")),
				Marks:   func(path string) durward.Call { return input(`{"path":%q,"write":1}`, path) },
				Endless: func(t testing.TB) coretest.Work {
					crowded.Do(func() { t.Cleanup(crowd(t, s, grant)) })
					dir := s.path(fmt.Sprint("ws/endless", works.Add(1)))
					must(t, os.Mkdir(dir, 0o755))
					must(t, os.WriteFile(filepath.Join(dir, "a"), nil, 0o644))
					return coretest.Work{Call: input(`{"path":%q}`, dir+"/a"), Watch: watchDir(dir)}
				},
			},
		}
	})
}
