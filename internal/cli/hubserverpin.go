package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/hubedit"
	"github.com/durward/durward/internal/hubpin"
	"github.com/durward/durward/internal/source/mcpservers"
)

// A pinState says how a tool is beside what was approved.
type pinState string

const (
	pinApproved pinState = "approved"
	// pinChanged tools are not what was approved, and withheld.
	pinChanged pinState = "changed"
	// pinGone tools were approved, and the server does not have them.
	pinGone pinState = "gone"
	// pinNew tools nobody has approved.
	pinNew pinState = "not approved"
)

// A pinData tells of one tool.
type pinData struct {
	Server string   `json:"server"`
	Tool   string   `json:"tool"`
	State  pinState `json:"state"`
	// Withheld is set where a hub does not offer the tool.
	Withheld bool `json:"withheld"`
	// Approved and Present are digests.
	Approved string `json:"approved,omitempty"`
	Present  string `json:"present,omitempty"`
	// Diff is empty where the approved text is not kept here.
	Diff string `json:"diff,omitempty"`

	text hubpin.Text
}

func (d pinData) called() string { return d.Server + " " + d.Tool }

type pinsData struct {
	File  string    `json:"file"`
	Tools []pinData `json:"tools"`
}

// pinStore is where the texts behind the digests are kept.
func (p *program) pinStore() (hubpin.Store, error) {
	dir, err := p.stateDir()
	if err != nil {
		return hubpin.Store{}, err
	}
	return hubpin.Store{Dir: filepath.Join(dir, "pins")}, audit.Private(dir)
}

// textOf gives what a caller would go by.
func textOf(t mcpservers.Tool) hubpin.Text {
	return hubpin.Text{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema}
}

// pinsOf lays what a server says of its tools beside what was approved of them.
func pinsOf(t *serverTrial, store hubpin.Store) []pinData {
	var list []pinData
	for _, tool := range t.tools {
		if !t.Allows(tool.Name) {
			continue
		}
		d := pinData{
			Server: t.Server.Name, Tool: tool.Name, State: pinNew, Approved: t.ToolHashes[tool.Name], Present: mcpservers.Pin(tool),
			text: textOf(tool),
		}
		switch {
		case d.Approved == d.Present:
			d.State = pinApproved
		case d.Approved != "":
			d.State, d.Withheld = pinChanged, true
			if before, known := store.Text(d.Approved); known {
				d.Diff = hubpin.Diff(d.called(), before, d.text)
			}
		}
		list = append(list, d)
	}
	for _, name := range slices.Sorted(maps.Keys(t.ToolHashes)) {
		if !slices.ContainsFunc(t.tools, func(tool mcpservers.Tool) bool { return tool.Name == name }) {
			list = append(list, pinData{Server: t.Server.Name, Tool: name, State: pinGone, Approved: t.ToolHashes[name]})
		}
	}
	return list
}

func (p *program) diffServersCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "diff [NAME]", Short: "show what tools say now that were approved as something else", Args: atMost(1),
		Long: `Starts the servers of which tools were approved, or the one that is named, and lays what they say of their tools beside
what was approved. Exits with 10 when a tool has changed, which a hub withholds, or is gone. Nothing is left running.`,
		Example: "  durward server diff --sandbox-dir .\n  durward server diff filesystem --sandbox-dir . --json",
	}
	x := p.hubFlags(cmd)
	x.sandboxFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return x.diffServers(cmd.Context(), nameOf(args)) }
	return cmd
}

func (x *hubServing) diffServers(ctx context.Context, name string) error {
	e, err := x.estate(true)
	if err != nil {
		return err
	}
	store, err := e.pinStore()
	if err != nil {
		return err
	}
	servers, err := e.startable(name)
	if err != nil {
		return err
	}
	servers = slices.DeleteFunc(servers, func(s hubconfig.Server) bool { return name == "" && len(s.ToolHashes) == 0 })
	return e.try(ctx, servers, func(trials []serverTrial) error {
		data := pinsData{File: e.settings.file, Tools: []pinData{}}
		var failed error
		for i := range trials {
			if trials[i].runs() {
				data.Tools = append(data.Tools, pinsOf(&trials[i], store)...)
			} else if failed == nil {
				failed = e.failed(&trials[i])
			}
		}
		return e.printPins(data, failed)
	})
}

// printPins shows the tools that are not as they were approved, and gives the error that says so.
func (e *hubEstate) printPins(data pinsData, failed error) error {
	changed := 0
	for _, d := range data.Tools {
		if d.State == pinChanged || d.State == pinGone {
			changed++
		}
	}
	if changed > 0 {
		failed = &durward.Error{
			Reason: durward.ToolsChanged, Op: "compare tools", Hint: "if all of it is well: durward server approve" + e.configArgument(),
			Err: fmt.Errorf("%s changed since approval", plural(changed, "tool")),
		}
	}
	if e.json {
		return e.printWith(data, failed)
	}
	return errors.Join(e.tablePins(data.Tools), failed)
}

// tablePins lists the tools that are not approved as they are, and what has changed of them.
func (e *hubEstate) tablePins(tools []pinData) error {
	rows := [][]string{{"SERVER", "TOOL", "STATE", "WITHHELD"}}
	var diffs strings.Builder
	for _, d := range tools {
		withheld := "no"
		if d.Withheld {
			withheld = "yes"
		}
		if d.State != pinApproved {
			rows = append(rows, []string{d.Server, d.Tool, string(d.State), withheld})
		}
		switch {
		case d.Diff != "":
			diffs.WriteString("\n" + d.Diff)
		case d.State == pinChanged:
			diffs.WriteString("\nwhat was approved of it is not kept here; this is what it says now:\n" + hubpin.Diff(d.called(), hubpin.Text{}, d.text))
		}
	}
	switch {
	case len(tools) == 0:
		_, err := fmt.Fprintln(e.stdout, "no tool is approved yet; next: durward server approve"+e.configArgument())
		return err
	case len(rows) == 1:
		_, err := fmt.Fprintf(e.stdout, "no tool has changed since it was approved (%d)\n", len(tools))
		return err
	}
	if err := e.table(rows); err != nil {
		return err
	}
	_, err := fmt.Fprint(e.stdout, diffs.String())
	return err
}

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
