package cli

import (
	"github.com/spf13/cobra"
)

func (p *program) explainCommand() *cobra.Command {
	x := &execution{program: p, dryRun: true}
	cmd := &cobra.Command{
		Use:   "explain [FLAG…] -- ARGV…",
		Short: "say what would be decided and held for a command, and run nothing",
		Long: `The flags are those of durward exec, and so is the exit status: 0 where the command would run.
It prints the decision with its rule and the rule's place; each path as it was written and where it leads; the
grant, member by member, with where it comes from; the level, and why it is no higher one; what would be held, and by
what; and the plan: one system call to a line, behind the stage that makes it. The command is not run, and nothing
is put on record.`,
		Example: `  durward explain -- ls -l
  durward explain --write . -- make all
  durward explain --json --level 1 -- true`,
		RunE: func(cmd *cobra.Command, argv []string) error {
			if len(argv) > 0 && cmd.ArgsLenAtDash() != 0 {
				return usageError("durward explain -- "+argv[0]+" explains it as a command",
					"tools come with durward.yaml, which this build does not read, so there is no tool %q to explain", argv[0])
			}
			return x.take(cmd, argv)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.SetInterspersed(false)
	x.callFlags(f)
	return cmd
}
