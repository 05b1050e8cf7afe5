package hubconfig_test

import (
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/hubconfig"
)

// What a token allows is one fact, whoever asks for it.
func TestTokensAllow(t *testing.T) {
	p := &hubconfig.Policy{Config: &hubconfig.Config{Tokens: []hubconfig.Token{
		{Name: "reader", AllowTools: []string{"read_*", "notes__?"}}, {Name: "all"}, {Name: "none", AllowTools: []string{}},
	}}}
	for _, test := range []struct {
		caller, tool string
		want         bool
	}{
		{"token:reader", "read_file", true},
		{"token:reader", "notes__a", true},
		{"token:reader", "notes__ab", false},
		{"token:reader", "write_file", false},
		{"token:reader", "READ_file", false},
		{"token:all", "write_file", true},
		{"token:none", "read_file", false},
		{"token:readers", "write_file", true}, // none of these
		{"reader", "write_file", true},        // who has shown no token of that name
		{"anonymous", "write_file", true},
	} {
		caller := durward.Caller{Name: test.caller}
		tool := durward.Tool{ID: durward.ToolID(test.tool), Spec: &hubconfig.Target{Server: "s", Tool: "t"}}
		d := p.Decide(durward.Call{Caller: caller}, tool)
		if got := p.Allows(caller, tool); got != test.want || d.Allow != test.want {
			t.Errorf("%s, %s: %t, decided %+v", test.caller, test.tool, got, d)
		}
		if !d.Allow && (d.Code != durward.ToolNotFound || d.Rule == "" || d.Reason == "") {
			t.Errorf("%s, %s: %+v", test.caller, test.tool, d)
		}
	}
}

// A token with a list may call the tools and get the prompts in it, and nothing else.
func TestWhatTokensMayAskFor(t *testing.T) {
	p := &hubconfig.Policy{
		Config: &hubconfig.Config{Tokens: []hubconfig.Token{{Name: "some", AllowTools: []string{"read*", "review"}}, {Name: "all"}}}, Most: time.Minute,
	}
	for _, tt := range []struct {
		id     durward.ToolID
		target hubconfig.Target
		some   bool
	}{
		{"read_file", hubconfig.Target{Server: "a", Tool: "read_file"}, true},
		{"write_file", hubconfig.Target{Server: "a", Tool: "write_file"}, false},
		{hubconfig.PromptID("review"), hubconfig.Target{Server: "a", Tool: "review", Method: hubconfig.GetPrompt}, true},
		{hubconfig.PromptID("sum"), hubconfig.Target{Server: "a", Tool: "read", Method: hubconfig.GetPrompt}, false},
		{hubconfig.RequestID("read", hubconfig.ReadResource), hubconfig.Target{Server: "read", Method: hubconfig.ReadResource}, false},
		{hubconfig.RequestID("read", hubconfig.Complete), hubconfig.Target{Server: "read", Method: hubconfig.Complete}, false},
	} {
		for token, want := range map[string]bool{"some": tt.some, "all": true} {
			c := durward.Call{Tool: tt.id, Caller: durward.Caller{Name: "token:" + token}}
			if d := p.Decide(c, durward.Tool{ID: tt.id, Spec: &tt.target}); d.Allow != want || !want && d.Code != durward.ToolNotFound {
				t.Errorf("%s may call %s: %+v", token, tt.id, d)
			}
		}
	}
}
