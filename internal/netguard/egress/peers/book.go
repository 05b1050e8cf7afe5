package peers

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/durward/durward/internal/netguard"
)

const (
	// staleAfter is how long an answer holds.
	staleAfter = time.Second
	// lookupTime bounds a lookup. A name that nobody has now may take that long.
	lookupTime = 2 * time.Second
)

// A book says who has which address.
type book struct {
	names []*entry
	stale time.Duration
}

func newBook(o Options) *book {
	b := &book{stale: cmp.Or(o.stale, staleAfter)}
	for _, p := range o.Peers {
		e := &entry{name: p.Name, resolver: o.Resolver}
		e.last.Store(&sighting{})
		if addr, literal := p.Name.Addr(); literal {
			e.last.Store(&sighting{addrs: []netip.Addr{addr.Unmap()}})
		}
		b.names = append(b.names, e)
	}
	return b
}

// who gives the one peer that has the address. Names that led somewhere are asked for
// first: one that leads nowhere may be slow to say so.
func (b *book) who(ctx context.Context, addr netip.Addr, since time.Time) (netguard.Host, bool) {
	var found []*entry
	for _, e := range b.names {
		if len(e.last.Load().addrs) > 0 {
			found = append(found, e)
		}
	}
	if name, known := having(ctx, found, addr, since.Add(-b.stale)); known {
		return name, true
	}
	return having(ctx, b.names, addr, since)
}

// having gives the one name that leads to the address, by answers no older than since.
func having(ctx context.Context, names []*entry, addr netip.Addr, since time.Time) (netguard.Host, bool) {
	has := make([]bool, len(names))
	var asking sync.WaitGroup
	for i, e := range names {
		asking.Go(func() { has[i] = slices.Contains(e.addresses(ctx, since), addr) })
	}
	asking.Wait()
	first := slices.Index(has, true)
	if first < 0 || slices.Contains(has[first+1:], true) {
		return "", false
	}
	return names[first].name, true
}

// A sighting is where a name led to. Its zero value is none.
type sighting struct {
	addrs []netip.Addr
	asked time.Time // when it was begun to ask
}

// An entry is a name and where it led to the last time.
type entry struct {
	name     netguard.Host
	resolver netguard.Resolver
	last     atomic.Pointer[sighting]
	asking   sync.Mutex // held by who asks
}

// addresses gives an answer no older than since; none if the name leads nowhere.
func (e *entry) addresses(ctx context.Context, since time.Time) []netip.Addr {
	if _, literal := e.name.Addr(); literal {
		return e.last.Load().addrs
	}
	e.asking.Lock()
	defer e.asking.Unlock()
	if s := e.last.Load(); !s.asked.IsZero() && !s.asked.Before(since) {
		return s.addrs
	}
	s := &sighting{asked: time.Now()}
	limited, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	if addrs, err := netguard.Lookup(limited, e.resolver, e.name); err == nil {
		for _, addr := range addrs {
			s.addrs = append(s.addrs, addr.Unmap())
		}
	}
	e.last.Store(s)
	return s.addrs
}
