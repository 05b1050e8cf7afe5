package cli

import "github.com/spf13/cobra"

// Commands gives all commands as a tree, for what is written about them. The tree knows no
// variables and is not to be run.
func Commands() *cobra.Command { return (&program{env: map[string]string{}}).root(nil) }

// A commandMaker makes the command of its name.
type commandMaker struct {
	name string
	make func() *cobra.Command
}

// commands makes the command that the first of words names, or all of them where it names
// none: a server that runs for days need not hold the flags of every other command.
func (p *program) commands(words []string) []*cobra.Command {
	var all []*cobra.Command
	makers := p.commandMakers()
	for _, m := range makers {
		if len(words) > 0 && words[0] == m.name {
			return []*cobra.Command{m.make()}
		}
	}
	for _, m := range makers {
		all = append(all, m.make())
	}
	return all
}

// commandMakers lists the commands below the root.
func (p *program) commandMakers() []commandMaker {
	return []commandMaker{
		{"serve", p.serveCommand},
		{"gateway", p.gatewayCommand},
		{"worker", p.workerCommand},
		{"hub", p.hubCommand},
		{"server", p.serverCommand},
		{"import", p.importCommand},
		{"connect", p.connectCommand},
		{"tools", p.toolsCommand},
		{"trust", p.trustCommand},
		{"init", p.initCommand},
		{"install", p.installCommand},
		{"update", p.updateCommand},
		{"mcp", p.mcpCommand},
		{"exec-server", p.execServerCommand},
		{"run", p.runCommand},
		{"policy", p.policyCommand},
		{"cmd", p.cmdCommand},
		{"exec", p.execCommand},
		{"explain", p.explainCommand},
		{"audit", p.auditCommand},
		{"doctor", p.doctorCommand},
		{"health", p.healthCommand},
		{"egress-proxy", p.egressProxyCommand},
		{"egress-check", p.egressCheckCommand},
		{"version", p.versionCommand},
		{"completion", p.completionCommand},
		{"links", p.linksCommand},
	}
}
