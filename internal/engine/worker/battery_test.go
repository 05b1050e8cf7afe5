package worker

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core/coretest"
)

func TestEngineBattery(t *testing.T) {
	at := coretest.RequestServer(t)
	call := func(_, path string) durward.Call {
		return durward.Call{ID: "0198c0de-0000-7000-8000-000000000002", Input: json.RawMessage(fmt.Sprintf(`{"path":%q}`, path))}
	}
	of := tool("http://" + at.String())
	coretest.Engine(t, func(t *testing.T) coretest.Subject {
		c := coretest.Requests(t, at, call)
		c.Fails = call("", "/unknown")
		c.Refused = durward.Call{Argv: []string{"a command"}}
		return coretest.Subject{
			Engine: engine(t, Options{}), Tool: durward.Tool{ID: of.ID, Spec: of}, Calls: c,
			Grant: durward.Grant{Mode: durward.External, Limits: durward.DefaultLimits(), Keep: durward.KeepRefuse},
		}
	})
}
