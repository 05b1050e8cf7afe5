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

// A naming gives names to tools or prompts, and finds them by these.
type naming struct {
	what  string            // one of them is called
	byID  map[string]*Entry // and by qualified names
	byMCP map[string]*Entry // likewise
	warn  func(format string, args ...any)
}

func newNaming(what string, warn func(string, ...any)) naming {
	return naming{what: what, byID: map[string]*Entry{}, byMCP: map[string]*Entry{}, warn: warn}
}

// qualify gives each the name by which it can always be called.
func (n *naming) qualify(all []*Entry) {
	for _, e := range all {
		e.Qualified = e.Server + "__" + e.bare
		if first, taken := n.byID[e.Qualified]; taken { // a__b has c, and a has b__c
			e.Qualified += "_" + short(e.Server+"\x00"+e.bare)
			n.warn("the %s %q of server %q is called %s, since %q of server %q is %s", n.what, e.bare, e.Server, e.Qualified, first.bare, first.Server, first.Qualified)
		}
		n.byID[e.Qualified], n.byMCP[e.Qualified] = e, e
	}
}

// nameHTTP gives each tool its id: its own name, or the qualified one where somebody else has
// that already. The first in the order of the configuration keeps it.
func (n *naming) nameHTTP(all []*Entry) {
	others := map[string][]string{}
	for _, e := range all {
		if _, taken := n.byID[e.bare]; !taken {
			e.ID = durward.ToolID(e.bare)
			n.byID[e.bare] = e
			continue
		}
		e.ID = durward.ToolID(e.Qualified)
		others[e.bare] = append(others[e.bare], e.Qualified)
	}
	for _, e := range all {
		if list := others[e.bare]; list != nil {
			n.warn("several servers have a tool called %q: that of %q has the name, and the others are %s", e.bare, n.byID[e.bare].Server, strings.Join(list, ", "))
			delete(others, e.bare)
		}
	}
}

// maxName is the length of the longest name that clients of MCP are shown.
const maxName = 64

// nameMCP gives each the name that clients of MCP see. But for the prefix "never", in which
// the first server has a name, names do not depend on the order of the servers.
func (n *naming) nameMCP(all []*Entry, prefix string) {
	count, first := map[string]int{}, map[string]*Entry{}
	for _, e := range all {
		if count[e.bare]++; count[e.bare] == 1 {
			first[e.bare] = e
		}
	}
	wish := func(e *Entry) string {
		owner, qualified := n.byMCP[e.bare]
		shared := count[e.bare] > 1 || qualified && owner != e
		switch {
		case prefix == "always" || prefix != "never" && shared:
			return e.Qualified
		case prefix == "never" && first[e.bare] != e:
			n.warn("clients of MCP do not see %s, since server %q has a %s %q, too, and prefix is never", e.Qualified, first[e.bare].Server, n.what, e.bare)
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

// asItIs is 0 for a name that need not be changed, for that one is to keep it.
func asItIs(name string) int {
	if len(name) <= maxName && name == hubconfig.Fold(name) {
		return 0
	}
	return 1
}

// placeMCP gives one the name nearest to a wish that nobody has yet.
func (n *naming) placeMCP(e *Entry, wish string) {
	for _, name := range []string{hubconfig.Fold(wish), hashed(wish, e.Qualified)} {
		owner, taken := n.byMCP[name]
		if len(name) > maxName || taken && (owner != e || owner.MCPName != "") {
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
