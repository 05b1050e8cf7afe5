package cli

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/durward/durward/internal/credential"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/hubedit"
)

// A newServer is what is to be known of a server to add it.
type newServer struct {
	hubedit.Entry
	env, headers []string
	timeout      time.Duration
	dryRun       bool
}

func (p *program) addServerCommand() *cobra.Command {
	n := &newServer{}
	cmd := &cobra.Command{
		Use: "add NAME [FLAG…] -- COMMAND [ARGUMENT…]", Short: "add a server to a configuration",
		Long: `Writes the server behind the others, in the shape that the file has; all else stays to the byte, and the former text
is kept beside it in a file that ends in .bak. Where there is no file one is made. Nothing is started. With --url the server is asked
over HTTP. Secrets do not stand in the file: name a variable of the hub instead, as in --env 'API_KEY=${API_KEY}'.`,
		Example: "  durward server add notes -- npx -y @modelcontextprotocol/server-memory\n" +
			`  durward server add search --dry-run --url https://example.org/mcp --header 'Authorization=Bearer ${SEARCH_TOKEN}'`,
	}
	x := p.hubFlags(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&n.env, "env", nil, "give it the variable `NAME=VALUE` (may be repeated)")
	f.StringVar(&n.Dir, "cwd", "", "start it in `DIR` (default: the sandbox directory)")
	f.Var(span{&n.timeout}, "timeout", "give its calls so many `SECONDS` (default: those of the hub)")
	f.BoolVar(&n.Disabled, "disabled", false, "do not start it yet")
	f.StringVar(&n.URL, "url", "", "ask it at this `URL` instead of starting a command")
	f.StringVar(&n.Type, "type", "http", "ask it over `TRANSPORT`: http or sse")
	f.StringArrayVar(&n.headers, "header", nil, "send it the header `NAME=VALUE` (may be repeated)")
	f.BoolVar(&n.dryRun, "dry-run", false, "say what would change and change nothing")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return usageError("write -- before a command with flags of its own: "+addForm, "%w", flagError(err))
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := n.take(x, args, cmd.ArgsLenAtDash()); err != nil {
			return err
		}
		return x.addServer(n)
	}
	return cmd
}

// addForm is what adds a server that is started by a command.
const addForm = "durward server add NAME -- COMMAND ARGUMENT…"

// take makes an entry of what the command line says.
func (n *newServer) take(x *hubServing, args []string, dash int) error {
	if dash < 0 {
		dash = len(args)
	}
	command := args[dash:]
	switch {
	case dash == 0:
		return usageError("write "+addForm, "NAME is missing")
	case dash > 1 && len(command) == 0:
		return usageError("write -- before the command: "+addForm, "%q stands behind the name of the server", args[1])
	case dash > 1:
		return usageError("write one name before --: "+addForm, "%q is one word too many", args[1])
	case len(command) == 0 && n.URL == "":
		return usageError("write "+addForm+", or add --url URL", "COMMAND is missing")
	case len(command) > 0 && n.URL != "":
		return usageError("leave one of them out", "a server has a command or a URL")
	case n.URL == "" && (len(n.headers) > 0 || x.given("type")):
		return usageError("leave them out", "--header and --type are for servers with a URL")
	case n.URL != "" && (len(n.env) > 0 || n.Dir != ""):
		return usageError("leave them out", "--env and --cwd are for servers with a command")
	case x.given("timeout") && (n.timeout < time.Second || n.timeout%time.Second != 0):
		return usageError("give it whole seconds, 1 at least", "--timeout %s is no whole number of seconds", n.timeout)
	}
	n.Name, n.Timeout = args[0], int64(n.timeout/time.Second)
	if len(command) > 0 {
		n.Command, n.Args = x.fromHere(command[0]), command[1:]
	}
	if n.Dir != "" {
		n.Dir = x.fromHere("." + string(filepath.Separator) + n.Dir)
	}
	return n.takePairs()
}

// fromHere gives a path as it is meant here: in the file it would be one from its folder.
func (x *hubServing) fromHere(path string) string {
	if filepath.Base(path) == path || strings.Contains(path, "${") {
		return path
	}
	return absolute(path, x.dir)
}

func (n *newServer) takePairs() (err error) {
	if n.Env, err = pairsOf("--env", n.env); err != nil {
		return err
	}
	if n.Headers, err = pairsOf("--header", n.headers); err != nil {
		return err
	}
	before := ""
	for _, arg := range append([]string{n.Command}, n.Args...) {
		if _, _, secret := credential.InArgument(before, arg); secret {
			return secretStands("an argument")
		}
		before = arg
	}
	if credential.InURL(n.URL) {
		return secretStands("the URL")
	}
	return nil
}

func secretStands(where string) error {
	return usageError("set a variable of the hub to it, and write ${NAME} in its place", "%s holds what looks like a secret, which does not stand in a file", where)
}

// pairsOf takes NAME=VALUE apart, and refuses secrets.
func pairsOf(flag string, texts []string) (pairs []hubedit.Pair, err error) {
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usageError("write "+flag+" NAME=VALUE", "%s: it has no name or no =", flag)
		}
		if credential.Looks(name, value) {
			variable := credential.Variable(name)
			return nil, usageError("set the variable "+variable+" for the hub, and write "+flag+" '"+name+"=${"+variable+"}'",
				"%s %s looks like a secret, which does not stand in a file", flag, name)
		}
		pairs = append(pairs, hubedit.Pair{Name: name, Value: value})
	}
	return pairs, nil
}

func (x *hubServing) addServer(n *newServer) error {
	c, err := x.changeServers(n.dryRun, true, false)
	if err != nil {
		return err
	}
	if err := c.add(n.Entry); err != nil {
		return err
	}
	c.next = "durward server test " + shellPath(n.Name) + c.configArgument()
	return c.finishServers()
}

// add writes a server, unless its name is taken.
func (c *serversChange) add(e hubedit.Entry) error {
	for _, s := range c.config.Servers {
		if s.Name == hubconfig.Fold(e.Name) {
			return usageError("choose another name, or remove it: durward server remove "+shellPath(s.Name), "%s: the name %q is taken", s.Where, e.Name)
		}
	}
	return c.refused(c.edit("added the server "+e.Name, func() error { return hubedit.Add(c.text, e) }))
}

func (p *program) removeServerCommand() *cobra.Command {
	dryRun := false
	cmd := &cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"}, Short: "take a server out of a configuration", Args: exactly(1),
		Long:    "All else stays to the byte, and the former text is kept beside it in a file that ends in .bak.",
		Example: "  durward server remove --dry-run notes\n  durward server remove notes",
	}
	x := p.hubFlags(cmd)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say what would change and change nothing")
	cmd.RunE = func(_ *cobra.Command, args []string) error { return x.removeServer(args[0], dryRun) }
	return cmd
}

func (x *hubServing) removeServer(name string, dryRun bool) error {
	c, err := x.changeServers(dryRun, false, false)
	if err != nil {
		return err
	}
	s, err := c.server(name)
	if err != nil {
		return err
	}
	if err := c.edit("removed the server "+s.Name, func() error { return hubedit.Remove(c.text, s.Name) }); err != nil {
		return c.refused(err)
	}
	return c.finishServers()
}
