//go:build linux || darwin

package glob

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core/coretest"
)

// A witness stands where the engine asks whether a name is hidden, and so sees a walk
// from outside.
type witness struct {
	mark atomic.Pointer[string]
	slow sync.Map // folders on a slow disk: chan struct{}, which tells of a look into one
}

func (w *witness) hidden(name string) bool {
	if at := w.mark.Load(); at != nil && path.Base(name) == "mark" {
		_ = os.WriteFile(*at, nil, 0o644)
	}
	folder, _, _ := strings.Cut(name, "/")
	if looks, ok := w.slow.Load(folder); ok {
		select {
		case looks.(chan struct{}) <- struct{}{}:
		default:
		}
		time.Sleep(40 * time.Millisecond)
	}
	return false
}

// endless makes a folder whose names take longer to look at than anybody waits.
func (w *witness) endless(t testing.TB, root, folder string) coretest.Watch {
	plant(t, root, folder+"/")
	t.Cleanup(func() { must(t, os.RemoveAll(filepath.Join(root, folder))) })
	for i := range 1000 {
		must(t, os.Mkdir(filepath.Join(root, folder, fmt.Sprint(i)), 0o755))
	}
	looks := make(chan struct{}, 1)
	w.slow.Store(folder, looks)
	return coretest.Watch{
		Started: func(ctx context.Context) error {
			select {
			case <-looks:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		Gone: func() bool {
			select {
			case <-looks: // it may have been waiting here
			default:
			}
			select {
			case <-looks:
				return false
			case <-time.After(time.Second):
				return true
			}
		},
	}
}

// The battery asks nothing of a tool that fails by its own account: glob never does.
func TestEngineBattery(t *testing.T) {
	root := temp(t)
	long := strings.Repeat("n", 240)
	plant(t, root, "few/a", "few/b", "marks/mark")
	for i := range 800 {
		plant(t, root, path.Join("many", long, long, long, long, long, long, fmt.Sprint("file", i)))
	}
	call := func(pattern string) durward.Call { return durward.Call{Argv: []string{"glob", pattern}, Dir: root} }
	coretest.Engine(t, func(t *testing.T) coretest.Subject {
		var folders atomic.Int64
		w := &witness{}
		return coretest.Subject{
			Engine: engine(t, Options{Root: root, Hidden: w.hidden}),
			Tool:   durward.Tool{ID: "glob", Engine: "glob"},
			Grant:  durward.Grant{Mode: durward.ReadOnly, StepDown: true, Limits: durward.DefaultLimits(), Keep: durward.KeepHeadTail},
			Calls: coretest.Calls{
				Dir: temp(t), Succeeds: call("few/*"), Noisy: call("many/**"),
				Refused: durward.Call{Argv: []string{"glob", "*"}, Dir: filepath.Join(root, "gone")},
				Marks: func(path string) durward.Call {
					w.mark.Store(&path)
					return call("marks/mark")
				},
				Endless: func(t testing.TB) coretest.Work {
					folder := fmt.Sprint("endless", folders.Add(1))
					return coretest.Work{Call: call(folder + "/**"), Watch: w.endless(t, root, folder)}
				},
			},
		}
	})
}
