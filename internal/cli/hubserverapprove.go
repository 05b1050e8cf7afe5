package cli

import (
	"bufio"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/hubedit"
	"github.com/durward/durward/internal/hubpin"
)

// An approval is one `durward server approve`.
type approval struct {
	*serversChange
	store hubpin.Store
	yes   bool
	tools []string
	kept  []hubpin.Text
}

func (p *program) approveServersCommand() *cobra.Command {
	a := &approval{}
	dryRun := false
	cmd := &cobra.Command{
		Use: "approve [NAME [TOOL…]]", Short: "have a hub offer tools only as they are now",
		Long: `Starts the servers, or the one that is named, and writes the digest of each tool's name, description and input schema to
toolHashes in the configuration: a hub withholds a tool that says anything else later. The texts are kept, so that durward server diff
can show what has changed. Tools that have changed since they were approved are shown, and you are asked; without a terminal
that takes --yes. A hub that runs goes by it once it is started again.`,
		Example: "  durward server approve filesystem --sandbox-dir . --dry-run\n  durward server approve filesystem --sandbox-dir . --yes",
	}
	x := p.hubFlags(cmd)
	x.sandboxFlag(cmd)
	cmd.Flags().BoolVar(&a.yes, "yes", false, "approve what has changed without being asked")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be approved and change nothing")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if a.serversChange, err = x.changeServers(dryRun, false, true); err != nil {
			return err
		}
		if len(args) > 0 {
			a.tools = args[1:]
		}
		return a.run(cmd.Context(), nameOf(args))
	}
	return cmd
}

func (a *approval) run(ctx context.Context, name string) (err error) {
	if a.store, err = a.pinStore(); err != nil {
		return err
	}
	servers, err := a.startable(name)
	if err != nil {
		return err
	}
	return a.try(ctx, servers, func(trials []serverTrial) error {
		for i := range trials {
			if !trials[i].runs() {
				return a.tellFailed(&trials[i])
			}
		}
		var all []pinData
		for i := range trials {
			all = append(all, pinsOf(&trials[i], a.store)...)
		}
		return a.approve(all)
	})
}

// approve has the tools that are meant held to what they are.
func (a *approval) approve(all []pinData) error {
	for _, name := range a.tools {
		if !slices.ContainsFunc(all, func(d pinData) bool { return d.Tool == name }) {
			return a.unknown("%s has no tool %q", all[0].Server, name)
		}
	}
	meant := slices.DeleteFunc(all, func(d pinData) bool {
		return d.State == pinApproved || len(a.tools) > 0 && !slices.Contains(a.tools, d.Tool)
	})
	if err := a.consent(meant); err != nil {
		return err
	}
	for _, d := range meant {
		if err := a.pin(d); err != nil {
			return a.refused(err)
		}
	}
	if !a.dryRun {
		for _, text := range a.kept {
			if err := a.store.Keep(text); err != nil {
				return err
			}
		}
	}
	a.done, a.next = summaryOf(meant), "start the hub again, which goes by it from then on"
	return a.finishServers()
}

// summaryOf says how many tools of each server are approved, and how many are held to nothing
// any more.
func summaryOf(meant []pinData) (done []string) {
	var servers []string
	approved, gone := map[string]int{}, map[string]int{}
	for _, d := range meant {
		if !slices.Contains(servers, d.Server) {
			servers = append(servers, d.Server)
		}
		if d.State == pinGone {
			gone[d.Server]++
		} else {
			approved[d.Server]++
		}
	}
	for _, server := range servers {
		if n := approved[server]; n > 0 {
			done = append(done, "approved "+plural(n, "tool")+" of "+server)
		}
		if n := gone[server]; n > 0 {
			done = append(done, "unpinned "+plural(n, "tool")+" that "+server+" does not have")
		}
	}
	return done
}

// consent shows what has changed, and asks for a word on it.
func (a *approval) consent(meant []pinData) error {
	changed := slices.DeleteFunc(slices.Clone(meant), func(d pinData) bool { return d.State != pinChanged })
	if len(changed) == 0 || a.yes || a.dryRun {
		return nil
	}
	for _, d := range changed {
		fmt.Fprintf(a.stderr, "%s", hubpin.Diff(d.called(), a.before(d), d.text))
	}
	if !a.canAsk() {
		return usageError("read it with durward server diff, and approve it with --yes", "%s changed since approval, and here is nobody to ask", plural(len(changed), "tool"))
	}
	if a.agrees("approve what has changed?", bufio.NewReader(a.stdinOrNothing())) {
		return nil
	}
	return &durward.Error{
		Reason: durward.ToolsChanged, Op: "approve", Hint: "nothing was changed; a hub withholds it", Err: fmt.Errorf("%s changed since approval", plural(len(changed), "tool")),
	}
}

func (a *approval) before(d pinData) hubpin.Text {
	text, _ := a.store.Text(d.Approved)
	return text
}

func (a *approval) pin(d pinData) error {
	if d.State == pinGone {
		return a.edit("unpinned "+d.Server+"'s "+d.Tool, func() error { return hubedit.Unpin(a.text, d.Server, d.Tool) })
	}
	a.kept = append(a.kept, d.text)
	return a.edit("approved "+d.Server+"'s "+d.Tool, func() error { return hubedit.Pin(a.text, d.Server, d.Tool, d.Present) })
}
