package httpreq

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core/coretest"
)

// The battery asks nothing of a tool that fails by its own account: this one never does.
func TestEngineBattery(t *testing.T) {
	at := coretest.RequestServer(t)
	call := func(method, path string) durward.Call {
		return durward.Call{Input: json.RawMessage(fmt.Sprintf(`{"method":%q,"url":"http://%s%s"}`, method, at, path))}
	}
	coretest.Engine(t, func(t *testing.T) coretest.Subject {
		c := coretest.Requests(t, at, call)
		c.Refused = durward.Call{Input: json.RawMessage(`{"method":"GET","url":"http://127.0.0.1:1/"}`)}
		return coretest.Subject{
			Engine: engine(t, Options{Allow: []string{at.String()}}), Tool: Tools()[0], Calls: c,
			Grant: durward.Grant{Mode: durward.ReadOnly, Limits: durward.DefaultLimits(), Keep: durward.KeepHead},
		}
	})
}
