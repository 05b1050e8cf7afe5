package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config/edit"
	"github.com/durward/durward/internal/mcppolicy"
)

func (p *program) cmdCommand() *cobra.Command {
	return group(&cobra.Command{
		Use: "cmd", Short: "list and change the commands that MCP clients may run",
		Example: "  durward cmd list\n  durward cmd add date --exec date",
	}, p.listCmdCommand(), p.addCmdCommand(), p.removeCmdCommand())
}

// A newCommand is what is to be known of a command to add it.
type newCommand struct {
	exec, description string
	allow, patterns   []string
}

func (p *program) addCmdCommand() *cobra.Command {
	n := &newCommand{}
	cmd := &cobra.Command{
		Use: "add ID --exec PROGRAM", Short: "let a command be run",
		Long: "Without --allow and --pattern the command takes no arguments. The text of the policy is changed where it\n" +
			"must be and nowhere else; the former one is kept beside it in a file that ends in .bak. Where there is no\n" +
			"policy a first one is made, in which files may be read in ~/code.",
		Example: "  durward cmd add today --exec date --allow -u --description 'tell the time'\n" +
			`  durward cmd add count --exec wc --allow -l --pattern '[\w./-]+' --dry-run`,
	}
	p.changeCommand(cmd, true, func(c *policyChange, id string) error { return c.addCommand(id, n) })
	f := cmd.Flags()
	f.StringVar(&n.exec, "exec", "", "run this `PROGRAM`: an absolute path, or a name that is looked up on PATH")
	f.StringArrayVar(&n.allow, "allow", nil, "accept this `ARGUMENT`, to the byte (may be repeated)")
	f.Lookup("allow").Annotations = map[string][]string{mayBeEmpty: nil} // a program may be given an empty argument
	f.StringArrayVar(&n.patterns, "pattern", nil, "accept arguments that match `REGEXP` as a whole (may be repeated)")
	f.StringVar(&n.description, "description", "", "what a model is told about it: `TEXT`")
	return cmd
}

func (p *program) removeCmdCommand() *cobra.Command {
	return p.changeCommand(&cobra.Command{
		Use: "remove ID", Short: "let a command be run no more",
		Example: "  durward cmd remove --dry-run today\n  durward cmd remove today",
	}, false, (*policyChange).removeCommand)
}

func (c *policyChange) addCommand(id string, n *newCommand) error {
	if n.exec == "" {
		return usageError("name the program: durward cmd add ID --exec PROGRAM", "--exec is missing")
	}
	if i := c.indexOf(id); i >= 0 {
		return &durward.Error{
			Reason: durward.CommandExists, Op: "add the command", Rule: "commands", Where: c.doc.Commands[i].Where,
			Hint: "choose another id, or remove it: durward cmd remove " + shellPath(id),
			Err:  fmt.Errorf("the policy has a command %q", id),
		}
	}
	return c.append(edit.Member("commands"), n.entry(id), "added the command "+id)
}

func (c *policyChange) removeCommand(id string) error {
	i := c.indexOf(id)
	if i < 0 {
		return &durward.Error{
			Kind: durward.NotFound, Reason: durward.CommandUnknown, Op: "remove the command", Rule: "commands", Where: c.doc.Where,
			Hint: "durward cmd list has them all", Err: fmt.Errorf("the policy has no command %q", id),
		}
	}
	return c.remove(edit.Member("commands").Item(i), "removed the command "+id)
}

// indexOf finds a command, of whatever platform, or gives -1.
func (c *policyChange) indexOf(id string) int {
	return slices.IndexFunc(c.doc.Commands, func(e mcppolicy.CommandEntry) bool { return e.ID.Value == id })
}

// entry is the command as a policy holds it.
func (n *newCommand) entry(id string) edit.Map {
	m := edit.Map{{Name: "id", Value: edit.String(id)}, {Name: "exec", Value: edit.String(n.exec)}}
	if n.description != "" {
		m = append(m, edit.Entry{Name: "description", Value: edit.String(n.description)})
	}
	args := edit.Map{}
	if len(n.allow) > 0 {
		args = append(args, edit.Entry{Name: "allow", Value: edit.Strings(n.allow...)})
	}
	patterns := edit.List{}
	for _, re := range n.patterns {
		patterns = append(patterns, edit.Map{{Name: "type", Value: edit.String("regex")}, {Name: "value", Value: edit.String(re)}})
	}
	if len(patterns) > 0 {
		args = append(args, edit.Entry{Name: "patterns", Value: patterns})
	}
	if len(args) > 0 {
		m = append(m, edit.Entry{Name: "args", Value: args})
	}
	return m
}
