package mcpservers

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/hubconfig"
)

// A naming gives names to tools or prompts, and finds them by these. What begins as qualified names
// of a server do is kept for that server, whatever it has by now.
type naming struct {
	what    string            // one of them is called
	servers []string          // the names of those that may have some
	byID    map[string]*Entry // and by qualified names
	byMCP   map[string]*Entry // likewise, and by the names that are kept for them
	taken   []string          // names that clients of MCP know something else by
	warn    func(format string, args ...any)
}

func newNaming(what string, servers []string, warn func(string, ...any)) naming {
	return naming{what: what, servers: servers, byID: map[string]*Entry{}, byMCP: map[string]*Entry{}, warn: warn}
}

// between stands between the names of a server and of its tool.
const between = "__"

// keeper gives the server that a name is kept for, or nothing: of a and a__b, that is the latter
// for a__b__c.
func (n *naming) keeper(name string) (server string) {
	for _, one := range n.servers {
		if len(one) > len(server) && strings.HasPrefix(name, one) && strings.HasPrefix(name[len(one):], between) {
			server = one
		}
	}
	return server
}

// qualify gives each the name by which it can always be called, and drops those that have none,
// for it would be kept for another server.
func (n *naming) qualify(all []*Entry) []*Entry {
	return slices.DeleteFunc(all, func(e *Entry) bool {
		e.Qualified = e.Server + between + e.bare
		if other := n.keeper(hubconfig.Fold(e.Qualified)); other != e.Server {
			n.warn("the %s %q of server %q is left out, since %s would be one of server %q; rename it, or one of the servers", n.what, e.bare, e.Server, e.Qualified, other)
			return true
		}
		n.byID[e.Qualified], n.byMCP[e.Qualified] = e, e
		return false
	})
}

// nameHTTP gives each tool its id: its own name, or the qualified one where somebody else has
// that already. The first in the order of the configuration keeps it.
func (n *naming) nameHTTP(all []*Entry) {
	others := map[string][]*Entry{}
	for _, e := range all {
		if _, taken := n.byID[e.bare]; !taken && n.keeper(e.bare) == "" {
			e.ID = durward.ToolID(e.bare)
			n.byID[e.bare] = e
			continue
		}
		e.ID = durward.ToolID(e.Qualified)
		others[e.bare] = append(others[e.bare], e)
	}
	for _, e := range all {
		if list, first := others[e.bare], n.byID[e.bare]; list != nil && first != nil {
			n.warnOfOthers(first, list)
			delete(others, e.bare)
		}
	}
}

// warnOfOthers says that some are called by their qualified names, since the first is called so.
func (n *naming) warnOfOthers(first *Entry, others []*Entry) {
	var elsewhere []string
	for _, e := range others {
		if e.Server != first.Server {
			elsewhere = append(elsewhere, e.Qualified)
			continue
		}
		n.warn("the tool %q of server %q is called %s, since its tool %q is always called the other", e.bare, e.Server, e.Qualified, first.bare)
	}
	if elsewhere != nil {
		n.warn("several servers have a tool called %q: that of %q has the name, and the others are %s", others[0].bare, first.Server, strings.Join(elsewhere, ", "))
	}
}

// maxName is the length of the longest name that clients of MCP are shown.
const maxName = 64

// nameMCP gives each the name that clients of MCP see. But for the prefix "never", in which
// the first server has a name, names do not depend on the order of the servers. Names that cannot
// be told apart by clients are one, and nobody gets the name that stands for a longer one.
func (n *naming) nameMCP(all []*Entry, prefix string) {
	first, shared := map[string]*Entry{}, map[string]bool{} // by what clients would see
	for _, e := range all {
		name := hubconfig.Fold(e.bare)
		if first[name] == nil {
			first[name] = e
		}
		shared[name] = shared[name] || first[name].Server != e.Server
		n.keep(hashed(e.bare, e.Qualified), e)
		n.keep(hashed(e.Qualified, e.Qualified), e)
	}
	wish := func(e *Entry) string {
		name := hubconfig.Fold(e.bare)
		switch {
		case slices.Contains(n.taken, name):
			return e.Qualified
		case prefix == "always" || prefix != "never" && shared[name] || n.keeper(name) != "":
			return e.Qualified
		case prefix == "never" && first[name].Server != e.Server:
			n.warn("clients of MCP do not see %s, since server %q has a %s %q, too, and prefix is never", e.Qualified, first[name].Server, n.what, name)
			return ""
		}
		return e.bare
	}
	wishes := make(map[*Entry]string, len(all))
	for _, e := range all {
		wishes[e] = wish(e)
	}
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b *Entry) int {
		return cmp.Or(asItIs(wishes[a])-asItIs(wishes[b]), strings.Compare(a.Qualified, b.Qualified))
	})
	for _, e := range order {
		if wishes[e] != "" {
			n.placeMCP(e, wishes[e])
		}
	}
}

// keep has a name be one's own, unless it is somebody else's.
func (n *naming) keep(name string, e *Entry) {
	if _, taken := n.byMCP[name]; !taken {
		n.byMCP[name] = e
	}
}

// asItIs is 0 for a name that need not be changed, for that one is to keep it.
func asItIs(name string) int {
	if len(name) <= maxName && name == hubconfig.Fold(name) {
		return 0
	}
	return 1
}

// placeMCP gives one the name nearest to a wish that is nobody else's.
func (n *naming) placeMCP(e *Entry, wish string) {
	for _, name := range []string{hubconfig.Fold(wish), hashed(wish, e.Qualified), hashed(e.Qualified, e.Qualified)} {
		owner, taken := n.byMCP[name]
		keeper := n.keeper(name)
		if len(name) > maxName || slices.Contains(n.taken, name) || taken && owner != e || keeper != "" && keeper != e.Server {
			continue
		}
		e.MCPName = name
		n.byMCP[name] = e
		return
	}
	n.warn("clients of MCP do not see %s: its name cannot be told from another one", e.Qualified)
}

// hashed is a name of which only the start is plain.
func hashed(wish, qualified string) string {
	const start = 55
	name := hubconfig.Fold(wish)
	return name[:min(len(name), start)] + "_" + short(qualified)
}

func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}
