package egress

import (
	"strconv"
	"sync/atomic"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard"
)

// A Rule is what refused: a member of the policy, or one of the proxy's own.
type Rule string

const (
	RuleAllow       Rule = "network.allow"        // the host and port are not in it
	RulePrivate     Rule = "network.allowPrivate" // an address that is not public is not in it
	RuleSNI         Rule = "network.requireSNI"   // the TLS hello is for no or another name, or is none
	RuleHost        Rule = "host"                 // a host without a canonical form, or a Host field that says another
	RuleRequest     Rule = "request"              // nothing that the proxy does, or nothing it can read
	RuleConnections Rule = "maxConnections"       // too many open at once
	RuleRoom        Rule = "maxConnectionsOfAll"  // too many open at once through all proxies together
)

// A Via is how a connection was asked for.
type Via string

const (
	ViaConnect Via = "connect"
	ViaHTTP    Via = "http"
	ViaSOCKS5  Via = "socks5"
	ViaTCP     Via = "tcp"
	ViaSNI     Via = "sni"  // of a client that knows no proxy, by its TLS hello
	ViaHost    Via = "host" // of such a client, by its Host field
	ViaNone    Via = ""     // turned away unheard
)

// An Event is what became of one connection, or of one request for a URL. With RequireSNI
// an allowed tunnel is told of when the client has said its first word or the tunnel ends.
type Event struct {
	// Host and Port are what was asked for; both are zero if that could not be read.
	Host netguard.Host
	Port uint16
	// Asked is what stood in the place of a host that has no canonical form, quoted and
	// shortened.
	Asked string
	Via   Via
	// Allowed is set when no rule refused, and Rule is empty then.
	Allowed bool
	Rule    Rule
	// Reason says why nothing was reached although it was allowed.
	Reason durward.Reason
}

// A judgement is one connection or request on its way to its event.
type judgement struct {
	proxy *Proxy
	event Event
	told  atomic.Bool
}

func (p *Proxy) begin(t netguard.Target, via Via) *judgement {
	return &judgement{proxy: p, event: Event{Host: t.Host, Port: t.Port, Via: via}}
}

// target is where it is to go.
func (j *judgement) target() netguard.Target {
	return netguard.Target{Host: j.event.Host, Port: j.event.Port}
}

func (j *judgement) asked(s string) *judgement {
	const longest = 64
	j.event.Asked = strconv.QuoteToASCII(s[:min(len(s), longest)])
	return j
}

func (j *judgement) refuse(r Rule) { j.tell(false, r, "") }

func (j *judgement) allow() { j.tell(true, "", "") }

// fail says what became of a dial. What the rules refused is told apart from what failed.
func (j *judgement) fail(err error) {
	reason := durward.ReasonOf(err)
	if rule := ruleOf(reason); rule != "" {
		j.refuse(rule)
		return
	}
	j.tell(true, "", reason)
}

// tell gives the event. The first word counts.
func (j *judgement) tell(allowed bool, rule Rule, reason durward.Reason) {
	if j.told.Swap(true) {
		return
	}
	j.event.Allowed, j.event.Rule, j.event.Reason = allowed, rule, reason
	j.proxy.tally.note(j.event)
	if j.proxy.options.Event != nil {
		j.proxy.options.Event(j.event)
	}
}

// ruleOf gives the rule behind the reason of a dial that was refused, or "".
func ruleOf(reason durward.Reason) Rule {
	switch reason {
	case durward.HostDenied:
		return RuleAllow
	case durward.AddressRefused:
		return RulePrivate
	case durward.BadHost:
		return RuleHost
	}
	return ""
}
