package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/durward/durward/internal/mcppolicy"
	"github.com/durward/durward/internal/safetext"
)

func (p *program) showPolicyCommand() *cobra.Command {
	profile := ""
	cmd := &cobra.Command{
		Use: "show", Short: "show what a policy comes to on this machine", Args: exactly(0),
		Long: "Shows where the roots, the write rules and the programs of the policy lead to, and what is worth a look.\n" +
			"With --json also every field with its default.",
		Example: "  durward policy show\n  durward policy show --policy examples/policy.quickstart.yaml --json",
	}
	file := policyFlag(cmd)
	cmd.Flags().StringVar(&profile, "profile", "", "show what the profile `NAME` of the policy leaves")
	cmd.RunE = func(*cobra.Command, []string) error {
		policy, err := p.policyOf(*file)
		if err == nil && profile != "" {
			policy, err = policy.Narrow(profile)
		}
		if err != nil {
			return err
		}
		return p.showPolicy(policy.View())
	}
	return cmd
}

func (p *program) showPolicy(v mcppolicy.View) error {
	if p.json {
		return p.print(v)
	}
	rows := [][]string{{"WHAT", "WRITTEN", "HERE", "WHERE"}, {"policy", v.File, v.Hash, ""}}
	if v.Profile != "" {
		rows = append(rows, []string{"profile", v.Profile, "", ""})
	}
	for _, r := range v.Roots {
		rows = append(rows, []string{"root", r.Written, r.Physical, r.Where})
	}
	for _, r := range v.Write {
		rows = append(rows, []string{"write", r.Written, r.Physical, r.Where})
	}
	for _, c := range v.Commands {
		rows = append(rows, []string{"command " + c.ID, c.Written, c.Exec, c.Where})
	}
	if v.LogFile != "" {
		rows = append(rows, []string{"log", "", v.LogFile, ""})
	}
	err := p.table(rows)
	for _, w := range v.Warnings {
		fmt.Fprintf(p.stdout, "warning: %s\n", safetext.Line(w))
	}
	return err
}
