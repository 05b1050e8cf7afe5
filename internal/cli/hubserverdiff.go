package cli

import (
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
