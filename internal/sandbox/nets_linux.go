//go:build linux && (amd64 || arm64)

package sandbox

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A network namespace takes longer to make than all else of a call at level 2. A command
// that may make no socket leaves nothing in one; so root, who may enter them, keeps those
// whose calls are over for the next. One with a loopback serves a single call: where there
// was such a call, the next one finds a new one made.

// netNamespaces are network namespaces that no call lives in.
type netNamespaces struct {
	mu   sync.Mutex
	free []*os.File // guarded by mu; nobody could make a socket in them
	shut bool       // guarded by mu; nothing is kept any more

	fresh  *os.File       // guarded by mu; nobody has lived in it, and its loopback works
	end    *time.Timer    // guarded by mu; when fresh has been kept for long enough
	making sync.WaitGroup // entered under mu, unless shut
	busy   bool           // guarded by mu; one is being made
}

// take gives one that nobody lives in.
func (n *netNamespaces) take() (*os.File, error) {
	n.mu.Lock()
	if last := len(n.free) - 1; last >= 0 {
		ns := n.free[last]
		n.free = n.free[:last]
		n.mu.Unlock()
		return ns, nil
	}
	n.mu.Unlock()
	return makeNet()
}

// makeNet makes a network namespace in which some calls were made.
func makeNet(calls ...Call) (*os.File, error) {
	unshare := Call{Name: "own network", NR: unix.SYS_UNSHARE, Args: []Arg{number(unix.CLONE_NEWNET)}}
	return namespace("net", errand{cgroup: -1, list: append([]Call{unshare}, calls...)}, nil)
}

// takeFresh gives one with a loopback, or nil where none has been made.
func (n *netNamespaces) takeFresh() *os.File {
	n.mu.Lock()
	defer n.mu.Unlock()
	ns := n.fresh
	if ns != nil {
		n.fresh = nil
		n.end.Stop()
	}
	return ns
}

// freshen makes one with a loopback in the background, for the next call. Where that fails,
// a call makes its own.
func (n *netNamespaces) freshen() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.shut || n.busy || n.fresh != nil {
		return
	}
	n.busy = true
	n.making.Go(func() {
		ns, err := makeNet(loopback()...)
		n.mu.Lock()
		defer n.mu.Unlock()
		n.busy = false
		switch {
		case err != nil:
		case n.shut:
			ns.Close()
		default:
			n.fresh, n.end = ns, time.AfterFunc(keptTime, func() { n.forget(ns) })
		}
	})
}

// forget gives up one that no call has taken.
func (n *netNamespaces) forget(ns *os.File) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fresh == ns {
		n.fresh = nil
		ns.Close()
	}
}

// put gives one back in which nobody lives any more.
func (n *netNamespaces) put(ns *os.File) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.shut || len(n.free) >= mostKept {
		ns.Close()
		return
	}
	n.free = append(n.free, ns)
}

func (n *netNamespaces) close() {
	n.mu.Lock()
	n.shut = true
	for _, ns := range n.free {
		ns.Close()
	}
	n.free = nil
	n.mu.Unlock()
	n.making.Wait()
	if ns := n.takeFresh(); ns != nil {
		ns.Close()
	}
}
