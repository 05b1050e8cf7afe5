package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/source/mcpservers"
	"github.com/durward/durward/internal/trust"
)

func (p *program) serverCommand() *cobra.Command {
	return group(&cobra.Command{
		Use: "server", Short: "list, change, try and approve the MCP servers of a hub",
		Example: "  durward server list\n  durward server add --dry-run notes -- npx -y @modelcontextprotocol/server-memory",
	}, p.listServersCommand(), p.addServerCommand(), p.removeServerCommand(), p.testServerCommand(), p.diffServersCommand(), p.approveServersCommand(),
		p.restartServerCommand(), p.serverLogsCommand())
}

// hubFlags gives a command the flags that say which hub is meant, by its configuration.
func (p *program) hubFlags(cmd *cobra.Command) *hubServing {
	x := &hubServing{program: p}
	f := cmd.Flags()
	f.SortFlags = false
	x.given = f.Changed
	f.StringVar(&x.file, "config", "", "the servers are in `FILE` (MCP_CONFIG_PATH; default: config/mcp_servers.json)")
	return x
}

// sandboxFlag is for commands that start servers.
func (x *hubServing) sandboxFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&x.sandbox, "sandbox-dir", "", "servers begin in `DIR` (SANDBOX_DIRECTORY; default: /workspace)")
}

// A hubEstate is what the configuration of a hub says, for commands beside it.
type hubEstate struct {
	*hubServing
	settings hubSettings
	config   *hubconfig.Config
	// read is the file as it was read, if it could be.
	read trust.File
}

// estate reads the configuration. The sandbox directory is made only where servers are started.
func (x *hubServing) estate(starts bool) (*hubEstate, error) {
	s, err := x.settingsOf()
	if err != nil {
		return nil, err
	}
	return x.load(s, starts)
}

// load is estate by settings that are known. What nobody has chosen or trusted starts nothing.
func (x *hubServing) load(s hubSettings, starts bool) (e *hubEstate, err error) {
	e = &hubEstate{hubServing: x, settings: s}
	var unread, untrusted error
	if e.read, unread = x.readServers(s); unread == nil {
		untrusted = x.mayStart(s, e.read)
	}
	if starts && untrusted != nil {
		return nil, untrusted
	}
	if starts {
		e.settings.sandbox, err = s.openSandbox(x.dir)
	} else {
		e.settings.sandbox = absolute(s.sandbox, x.dir)
	}
	if err != nil {
		return nil, err
	}
	place := e.place()
	place.Alone = untrusted != nil
	e.config, err = mcpservers.Parse(place, e.read.Text, unread)
	return e, err
}

// place is where the configuration is, as the hub itself reads it.
func (e *hubEstate) place() mcpservers.Place {
	return mcpservers.Place{File: e.read.Path, Sandbox: e.settings.sandbox, Home: e.home(), Environ: e.env}
}

// server finds one by its name.
func (e *hubEstate) server(name string) (hubconfig.Server, error) {
	i := slices.IndexFunc(e.config.Servers, func(s hubconfig.Server) bool { return s.Name == hubconfig.Fold(name) })
	if i < 0 {
		return hubconfig.Server{}, e.unknown("%s has no server %q", e.settings.file, name)
	}
	return e.config.Servers[i], nil
}

// startable lists the server of that name, or all that a hub would start.
func (e *hubEstate) startable(name string) ([]hubconfig.Server, error) {
	if name != "" {
		s, err := e.server(name)
		s.Disabled = false // somebody has named it
		return []hubconfig.Server{s}, err
	}
	return slices.DeleteFunc(slices.Clone(e.config.Servers), func(s hubconfig.Server) bool { return s.Disabled }), nil
}

func (e *hubEstate) unknown(format string, args ...any) error {
	return &durward.Error{
		Reason: durward.ServerUnknown, Op: "find the server", Hint: "see which there are: durward server list" + e.configArgument(), Err: fmt.Errorf(format, args...),
	}
}

// configArgument is what names the configuration to another command.
func (e *hubEstate) configArgument() string {
	if !e.given("config") {
		return ""
	}
	return " --config " + shellPath(e.settings.file)
}

// nameOf takes the one word that a command may have.
func nameOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
