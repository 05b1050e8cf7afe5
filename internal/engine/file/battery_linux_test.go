package file

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
	"github.com/durward/durward/internal/pathguard"
)

// both is the engine with its two tools behind one: a call with data writes.
type both struct {
	*Engine
	spec Spec
}

func (b both) Prepare(ctx context.Context, t durward.Tool, c durward.Call, g durward.Grant) (core.Prepared, error) {
	spec := b.spec
	if strings.Contains(string(c.Input), `"data"`) {
		spec.Does = Writes
	}
	t.Spec = spec
	return b.Engine.Prepare(ctx, t, c, g)
}

// crowd takes all threads that calls of the grant have, until the test ends, so that
// another call waits for as long as it is let.
func crowd(t testing.TB, s *shelf, g durward.Grant) {
	access, err := s.keeper.Under(g)
	must(t, err)
	root, err := fsroot.Open(s.dir)
	must(t, err)
	leave := make(chan struct{})
	var inside, all sync.WaitGroup
	for range 4 {
		inside.Add(1)
		all.Go(func() {
			f, err := access.OpenFile(context.Background(), root, "few", fsroot.Rules{Admit: func(fsroot.Place) error {
				inside.Done()
				<-leave
				return nil
			}})
			if err == nil {
				f.Close()
			}
		})
	}
	inside.Wait()
	t.Cleanup(func() {
		close(leave)
		all.Wait()
		root.Close()
	})
}

// watchDir sees a call by what it holds, the directory or something in it, while it waits to
// open what is in it.
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
		s := newShelf(t, pathguard.Zone{Path: ".", Recursive: true})
		s.put(t, "few", "hello")
		s.put(t, "many", strings.Repeat("x", 2<<20))
		grant := durward.Grant{
			Mode: durward.WorkspaceWrite, StepDown: true, Limits: durward.DefaultLimits(), Keep: durward.KeepHead,
			Files: durward.Files{Write: []string{s.dir}},
		}
		var crowded sync.Once
		var works atomic.Int64
		return coretest.Subject{
			Engine: both{New(s.keeper), Spec{Guard: s.guard}}, Tool: durward.Tool{ID: "file", Engine: "file"}, Grant: grant,
			Calls: coretest.Calls{
				Dir: s.dir, Succeeds: input(`{"path":"few"}`), Noisy: input(`{"path":"many"}`),
				Refused: input(`{"path":"none/new","data":"x","create":false}`),
				Marks:   func(path string) durward.Call { return input(`{"path":%q,"data":""}`, path) },
				Endless: func(t testing.TB) coretest.Work {
					crowded.Do(func() { crowd(t, s, grant) })
					name := fmt.Sprint("endless", works.Add(1))
					dir := filepath.Join(s.dir, name)
					must(t, os.Mkdir(dir, 0o755))
					s.put(t, name+"/a", "")
					return coretest.Work{Call: input(`{"path":%q}`, name+"/a"), Watch: watchDir(dir)}
				},
			},
		}
	})
}
