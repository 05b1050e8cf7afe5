package process

import (
	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard"
	"github.com/durward/durward/internal/netguard/egress"
)

// openNetwork answers at the ways out that the command has, if it has any.
func (r *run) openNetwork() error {
	ways := r.proc.Ways()
	if len(ways) == 0 {
		return nil
	}
	dialer, err := netguard.DialerOf(r.grant.Network, r.engine.resolver)
	if err != nil {
		return err // which the policy had refused
	}
	r.egress = egress.New(egress.Options{Dialer: dialer, RequireSNI: r.grant.Network.RequireSNI, Event: r.tellRefused, Room: &r.engine.room})
	for _, w := range ways {
		r.egress.ServePair(w, w.Target)
	}
	return nil
}

// tellRefused passes a refusal on to who records it.
func (r *run) tellRefused(e egress.Event) {
	if e.Allowed || r.refused == nil {
		return
	}
	r.refused(durward.Contact{Host: string(e.Host), Port: e.Port, Rule: string(e.Rule), Times: 1})
}

// closeNetwork ends what goes through them, and keeps what there was.
func (r *run) closeNetwork() {
	if r.egress == nil {
		return
	}
	t := r.egress.Close()
	r.traffic = &durward.Traffic{
		Allowed: contacts(t.Allowed), MoreAllowed: t.Allowed.More, Refused: contacts(t.Refused), MoreRefused: t.Refused.More,
		Connections: t.Connections, OpenMs: t.Open.Milliseconds(), SentBytes: t.Up, ReceivedBytes: t.Down,
	}
}

func contacts(c egress.Counts) []durward.Contact {
	list := make([]durward.Contact, len(c.Listed)) // not nil: it is shown as an empty list
	for i, one := range c.Listed {
		list[i] = durward.Contact{Host: string(one.Host), Port: one.Port, Rule: string(one.Rule), Times: one.Times}
	}
	return list
}
