//go:build linux && (amd64 || arm64)

package sandbox

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// A network namespace that reaches nothing takes longer to make than all else of a call
// at level 2. A command that may make no socket leaves nothing in one; so root, who may
// enter them, keeps those whose calls are over for the next.

// netNamespaces are empty network namespaces that no call lives in.
type netNamespaces struct {
	mu   sync.Mutex
	free []*os.File // guarded by mu
	shut bool       // guarded by mu; nothing is kept any more
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
	return namespace("net", errand{cgroup: -1, list: []Call{
		{Name: "own network", NR: unix.SYS_UNSHARE, Args: []Arg{number(unix.CLONE_NEWNET)}},
	}}, nil)
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
	defer n.mu.Unlock()
	n.shut = true
	for _, ns := range n.free {
		ns.Close()
	}
	n.free = nil
}
