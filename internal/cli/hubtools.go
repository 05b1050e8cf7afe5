package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/source/mcpservers"
)

// tokenBytes is how many bytes of a tool's JSON are taken for one token.
const tokenBytes = 4

// A costData tells what a tool costs whoever is shown it.
type costData struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	Tokens int    `json:"tokens"`
	Bytes  int    `json:"json_bytes"`
}

type costsData struct {
	File string `json:"file"`
	// Estimate says how tokens are counted.
	Estimate string         `json:"estimate"`
	Total    int            `json:"total_tokens"`
	Servers  map[string]int `json:"server_tokens"`
	Tools    []costData     `json:"tools"`
}

func (p *program) toolsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "tools", Short: "tell how many tokens the tools of a hub's servers take in a model's context", Args: exactly(0),
		Long: `Starts the servers of the configuration, asks for their tools, and ends them. A tool takes a token for every 4 bytes of
the JSON of its name, description and input schema, which is an estimate: models count differently. What a server's allowTools and
denyTools leave out is not counted.`,
		Example: "  durward tools --sandbox-dir .\n  durward tools --sandbox-dir . --json",
	}
	x := p.hubFlags(cmd)
	x.sandboxFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return x.costs(cmd.Context()) }
	return cmd
}

func (x *hubServing) costs(ctx context.Context) error {
	e, err := x.estate(true)
	if err != nil {
		return err
	}
	servers, err := e.startable("")
	if err != nil {
		return err
	}
	return e.try(ctx, servers, func(trials []serverTrial) error {
		data := costsData{File: e.settings.file, Estimate: "bytes of JSON / 4", Servers: map[string]int{}, Tools: []costData{}}
		var failed error
		for i := range trials {
			t := &trials[i]
			if !t.runs() {
				failed = cmp.Or(failed, e.failed(t))
				continue
			}
			data.Servers[t.Server.Name] = 0
			for _, tool := range t.tools {
				if t.Allows(tool.Name) {
					data.add(costOf(t.Server.Name, tool))
				}
			}
		}
		return e.printCosts(data, failed)
	})
}

func costOf(server string, t mcpservers.Tool) costData {
	shown, err := jsonx.Marshal(textOf(t))
	if err != nil {
		panic(err) // it was read as JSON
	}
	n := len(shown) - 1 // the newline is none of it
	return costData{Server: server, Tool: t.Name, Tokens: (n + tokenBytes - 1) / tokenBytes, Bytes: n}
}

func (d *costsData) add(c costData) {
	d.Tools = append(d.Tools, c)
	d.Servers[c.Server] += c.Tokens
	d.Total += c.Tokens
}

// printCosts lists the tools, the dearest of each server first.
func (e *hubEstate) printCosts(data costsData, failed error) error {
	slices.SortStableFunc(data.Tools, func(a, b costData) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), b.Tokens-a.Tokens, cmp.Compare(a.Tool, b.Tool))
	})
	if e.json {
		return e.printWith(data, failed)
	}
	rows := [][]string{{"SERVER", "TOOL", "TOKENS"}}
	for _, c := range data.Tools {
		rows = append(rows, []string{c.Server, c.Tool, strconv.Itoa(c.Tokens)})
	}
	if err := e.table(rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(e.stdout, "about %d tokens in all, at 4 bytes a token\n", data.Total)
	return cmp.Or(err, failed)
}
