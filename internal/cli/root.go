package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/durward/durward"
)

// welcome is what bare durward says, in ten lines.
const welcome = `durward runs what AI agents ask for: under one policy, in a sandbox of the
kernel's, and into a log that proves itself. Two commands to begin with:

  durward exec -- ls           run a command that reads here and writes nothing
  durward audit tail           see what was decided and done

For an MCP client:             durward policy add-root DIR
For agents that speak HTTP:    durward init DIR
What this machine can hold:    durward doctor
All commands, and every code:  durward help, durward help CODE
`

// root gives the tree of the commands that words may name.
func (p *program) root(words []string) *cobra.Command {
	root := &cobra.Command{
		Use:           "durward COMMAND",
		Short:         "run the commands that agents ask for, under one policy",
		Example:       "  durward exec -- ls -l\n  durward doctor",
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              unknownCommand,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return p.begin(cmd) },
	}
	version := root.Flags().Bool("version", false, "print the version")
	root.RunE = func(*cobra.Command, []string) error {
		if *version {
			p.command = "version"
			return p.printVersion()
		}
		_, err := io.WriteString(p.stdout, welcome)
		return err
	}
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { p.misnamed = helpFound(p.stdout, cmd) })
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError(cmd.CommandPath()+" --help lists the flags", "%w", flagError(err))
	})
	p.globalFlags(root.PersistentFlags())
	root.AddCommand(p.commands(words)...)
	root.SetHelpCommand(p.helpCommand())
	makeStrict(root)
	showFlags(root)
	return root
}

func (p *program) globalFlags(flags *pflag.FlagSet) {
	flags.SortFlags = false
	flags.StringVar(&p.configFile, "config", p.env[varConfig], "configure it by `FILE`, on top of the machine's and the user's own")
	flags.BoolVar(&p.json, "json", p.json, "print one JSON object, errors included")
	flags.BoolVarP(&p.quiet, "quiet", "q", false, "print no notes on standard error")
	flags.BoolVarP(&p.verbose, "verbose", "v", false, "print the details of errors")
	flags.Bool("no-color", false, "use no colours (there are none)")
	flags.BoolVar(&p.noInput, "no-input", p.env[varNoInput] != "" || p.env["CI"] != "", "never ask")
}

// begin stands before every command. A configuration that was named is read even by a
// command that needs none: nobody is to believe that it works. exec and explain read it
// themselves, once they know how long to wait.
func (p *program) begin(cmd *cobra.Command) error {
	p.command = commandName(cmd)
	p.warnOfVariables()
	if p.takesCall() || !cmd.Root().PersistentFlags().Changed("config") {
		return nil
	}
	_, _, err := p.settings()
	return err
}

// takesCall reports whether the command is one that takes a command to run, and so has the
// exit status of one.
func (p *program) takesCall() bool { return p.command == "exec" || p.command == "explain" }

func commandName(cmd *cobra.Command) string {
	_, name, _ := strings.Cut(cmd.CommandPath(), " ")
	return name
}

// unknownCommand refuses the words that name no command below cmd, and suggests one.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	fix := cmd.CommandPath() + " --help lists the commands"
	if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		fix = "did you mean " + cmd.CommandPath() + " " + similar[0] + "?"
	}
	return usageError(fix, "%s has no command %q", cmd.CommandPath(), args[0])
}

// group makes a command that only holds others: alone it shows its help.
func group(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.Use, cmd.Args = cmd.Use+" COMMAND", unknownCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(below...)
	return cmd
}

// atMost refuses words behind the n-th.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		return usageError(cmd.CommandPath()+" --help shows the form", "%q is one word too many", args[n])
	}
}

// exactly is atMost for a command that needs all its words.
func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return usageError("write "+cmd.UseLine(), "%s is missing", wordsOf(cmd)[len(args)])
		}
		return atMost(n)(cmd, args)
	}
}

// wordsOf names the words that a command needs, in the order of its form. What stands in brackets
// may be left out.
func wordsOf(cmd *cobra.Command) []string {
	var words []string
	depth := 0
	for _, word := range strings.Fields(cmd.Use)[1:] {
		depth += strings.Count(word, "[")
		if depth == 0 && word != "--" {
			words = append(words, word)
		}
		depth -= strings.Count(word, "]")
	}
	return words
}

// showFlags has the form of each command, and of those below it, say in one way that there are flags.
func showFlags(cmd *cobra.Command) {
	cmd.DisableFlagsInUseLine = true
	const flags = "[FLAG…]"
	if name, words, _ := strings.Cut(cmd.Use, " "); !strings.Contains(words, flags) && words != "COMMAND" {
		cmd.Use = strings.TrimSpace(name + " " + flags + " " + words)
	}
	for _, below := range cmd.Commands() {
		showFlags(below)
	}
}

func usageError(fix, format string, args ...any) error {
	return &durward.Error{Reason: durward.BadUsage, Hint: fix, Err: fmt.Errorf(format, args...)}
}
