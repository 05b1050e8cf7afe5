//go:build linux && abuse && (amd64 || arm64)

package abuse

import (
	"context"
	"errors"
	"net/netip"
	"sync"

	"github.com/durward/durward/internal/netguard"
)

// A registry resolves names as a test says, and keeps what it was asked.
type registry struct {
	mu      sync.Mutex
	answers map[netguard.Host][][]netip.Addr // guarded by mu
	asked   []string                         // guarded by mu
}

func newRegistry() *registry { return &registry{answers: map[netguard.Host][][]netip.Addr{}} }

// mean has a name lead to these addresses from now on.
func (n *registry) mean(name netguard.Host, addrs ...string) { n.flip(name, addrs) }

// flip has a name lead to one list of addresses after the other; the last one stays.
func (n *registry) flip(name netguard.Host, lists ...[]string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answers[name] = nil
	for _, list := range lists {
		var addrs []netip.Addr
		for _, text := range list {
			addrs = append(addrs, netip.MustParseAddr(text))
		}
		n.answers[name] = append(n.answers[name], addrs)
	}
}

// Lookup is that of [netguard.Resolver].
func (n *registry) Lookup(_ context.Context, name netguard.Host) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, string(name))
	list := n.answers[name]
	if len(list) == 0 {
		return nil, errors.New("no such name")
	}
	if len(list) > 1 {
		n.answers[name] = list[1:]
	}
	return list[0], nil
}

// take gives what was asked for since it was last called.
func (n *registry) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	asked := n.asked
	n.asked = nil
	return asked
}
