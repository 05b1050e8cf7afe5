package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/safetext"
)

// liveFlags gives a command the flag that says which running hub is meant.
func (p *program) liveFlags(cmd *cobra.Command) (*hubServing, *string) {
	x := &hubServing{program: p, given: cmd.Flags().Changed}
	return x, x.urlFlag(cmd)
}

type restartData struct {
	Server string `json:"server"`
	Hub    string `json:"hub"`
	PID    int    `json:"pid,omitempty"`
}

func (p *program) restartServerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "restart NAME", Short: "have a running hub start a server anew", Args: exactly(1),
		Long: `Ends the server and starts it again, also one that was given up. The hub keeps the configuration that it was
started with. Calls that run in the server end with an error.`,
		Example: "  durward server restart filesystem\n  durward server restart filesystem --url http://127.0.0.1:8002",
	}
	x, where := p.liveFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return interruptible(cmd.Context(), func(ctx context.Context) error { return x.restartServer(ctx, *where, args[0]) })
	}
	return cmd
}

func (x *hubServing) restartServer(ctx context.Context, where, name string) error {
	h, err := x.hubAt(where)
	if err != nil {
		return err
	}
	var said struct{}
	wrong := h.ask(ctx, hubStartPatience, http.MethodPost, "/servers/"+url.PathEscape(name)+"/restart", &said)
	if durward.ReasonOf(wrong) == durward.ServerUnknown || durward.ReasonOf(wrong) == durward.Unauthenticated {
		return h.nameServers(ctx, name, wrong)
	}
	health, err := h.health(ctx)
	if err != nil {
		return errors.Join(wrong, err)
	}
	if wrong != nil {
		return &durward.Error{
			Reason: durward.ServerFailed, Op: "restart the server", Hint: "see what it said: durward server logs " + shellPath(name),
			Err: fmt.Errorf("%s: %s", name, health.Details[name].LastError),
		}
	}
	if x.json {
		return x.print(restartData{name, h.url, health.Details[name].PID})
	}
	_, err = fmt.Fprintf(x.stdout, "restarted %s; it has %s now\n", name, plural(health.Details[name].Tools, "tool"))
	return err
}

type logsData struct {
	Server string   `json:"server"`
	Lines  []string `json:"lines"`
}

func (p *program) serverLogsCommand() *cobra.Command {
	most := 0
	cmd := &cobra.Command{
		Use: "logs NAME", Short: "show what a server of a running hub has said last", Args: exactly(1),
		Long: `Shows the end of what the server printed to its standard error, over all its starts; the hub keeps 64 KiB. Control
characters are shown and not obeyed.`,
		Example: "  durward server logs filesystem\n  durward server logs filesystem -n 5 --json",
	}
	x, where := p.liveFlags(cmd)
	cmd.Flags().IntVarP(&most, "lines", "n", 100, "show this `NUMBER` of lines")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if most < 1 {
			return usageError("ask for one at least", "-n %d asks for no lines", most)
		}
		return interruptible(cmd.Context(), func(ctx context.Context) error { return x.showLogs(ctx, *where, args[0], most) })
	}
	return cmd
}

func (x *hubServing) showLogs(ctx context.Context, where, name string, most int) error {
	h, err := x.hubAt(where)
	if err != nil {
		return err
	}
	said := logsData{}
	if err := h.ask(ctx, hubPatience, http.MethodGet, "/servers/"+url.PathEscape(name)+"/logs", &said); err != nil {
		return h.nameServers(ctx, name, err)
	}
	said.Lines = said.Lines[max(len(said.Lines)-most, 0):]
	if x.json {
		return x.print(said)
	}
	for _, line := range said.Lines {
		fmt.Fprintln(x.stdout, safetext.Line(line)) // its loss is told at the end
	}
	return nil
}
