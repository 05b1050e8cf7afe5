package egress

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/durward/durward/internal/netguard"
)

// listedTargets bounds a list of totals: a command may name any number of hosts.
const listedTargets = 128

// Totals are what went through a proxy.
type Totals struct {
	// Connections were made to targets, and Open is how long they were open, added up.
	Connections int
	Open        time.Duration
	// Up and Down are the bytes that went to targets and came from them.
	Up, Down int64
	// Allowed and Refused list what was asked for, 128 of each at most.
	Allowed, Refused Counts
}

// Counts says how often each of some things was asked for, sorted.
type Counts struct {
	Listed []Count
	// More counts what was asked for beside what is listed.
	More int
}

// A Count is how often a target had the same fate. Rule is empty for what was allowed;
// Host is for what was no target.
type Count struct {
	Host  netguard.Host
	Port  uint16
	Rule  Rule
	Times int
}

// A tally adds up totals. Its zero value is ready.
type tally struct {
	mu               sync.Mutex
	sum              Totals      // guarded by mu; without its lists
	allowed, refused targetCount // guarded by mu
}

func (t *tally) note(e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Allowed {
		t.allowed.add(e)
	} else {
		t.refused.add(e)
	}
}

// connected adds a connection that is over.
func (t *tally) connected(open time.Duration, up, down int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.Connections++
	t.sum.Open += open
	t.sum.Up += up
	t.sum.Down += down
}

func (t *tally) totals() Totals {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := t.sum
	sum.Allowed, sum.Refused = t.allowed.list(), t.refused.list()
	return sum
}

// A targetCount counts targets; a Count without its Times is the key.
type targetCount struct {
	times map[Count]int
	more  int
}

func (c *targetCount) add(e Event) {
	key := Count{Host: e.Host, Port: e.Port, Rule: e.Rule}
	if _, known := c.times[key]; !known && len(c.times) == listedTargets {
		c.more++
		return
	}
	if c.times == nil {
		c.times = make(map[Count]int)
	}
	c.times[key]++
}

func (c *targetCount) list() Counts {
	keys := slices.SortedFunc(maps.Keys(c.times), func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Rule, b.Rule))
	})
	for i, key := range keys {
		keys[i].Times = c.times[key]
	}
	return Counts{Listed: keys, More: c.more}
}
