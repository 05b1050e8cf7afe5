package cli

import (
	"bufio"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/durward/durward/internal/clientconfig"
	"github.com/durward/durward/internal/safetext"
)

// A connecting is one `durward connect`.
type connecting struct {
	*hubServing
	client                  clientconfig.Client
	name, at, policy        string // at is the client's file, where somebody named it
	hub                     bool
	url, tokenVariable      string
	dryRun, yes, anew, undo bool
}

type connectData struct {
	changeData
	Client string `json:"client"`
	Name   string `json:"name"`
	// Command and Args start what the entry leads to, or URL is where it is.
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	URL     string   `json:"url,omitempty"`
	// Removed is set where the file itself is taken away, as there was none before.
	Removed bool `json:"removed,omitempty"`
	// Next is what to do after it.
	Next string `json:"next,omitempty"`
}

func (p *program) connectCommand() *cobra.Command {
	names := clientNames()
	cmd := &cobra.Command{
		Use: "connect CLIENT", Short: "tell an MCP client of durward, or have it forget", Args: exactly(1),
		Long: "Writes durward into the file in which " + strings.Join(names, ", ") + ` keeps
its MCP servers: what the policy allows, by durward mcp; with --hub all servers of a hub, which the client starts for itself; with --url
a hub that runs, for any number of clients. All else in the file stays to the byte. The change is shown, and made if you agree
when you are asked or with --yes. --undo puts the file back as it was, or takes the entry out where the file was changed since.`,
		Example: `  durward connect cursor --dry-run
  durward connect claude-code --yes
  durward connect vscode --url http://127.0.0.1:8002 --dry-run
  durward connect claude-code --undo --yes`,
		ValidArgs: names,
	}
	x := &connecting{hubServing: p.hubFlags(cmd)}
	f := cmd.Flags()
	f.StringVar(&x.policy, "policy", "", "allow what the policy in `FILE` allows (default: policy.yaml of the user's configuration)")
	f.BoolVar(&x.hub, "hub", false, "have the client start a hub, for the servers of --config")
	x.sandboxFlag(cmd)
	f.StringVar(&x.url, "url", "", "have the client ask the hub at `URL`, which runs already: http://127.0.0.1:8002")
	f.StringVar(&x.tokenVariable, "token-env", "", "send the hub at --url the token that the client has in the variable `NAME`")
	f.StringVar(&x.name, "name", mainName, "call the entry `NAME`")
	f.StringVar(&x.at, "file", "", "write to `FILE` instead of where the client keeps its servers")
	f.BoolVar(&x.anew, "replace", false, "put the entry in the place of another one of its name")
	f.BoolVar(&x.undo, "undo", false, "undo it")
	f.BoolVar(&x.yes, "yes", false, "do it without being asked")
	f.BoolVar(&x.dryRun, "dry-run", false, "say what would change and change nothing")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if !clientconfig.Known(args[0]) {
			return usageError("use one of "+strings.Join(names, ", "), "no client is called %q", args[0])
		}
		x.client = clientconfig.Client(args[0])
		if err := x.check(); err != nil {
			return err
		}
		if x.undo {
			return x.disconnect()
		}
		return x.connect()
	}
	return cmd
}

func clientNames() (names []string) {
	for _, c := range clientconfig.Clients() {
		names = append(names, string(c))
	}
	return names
}

// variableName is what a variable of a client can be called.
const variableName = `^[A-Za-z_][A-Za-z0-9_]*$`

// check refuses flags that do not go together.
func (x *connecting) check() error {
	whats := 0
	for _, flag := range []string{"policy", "hub", "url"} {
		if x.given(flag) {
			whats++
		}
	}
	switch {
	case x.undo && (whats > 0 || x.given("config") || x.given("token-env") || x.anew || x.given("sandbox-dir")):
		return usageError("name at most --name and --file with --undo", "--undo takes out what is there, whatever it is")
	case !x.undo && !clientconfig.IsName(x.name):
		return usageError("choose one of 1 to 64 letters, digits, _ and -", "--name: %.70q is no name that every client takes", x.name)
	case whats > 1:
		return usageError("leave the others out", "--policy, --hub and --url are three servers, and an entry leads to one")
	case !x.hub && (x.given("config") || x.given("sandbox-dir")):
		return usageError("add --hub, or name a policy with --policy FILE", "--config and --sandbox-dir are for --hub")
	case x.url == "" && x.tokenVariable != "":
		return usageError("name the hub with --url URL", "--token-env is for --url")
	case x.tokenVariable != "" && !regexp.MustCompile(variableName).MatchString(x.tokenVariable):
		return usageError("give the name of a variable, and not the token", "--token-env: it is no name")
	}
	return nil
}

