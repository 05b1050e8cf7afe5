package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/source/mcpservers"
	"github.com/durward/durward/site"
)

// hubTokens reads the token file of the settings, if there is one, and those of the
// configuration. No two may have one name or one text: who may call what goes by them.
func hubTokens(file string, named []hubconfig.Token) (httpedge.Tokens, error) {
	tokens, err := readTokens(varGatewayToken, file)
	if err != nil {
		return nil, err
	}
	for _, n := range named {
		read, _, err := site.ReadTokenFile(n.File)
		if err != nil {
			return nil, err
		}
		token := httpedge.Token{Name: n.Name, SHA256: read.SHA256}
		if slices.ContainsFunc(tokens, func(t httpedge.Token) bool { return t.Name == token.Name || t.SHA256 == token.SHA256 }) {
			return nil, &durward.Error{
				Reason: durward.ConfigInvalid, Op: "load servers", Where: n.Where, Hint: "give each token a name and a text of its own",
				Err: config.Problems{{Where: n.Where, Message: fmt.Sprintf("tokens: another token has the name or the text of %q", n.Name)}},
			}
		}
		tokens = append(tokens, token)
	}
	return tokens, nil
}

// tokenHolders have a tool that their token does not allow not be there at all: they hear nothing
// of what its arguments would have to be.
type tokenHolders struct {
	*mcpservers.Source
	policy *hubconfig.Policy
}

// Bind refuses before it looks at the arguments.
func (s tokenHolders) Bind(ctx context.Context, t durward.Tool, c durward.Call) (json.RawMessage, error) {
	if !s.policy.Allows(c.Caller, t) {
		return nil, s.policy.Decide(c, t).Err("find")
	}
	return s.Source.Bind(ctx, t, c)
}

var _ core.Binder = tokenHolders{}
