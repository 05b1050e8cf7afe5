package fetch

import (
	"net/netip"
	"strconv"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core/coretest"
)

func TestEngineBattery(t *testing.T) {
	at := coretest.RequestServer(t)
	coretest.Engine(t, func(t *testing.T) coretest.Subject {
		return coretest.Subject{
			Engine: New(Options{Ports: []uint16{at.Port()}, AllowPrivate: loopback, Resolver: answering([]string{"127.0.0.1"})}),
			Tool:   durward.Tool{ID: "curl", Engine: "fetch"},
			Grant:  durward.Grant{Mode: durward.ReadOnly, StepDown: true, Limits: durward.DefaultLimits(), Keep: durward.KeepHeadTail},
			Calls:  calls(t, at),
		}
	})
}

func calls(t testing.TB, at netip.AddrPort) coretest.Calls {
	base := "http://battery.test:" + strconv.Itoa(int(at.Port()))
	c := coretest.Requests(t, at, func(method, path string) durward.Call {
		return durward.Call{Argv: []string{"curl", "-X", method, base + path}}
	})
	c.Fails = durward.Call{Argv: []string{"curl", "-f", base + "/nothing"}}
	c.Refused = durward.Call{Argv: []string{"curl", "http://10.0.0.1/"}}
	return c
}
