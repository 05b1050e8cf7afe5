package hubconfig

import (
	"testing"
	"time"

	"github.com/durward/durward"
)

// A token with a list may call the tools and get the prompts in it, and nothing else.
func TestWhatTokensMayAskFor(t *testing.T) {
	p := &Policy{
		Config: &Config{Tokens: []Token{{Name: "some", AllowTools: []string{"read*", "review"}}, {Name: "all"}}}, Most: time.Minute,
	}
	for _, tt := range []struct {
		id     durward.ToolID
		target Target
		some   bool
	}{
		{"read_file", Target{Server: "a", Tool: "read_file"}, true},
		{"write_file", Target{Server: "a", Tool: "write_file"}, false},
		{PromptID("review"), Target{Server: "a", Tool: "review", Method: GetPrompt}, true},
		{PromptID("sum"), Target{Server: "a", Tool: "read", Method: GetPrompt}, false},
		{RequestID("read", ReadResource), Target{Server: "read", Method: ReadResource}, false},
		{RequestID("read", Complete), Target{Server: "read", Method: Complete}, false},
	} {
		for token, want := range map[string]bool{"some": tt.some, "all": true} {
			c := durward.Call{Tool: tt.id, Caller: durward.Caller{Name: "token:" + token}}
			if d := p.Decide(c, durward.Tool{ID: tt.id, Spec: &tt.target}); d.Allow != want || !want && d.Code != durward.ToolNotFound {
				t.Errorf("%s may call %s: %+v", token, tt.id, d)
			}
		}
	}
}
