//go:build linux && (amd64 || arm64) && abuse

package process

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox"
)

// A thousand runs at each level leave nothing that twenty have not left.
func TestAThousandRunsLeaveNothing(t *testing.T) {
	eachLevel(t, func(t *testing.T, at durward.Level) {
		leavesNothing(t, at, durward.Network{Mode: durward.NetNone}, `: >"$HOME/file"; exit 3`, `: >"$HOME/file"; (setsid sleep 300 &); exit 3`, cold)
	})
}

// Nor does a session of a thousand commands that find a first process ready, which at level 2
// is a cell: each is the second process of its own, in a /tmp that nobody wrote to.
func TestAWarmSessionOfAThousandCommandsLeavesNothing(t *testing.T) {
	eachLevel(t, func(t *testing.T, at durward.Level) {
		script := `test $$ = 2 || exit 9; `
		if at == durward.LevelIsolate {
			script += `test -e "$HOME/left" && exit 8; : >"$HOME/left"; `
		}
		leavesNothing(t, at, durward.Network{Mode: durward.NetNone}, script+"exit 3", script+"(setsid sleep 300 &); exit 3", inSession)
	})
}

// cold keeps nothing ready.
func cold(*Engine) (end func()) { return func() {} }

// inSession keeps first processes ready until it is ended.
func inSession(e *Engine) (end func()) {
	e.spares = &sandbox.Spares{}
	return func() {
		e.spares.Close()
		e.spares = nil
	}
}

// Nor do a thousand that reach a host, straight and by the proxy, are refused another, and
// leave a tunnel open.
func TestAThousandRunsWithAnAllowlistLeaveNothing(t *testing.T) {
	at, accepted := greeter(t)
	script := fmt.Sprintf(`
		ask() { printf 'CONNECT %%s HTTP/1.1\r\nHost: x\r\n\r\n' "$1" >&4 && read -r -u 4 _ code _ && echo "$code"; }
		exec 3<>/dev/tcp/%s && read -r -u 3 word && test "$word" = hello &&
		exec 4<>/dev/tcp/127.0.0.2/3128 && test "$(ask 192.0.2.1:80)" = 403 &&
		exec 4<>/dev/tcp/127.0.0.2/3128 && test "$(ask %s)" = 200 &&
		: >"$HOME/file" || exit 4
		`, strings.ReplaceAll(at, ":", "/"), at)
	network := durward.Network{Mode: durward.NetAllowlist, Allow: []string{at, "db.test:5432", "10.9.8.7:80", "[fd00::7]:80", "*.below.test:443"}}
	leavesNothing(t, durward.LevelIsolate, network, script+"exit 3", script+"(setsid sleep 300 &); exit 3", cold)
	if got, want := accepted(), int64(2*(warmRuns+manyRuns)); got != want {
		t.Errorf("%d connections came out; want %d", got, want)
	}
}

const (
	warmRuns = 20
	manyRuns = 1000
)

// leavesNothing runs a script, that ends with 3, many times. Now and then it is one that
// leaves a process behind: to end such a child takes a while.
func leavesNothing(t *testing.T, at durward.Level, n durward.Network, script, leaving string, session func(*Engine) (end func())) {
	t.Helper()
	// What is kept for later calls may be taken in another order, which is a handful of
	// descriptors; and Go keeps some pipes through which the kernel copied between sockets.
	const keptMore = 40
	s := subject(t, at)
	g := s.Grant
	g.Network = n
	g.PrivateDir = []string{"HOME", "TMPDIR"}
	engine := s.Engine.(*Engine)
	openToAll(t, engine.scratch.parent)
	one := func(n int) {
		t.Helper()
		c := call("bash", "-c", script)
		if n%50 == 0 {
			c = call("bash", "-c", leaving)
		}
		c.Dir = s.Calls.Dir
		r, err := engine.run(t.Context(), c, g)
		if err != nil || r.Exit == nil || *r.Exit != 3 {
			t.Fatalf("%q, %v", r.Stderr.Bytes(), err)
		}
	}
	for n := range warmRuns {
		one(n)
	}
	before, descriptors := machineState(t, engine)
	end := session(engine)
	for n := range manyRuns {
		one(n)
	}
	end()
	if after, more := machineState(t, engine); after != before || more-descriptors > keptMore {
		t.Errorf("before: %s, %d descriptors\nafter: %s, %d descriptors", before, descriptors, after, more)
	}
}

// greeter says a word to whoever connects, and counts them.
func greeter(t *testing.T) (at string, accepted func() int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var count atomic.Int64
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			count.Add(1)
			_, _ = conn.Write([]byte("hello\n")) // who is gone has heard enough
			conn.Close()
		}
	})
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	return l.Addr().String(), count.Load
}

// machineState tells all that a run could leave behind.
func machineState(t *testing.T, e *Engine) (state string, descriptors int) {
	t.Helper()
	settle(e)
	glob := func(pattern string) []string {
		found, err := filepath.Glob(pattern)
		must(t, err)
		return found
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	links := glob("/proc/self/fd/*")
	watches := 0
	for _, l := range links {
		if target, _ := os.Readlink(l); target == "anon_inode:inotify" {
			watches++
		}
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	must(t, err)
	return fmt.Sprintf("%d processes, %d watches, %d mounts, %d private directories",
		len(strings.Fields(string(children))), watches, strings.Count(string(mounts), "\n"), len(glob(filepath.Join(e.scratch.dir(), "*")))), len(links)
}