// connect writes the entry.
func (x *connecting) connect() error {
	e, err := x.entry()
	if err != nil {
		return err
	}
	c, err := x.openClient()
	if err != nil {
		return err
	}
	if err := c.add(e); err != nil {
		return err
	}
	return c.finish()
}

// add has the text hold the entry, unless another one has its name.
func (c *clientChange) add(e clientconfig.Entry) error {
	c.data.Command, c.data.Args, c.data.URL = e.Command, e.Args, e.URL
	if c.text.Leads(c.name, e) {
		return nil
	}
	taken, was := c.text.Has(c.name), c.text.Raw(c.name)
	if taken && !c.anew {
		return usageError("put it in its place with --replace, or choose another name: --name NAME",
			"%s has an entry %q that leads elsewhere: %s", c.file, c.name, c.foundAt(was))
	}
	bare := !c.text.Holds()
	switch err := c.text.Set(c.name, e); {
	case errors.Is(err, clientconfig.ErrNoURL):
		return usageError("have it start one: durward connect "+string(c.client)+" --hub", "%s: %w", c.client.Title(), err)
	case err != nil:
		return c.refused(err)
	}
	done := "added " + c.name
	if taken {
		done = "replaced " + c.name
	}
	c.done = []string{done}
	c.deed = deed{
		Kind: "connect", File: c.file, Name: c.name, Client: string(c.client), Dirs: c.dirs, Bare: bare, Replaced: was,
		Command: e.Command, Args: e.Args, URL: e.URL,
	}
	c.write = c.putConnected
	return nil
}

// finish shows the change, has somebody agree to it, makes it, and tells.
func (c *clientChange) finish() error {
	now := c.now()
	c.data.Changed = len(c.done) > 0
	c.data.Lines = shownChange(c.was, now)
	if c.data.Changed && !c.dryRun {
		if agreed, err := c.agreed(); err != nil || !agreed {
			return err
		}
		var err error
		if c.data.Backup, err = c.write(now); err != nil {
			return err
		}
	}
	if c.data.Changed {
		c.data.Next = "start " + c.client.Title() + " again"
	}
	if c.json {
		return c.print(c.data)
	}
	return c.tell()
}

// agreed asks a person who is there, and wants --yes where nobody is.
func (c *clientChange) agreed() (bool, error) {
	if c.yes {
		return true, nil
	}
	if c.json || !c.canAsk() || !c.stderr.terminal {
		return false, usageError("see the change with --dry-run, and agree to it with --yes", "nobody is there to agree to the change of %s", c.file)
	}
	if _, err := fmt.Fprint(c.stderr, c.shown()); err != nil {
		return false, undelivered(err, "send standard error to where it can be read, or agree beforehand with --yes")
	}
	forgetTyped(c.stdin)
	agreed := c.agrees("make this change of "+safetext.Line(c.file)+"?", bufio.NewReader(c.stdin))
	if !agreed {
		c.note("nothing was changed")
	}
	return agreed, nil
}

// shown gives the change as lines.
func (c *clientChange) shown() string {
	var text strings.Builder
	for _, line := range c.data.Lines {
		text.WriteString(safetext.Line(line) + "\n")
	}
	return text.String()
}

// tell says in one line what was done and what comes next.
func (c *clientChange) tell() error {
	file := safetext.Line(c.file)
	done := safetext.Line(strings.Join(c.done, " and ")) + " in " + file
	if c.gone {
		done = "removed " + file + ", which held nothing but " + c.name
	}
	var line string
	switch {
	case !c.data.Changed && c.undo:
		line = fmt.Sprintf("%s has no entry %s any more; nothing changed", file, c.name)
	case !c.data.Changed:
		line = fmt.Sprintf("%s has that already; nothing changed", file)
	case c.dryRun:
		line = fmt.Sprintf("would have %s:\n%s", done, strings.TrimSuffix(c.shown(), "\n"))
	default:
		line = done
		if c.data.Backup != "" {
			line += "; the former text is in " + safetext.Line(c.data.Backup)
		}
		line += "; next: " + c.data.Next
	}
	_, err := fmt.Fprintln(c.stdout, line)
	return err
}
