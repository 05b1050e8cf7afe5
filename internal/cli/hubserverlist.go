package cli

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/safetext"
	"github.com/durward/durward/internal/trust"
)

type serversData struct {
	File  string          `json:"file"`
	Shape hubconfig.Shape `json:"shape,omitempty"`
	// Hub is the one that told of the servers, if one did.
	Hub string `json:"hub,omitempty"`
	// Trust is "trusted" where a hub goes by the file of this folder. It is empty for a file that
	// somebody named.
	Trust   trust.State  `json:"trust,omitempty"`
	Servers []serverData `json:"servers"`
}

// serverData tells of one server: what the file says, and what a hub says that runs.
type serverData struct {
	Name    string      `json:"name"`
	State   serverState `json:"state"`
	Type    string      `json:"type,omitempty"` // empty where only a hub told of it
	Command string      `json:"command,omitempty"`
	URL     string      `json:"url,omitempty"`
	// Why says what keeps it from running.
	Why             string `json:"why,omitempty"`
	PID             int    `json:"pid,omitempty"`
	Restarts        *int   `json:"restarts,omitempty"`
	Tools           *int   `json:"tools,omitempty"`
	Era             string `json:"era,omitempty"`
	ProtocolVersion string `json:"protocol_version,omitempty"`
}

type serverState string

const (
	serverRunning  serverState = "running"
	serverStopped  serverState = "stopped"
	serverDisabled serverState = "disabled"
	// serverBroken is of one that cannot be started as it is written.
	serverBroken serverState = "broken"
	// serverConfigured is of one that no running hub told of.
	serverConfigured serverState = "configured"
)

func (p *program) listServersCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "list the servers of a configuration, and how they are", Args: exactly(0),
		Long: `Where a hub answers, it is asked how the servers are. Else what the configuration says is all there is: a server
is configured, disabled, or broken, with the reason.`,
		Example: "  durward server list\n  durward server list --config config/mcp_servers.json --json",
	}
	x := p.hubFlags(cmd)
	where := x.urlFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return interruptible(cmd.Context(), func(ctx context.Context) error { return x.listServers(ctx, *where) })
	}
	return cmd
}

func (x *hubServing) listServers(ctx context.Context, where string) error {
	e, err := x.estate(false)
	if err != nil {
		return err
	}
	h, err := x.hubAt(where)
	if err != nil {
		return err
	}
	data := serversData{File: e.settings.file, Shape: e.config.Shape, Trust: e.noteUntrusted(), Servers: []serverData{}}
	health, err := h.health(ctx)
	switch {
	case err == nil:
		data.Hub = h.url
	case where != "" || durward.ReasonOf(err) != durward.Unhealthy:
		return err
	}
	for _, s := range e.config.Servers {
		data.Servers = append(data.Servers, serverOf(s, health, data.Hub != ""))
	}
	if where != "" {
		data.Servers = append(data.Servers, othersOf(health, data.Servers)...)
	}
	return e.printServers(data)
}

// othersOf tells of the servers of a hub that are not in the configuration here: of a hub that somebody
// asked for, all are told.
func othersOf(health *hubHealth, known []serverData) (others []serverData) {
	for _, name := range slices.Sorted(maps.Keys(health.Servers)) {
		if !slices.ContainsFunc(known, func(s serverData) bool { return s.Name == name }) {
			one := serverOf(hubconfig.Server{Name: name}, health, true)
			one.Type = ""
			others = append(others, one)
		}
	}
	return others
}

// serverOf tells of a server; of what a hub says only if one said anything.
func serverOf(s hubconfig.Server, health *hubHealth, told bool) serverData {
	d := serverData{Name: s.Name, State: serverConfigured, Type: "stdio", Command: s.Command, Why: s.Broken}
	if s.Remote != nil {
		d.Type, d.URL = s.Remote.Type, plainURL(s.Remote.URL)
	}
	switch state, known := health.Servers[s.Name]; {
	case s.Disabled:
		d.State = serverDisabled
		return d
	case !told || !known:
		if s.Broken != "" {
			d.State = serverBroken
		}
		return d
	default:
		d.State = serverState(state)
	}
	live, known := health.Details[s.Name]
	if !known {
		return d // the hub keeps the rest from strangers
	}
	d.PID, d.Restarts, d.Tools, d.Era, d.ProtocolVersion = live.PID, &live.Restarts, &live.Tools, live.Era, live.ProtocolVersion
	if d.State != serverRunning && live.LastError != "" {
		d.Why = live.LastError
	}
	return d
}

// plainURL leaves out what of a URL may be secret.
func plainURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func (e *hubEstate) printServers(data serversData) error {
	if e.json {
		return e.print(data)
	}
	for _, w := range e.config.Warnings {
		e.note("warning: %s", safetext.Line(w))
	}
	if e.config.Missing {
		e.note("there is no %s; durward server add makes it", safetext.Line(data.File))
	}
	number := func(n *int) string {
		if n == nil {
			return ""
		}
		return strconv.Itoa(*n)
	}
	rows := [][]string{{"NAME", "STATE", "TYPE", "COMMAND", "PID", "RESTARTS", "TOOLS", "WHY"}}
	for _, s := range data.Servers {
		pid := ""
		if s.PID != 0 {
			pid = strconv.Itoa(s.PID)
		}
		rows = append(rows, []string{s.Name, string(s.State), s.Type, s.Command + s.URL, pid, number(s.Restarts), number(s.Tools), s.Why})
	}
	return e.table(rows)
}
