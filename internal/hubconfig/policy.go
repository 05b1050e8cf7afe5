package hubconfig

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/durward/durward"
)

// A Policy decides the calls of a hub: how long one may take, how much it may answer, and who
// may call what. It is pure and safe for concurrent use.
type Policy struct {
	Config *Config
	// Default is what a call gets whose server says nothing, and Most what one gets at most.
	Default, Most time.Duration
	// OutputBytes bounds a result.
	OutputBytes int64
	// Hash names the configuration in records.
	Hash string
}

// Timeout is what a call of a server gets that asks for so much; zero asks for nothing.
func (p *Policy) Timeout(server string, asked time.Duration) time.Duration {
	if asked == 0 {
		asked = p.Default
		if s := p.server(server); s != nil && s.Timeout > 0 {
			asked = s.Timeout
		}
	}
	return min(asked, p.Most)
}

// ParsesText reports whether a text that a tool of the server answers with is given as the value that
// it is the JSON of.
func (p *Policy) ParsesText(server string) bool {
	s := p.server(server)
	return s != nil && s.ParseJSONText
}

// server gives the server of that name, or nil. Their number is small, and what each is, is not.
func (p *Policy) server(name string) *Server {
	for i := range p.Config.Servers {
		if s := &p.Config.Servers[i]; s.Name == name {
			return s
		}
	}
	return nil
}

// tokenPrefix is what the name of a caller begins with who has shown a token.
const tokenPrefix = "token:"

// Decide tells whether a call may run.
func (p *Policy) Decide(c durward.Call, t durward.Tool) durward.Decision {
	target, ok := t.Spec.(*Target)
	if !ok {
		return durward.Decision{Code: durward.Defect, Reason: fmt.Sprintf("the tool %q is none of a hub", t.ID), PolicyHash: p.Hash}
	}
	if i := p.refusing(c.Caller, t); i >= 0 {
		token := p.Config.Tokens[i]
		return durward.Decision{
			Code: durward.ToolNotFound, Rule: fmt.Sprintf("tokens[%d].allowTools", i), Where: token.Where, PolicyHash: p.Hash,
			Reason: fmt.Sprintf("the token %s may not call %s", token.Name, t.ID), Remedy: "add the tool to allowTools of the token",
		}
	}
	limits := durward.Limits{
		Wall: p.Timeout(target.Server, c.Ask.Limits.Wall), Output: p.OutputBytes, OutputHard: durward.Unlimited,
		CPU: durward.Unlimited, Memory: durward.Unlimited, Pids: durward.Unlimited, OpenFiles: durward.Unlimited,
		FileSize: durward.Unlimited, Tmp: durward.Unlimited, Stdin: durward.Unlimited,
	}
	return durward.Decision{
		Allow: true, Rule: "servers." + target.Server, Where: p.where(target.Server), Reason: "the configuration has the server", PolicyHash: p.Hash,
		Grant: durward.Grant{
			Mode: durward.External, Level: durward.LevelNone, Identity: durward.Identity{Keep: true}, Limits: limits, Keep: durward.KeepRefuse,
		},
	}
}

func (p *Policy) where(server string) durward.Position {
	if s := p.server(server); s != nil {
		return s.Where
	}
	return durward.Position{}
}

// Allows reports whether a caller may know of a tool and call it, or of a prompt and get it. A tool
// is known by its id: the one that GET /tools shows, whatever name it was called by. To whom it is
// not allowed it is no tool at all. What is neither, such as reading a resource, is for all but
// those tokens that have a list.
func (p *Policy) Allows(c durward.Caller, t durward.Tool) bool { return p.refusing(c, t) < 0 }

// refusing gives the place of the token whose holder may not call a tool, and -1 where there is
// none.
func (p *Policy) refusing(c durward.Caller, t durward.Tool) int {
	name, shown := strings.CutPrefix(c.Name, tokenPrefix)
	if !shown {
		return -1
	}
	return slices.IndexFunc(p.Config.Tokens, func(of Token) bool { return of.Name == name && !of.allows(t) })
}

func (t Token) allows(tool durward.Tool) bool {
	name, method := string(tool.ID), ""
	if target, ok := tool.Spec.(*Target); ok {
		method = target.Method
	}
	if method == GetPrompt {
		name, _ = OfPrompt(tool.ID)
	}
	return t.AllowTools == nil || (method == "" || method == GetPrompt) && Matches(t.AllowTools, name)
}
