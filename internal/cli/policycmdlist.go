package cli

import (
	"github.com/spf13/cobra"

	"github.com/durward/durward/internal/mcppolicy"
)

type commandsData struct {
	File     string        `json:"file"`
	Commands []commandData `json:"commands"`
}

type commandData struct {
	mcppolicy.CommandView
	Description string `json:"description,omitempty"`
}

func (p *program) listCmdCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "list the commands of a policy", Args: exactly(0),
		Long:    "Commands of other systems are left out.",
		Example: "  durward cmd list\n  durward cmd list --json",
	}
	file := policyFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		policy, err := p.policyOf(*file)
		if err != nil {
			return err
		}
		return p.listCommands(policy)
	}
	return cmd
}

func (p *program) listCommands(policy *mcppolicy.Policy) error {
	view := policy.View()
	data := commandsData{File: view.File, Commands: []commandData{}}
	rows := [][]string{{"ID", "EXEC", "DESCRIPTION"}}
	for i, c := range view.Commands {
		description := policy.Commands[i].Entry.Description.Value
		data.Commands = append(data.Commands, commandData{c, description})
		rows = append(rows, []string{c.ID, c.Exec, description})
	}
	if p.json {
		return p.print(data)
	}
	return p.table(rows)
}
