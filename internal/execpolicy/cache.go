package execpolicy

import (
	"container/list"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/policy"
)

// A held is what a confinement and the ceiling come to together, while the paths of both
// lead where they did.
type held struct {
	key    string
	policy *policy.Policy
	tmp    bool           // whether the machine's /tmp is shown with all the rest
	files  durward.Files  // of the grant
	above  *durward.Files // of the ceiling alone; nil without one
	seen   []lookup       // what was asked of the machine
	rule   string         // that decided
	where  durward.Position
	reason string
}

// grant gives a grant that shares nothing.
func (h *held) grant() durward.Grant {
	g := h.policy.Apart(h.tmp)
	g.MinLevel = durward.LevelRestrict
	g.Env, g.PrivateDir = nil, nil
	return g
}

// A lookup is a question to the machine with its answer.
type lookup struct {
	path     string
	git      bool   // whether the question was for the directories of git
	physical string // where the path led
	missing  bool   // whether there was nothing
	mark     policy.Mark
	dirs     []string // of git
}

// same reports whether the machine still gives the same answer.
func (l lookup) same(host policy.Host) bool {
	switch {
	case l.git:
		return slices.Equal(host.GitDirs(l.path), l.dirs)
	case host.Mark != nil:
		return host.Mark(l.path) == l.mark
	}
	physical, err := host.Resolve(l.path)
	return physical == l.physical && errors.Is(err, fs.ErrNotExist) == l.missing
}

// watched gives a host that notes what it is asked.
func watched(host policy.Host, seen *[]lookup) policy.Host {
	type answer struct {
		physical string
		err      error
	}
	known := map[string]answer{}
	resolve, gitDirs := host.Resolve, host.GitDirs
	host.Resolve = func(path string) (string, error) {
		if a, ok := known[path]; ok {
			return a.physical, a.err
		}
		l := lookup{path: path}
		if host.Mark != nil {
			l.mark = host.Mark(path) // first: what comes between the two is noticed
		}
		physical, err := resolve(path)
		known[path] = answer{physical, err}
		l.physical, l.missing = physical, errors.Is(err, fs.ErrNotExist)
		*seen = append(*seen, l)
		return physical, err
	}
	if gitDirs != nil {
		host.GitDirs = func(dir string) []string {
			dirs := gitDirs(dir)
			*seen = append(*seen, lookup{path: dir, git: true, dirs: dirs})
			return dirs
		}
	}
	return host
}

// mostHeld bounds what is kept. A client has few confinements at once.
const mostHeld = 64

// A cache holds what came last. The zero value is ready.
type cache struct {
	mu    sync.Mutex
	byKey map[string]*list.Element // guarded by mu
	order list.List                // of *held; guarded by mu; the last that was used is first
}

// of gives what a confinement comes to now; nil asks for the ceiling alone.
func (k *cache) of(p *Policy, asked *durward.Confinement) (*held, error) {
	key := keyOf(asked)
	if h := k.find(key); h != nil && !slices.ContainsFunc(h.seen, func(l lookup) bool { return !l.same(p.host) }) {
		return h, nil
	}
	h, err := p.compile(asked)
	if err != nil {
		return nil, err
	}
	h.key = key
	k.keep(h)
	return h, nil
}

func (k *cache) find(key string) *held {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.byKey[key]
	if e == nil {
		return nil
	}
	k.order.MoveToFront(e)
	return e.Value.(*held)
}

func (k *cache) keep(h *held) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byKey == nil {
		k.byKey = map[string]*list.Element{}
	}
	if e := k.byKey[h.key]; e != nil {
		e.Value = h
		return
	}
	k.byKey[h.key] = k.order.PushFront(h)
	if k.order.Len() > mostHeld {
		last := k.order.Back()
		delete(k.byKey, k.order.Remove(last).(*held).key)
	}
}

// keyOf tells confinements apart that are not the same.
func keyOf(c *durward.Confinement) string {
	if c == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(string(c.Mode))
	b.WriteByte(0)
	b.WriteString(string(c.Network))
	for _, e := range c.Entries {
		for _, text := range []string{string(e.Access), e.Path, e.Pattern} {
			b.WriteByte(0)
			b.WriteString(text)
		}
		b.WriteByte(flags(e))
	}
	return b.String()
}

func flags(e durward.Entry) byte {
	f := byte(1)
	if e.Platform {
		f |= 2
	}
	if e.IfThere {
		f |= 4
	}
	return f
}

// compile looks a confinement up under the ceiling.
func (p *Policy) compile(asked *durward.Confinement) (*held, error) {
	h := &held{rule: "sandbox"}
	host := watched(p.host, &h.seen)
	if p.ceiling != nil {
		above, err := p.ceiling.compile(host)
		if err != nil {
			return nil, err
		}
		files := above.Grant().Files
		h.policy, h.above = above, &files
	}
	switch {
	case asked == nil:
		h.rule, h.where = p.ceiling.flag, durward.Position{File: p.ceiling.flag}
	default:
		within, err := policy.Confined(*asked, host, policy.OfCaller)
		if err != nil {
			return nil, err
		}
		if h.policy == nil {
			h.policy = within
		} else {
			h.policy = policy.Narrow(h.policy, within)
		}
	}
	physical, err := host.Resolve("/tmp")
	h.tmp = err == nil && physical == "/tmp"
	g := h.grant()
	h.files, h.reason = g.Files, fmt.Sprintf("mode %s, network %s", g.Mode, g.Network.Mode)
	return h, nil
}
