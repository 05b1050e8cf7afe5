package cli

import (
	"context"
	"os"

	"github.com/durward/durward/internal/mcppolicy"
	"github.com/durward/durward/internal/policy"
)

// checkPolicies checks the policy that was named, or the user's own of durward mcp.
func (p *program) checkPolicies(ctx context.Context, named string) []checkData {
	file := named
	if file == "" {
		own, err := p.policyPath("")
		if _, missing := os.Stat(own); err != nil || missing != nil {
			return []checkData{check("policy", "there is none for durward mcp; durward policy add-root DIR makes one", nil)}
		}
		return p.checkMCP(ctx, own)
	}
	if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() { // what comes by a pipe comes once
		if text, _, err := readMCPPolicy(file); err == nil && mcppolicy.Is(text) {
			return p.checkMCP(ctx, file)
		}
	}
	return []checkData{p.checkPolicy(file)} // says what cannot be read, too
}

func (p *program) checkPolicy(file string) checkData {
	dir, err := p.dir()
	var loaded *policy.Policy
	if err == nil {
		loaded, err = p.loadPolicy(file, dir, 0)
	}
	c := check("policy", file, err)
	if err == nil {
		c.Gives = file + " " + loaded.Hash()
	}
	return firstMistake(c)
}
