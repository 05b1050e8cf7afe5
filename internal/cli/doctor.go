package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/safetext"
	"github.com/durward/durward/internal/sandbox"
)

// doctorData is what was found out about this machine.
type doctorData struct {
	Levels []levelData `json:"levels"`
	Checks []checkData `json:"checks"`
}

type levelData struct {
	Level     int         `json:"level"`
	Available bool        `json:"available"`
	Result    checkResult `json:"result"`
	Detail    string      `json:"detail"`
	Trials    []checkData `json:"trials,omitempty"`
}

// checkData is one thing that was tried.
type checkData struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Warning is set where it works and is worth a look all the same.
	Warning bool `json:"warning,omitempty"`
	// Gives says what it is good for, Error why it cannot be had, Fix what to change.
	Gives  string      `json:"gives,omitempty"`
	Error  string      `json:"error,omitempty"`
	Fix    string      `json:"fix,omitempty"`
	Result checkResult `json:"result"`
	// Parts are what it is made of, if anything.
	Parts []checkData `json:"parts,omitempty"`
	err   error
}

// A checkResult is the word for what came of a check. All but resultOK have a fix.
type checkResult string

const (
	resultOK   checkResult = "OK"
	resultWarn checkResult = "WARN"
	resultFail checkResult = "FAIL"
)

func (p *program) doctorCommand() *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use: "doctor", Short: "find out by trying what this machine can hold, and whether durward is set up well", Args: atMost(0),
		Long: `Tries each level of the sandbox, a call, and the log; looks at the program, the configuration, the
servers of a hub, and at which clients know durward. Where there is a policy of durward mcp it starts that
server and talks with it; nothing else is started. Each line is OK, WARN or FAIL, and those that are not OK have a fix below
them. Exits with 0 when nothing failed, with 3 for an invalid policy or configuration, with 9 otherwise.`,
		Example: "  durward doctor\n  durward doctor --json",
	}
	cmd.Flags().StringVar(&file, "policy", p.env[varPolicy], "check the policy in `FILE`, of exec or of mcp (default: the user's policy of mcp, if there is one)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.doctor(cmd.Context(), file) }
	return cmd
}

func (p *program) doctor(ctx context.Context, policyFile string) error {
	p.idle = true // it waits for the one command that it tries
	data := doctorData{Levels: levels(sandbox.ProbeAll(), os.DirFS("/proc/sys")), Checks: p.checks(ctx, policyFile)}
	data.judge()
	status := data.status()
	if !p.json {
		return errors.Join(p.printDoctor(data), status)
	}
	if status == nil {
		return p.print(data)
	}
	p.printFailure(failureOf(data.failure(), ""), data)
	return status
}

// checks makes every check but those of the sandbox, in the order in which they are shown.
func (p *program) checks(ctx context.Context, policyFile string) []checkData {
	all := []checkData{
		check("version", fmt.Sprintf("durward %s (%s %s/%s)", p.version, runtime.Version(), runtime.GOOS, runtime.GOARCH), nil),
		p.checkPath(), p.checkBinary(), p.checkConfig(), p.checkState(), p.checkLog(ctx), p.checkCall(ctx),
	}
	all = append(all, p.checkPolicies(ctx, policyFile)...)
	return append(all, p.checkHub(), p.checkClients())
}

// judge gives everything its word.
func (d *doctorData) judge() {
	for i := range d.Levels {
		l := &d.Levels[i]
		switch {
		case l.Available:
			l.Result = resultOK
		case l.Level == 0:
			l.Result = resultFail
		default:
			l.Result = resultWarn
		}
		for j := range l.Trials { // one of several is enough
			l.Trials[j].Result = resultOK
			if !l.Trials[j].OK {
				l.Trials[j].Result = resultWarn
			}
		}
	}
	for i := range d.Checks {
		d.Checks[i].judge()
	}
}

func (c *checkData) judge() {
	switch {
	case !c.OK:
		c.Result = resultFail
	case c.Warning:
		c.Result = resultWarn
	default:
		c.Result = resultOK
	}
	for i := range c.Parts {
		c.Parts[i].judge()
	}
}

// failure is the first thing that is amiss, the gravest first.
func (d doctorData) failure() error {
	if !d.Levels[0].Available {
		return &durward.Error{
			Reason: durward.SandboxUnavailable, Hint: "see the fix of each trial", Err: errors.New("no containment works on this machine"),
		}
	}
	for _, c := range d.Checks {
		if !c.OK {
			return c.err
		}
	}
	return nil
}

func (d doctorData) status() error {
	const unavailable, invalidPolicy = 9, 3
	switch err := d.failure(); {
	case err == nil:
		return nil
	case statusOf(err) == invalidPolicy:
		return exitStatus(invalidPolicy)
	}
	return exitStatus(unavailable)
}

func check(name, gives string, err error) checkData {
	c := checkData{Name: name, OK: err == nil, Gives: gives, err: err}
	if err == nil {
		return c
	}
	f := failureOf(err, "")
	c.Gives, c.Error, c.Fix = "", f.Why, f.Fix
	if c.Error == "" {
		c.Error = f.Message
	}
	return c
}

// warned is a check that went well, with something worth a look.
func warned(name, gives, fix string) checkData {
	return checkData{Name: name, OK: true, Warning: true, Gives: safetext.Line(gives), Fix: safetext.Line(fix)}
}

// together is a check that is as well as the worst of its parts, none of which failed.
func together(name, gives string, parts []checkData) checkData {
	c := check(name, safetext.Line(gives), nil)
	c.Parts = parts
	worth := 0
	for _, part := range parts {
		if part.Warning {
			worth++
		}
	}
	if worth > 0 {
		c.Warning, c.Fix = true, fmt.Sprintf("see %s below", plural(worth, "warning"))
	}
	return c
}

// firstMistake names a mistake in a document by its place.
func firstMistake(c checkData) checkData {
	if len(config.ProblemsOf(c.err)) == 0 {
		return c
	}
	c.Error = details(c.err)[0]
	if more := len(details(c.err)) - 1; more > 0 {
		c.Error += fmt.Sprintf(" (and %d more)", more)
	}
	return c
}

// printDoctor prints what was tried, a line each, with what to change below.
func (p *program) printDoctor(data doctorData) error {
	rows := [][]string{{"CHECK", "RESULT", "DETAIL"}}
	for _, l := range data.Levels {
		rows = append(rows, []string{fmt.Sprintf("level %d", l.Level), string(l.Result), l.Detail})
		for _, c := range l.Trials {
			rows = append(rows, c.rows("  ")...)
		}
	}
	for _, c := range data.Checks {
		rows = append(rows, c.rows("")...)
	}
	return p.table(rows)
}

// rows are the lines of a check: what came of it, its fix, and its parts.
func (c checkData) rows(indent string) [][]string {
	detail := c.Gives
	if !c.OK {
		detail = c.Error
	}
	rows := [][]string{{indent + c.Name, string(c.Result), detail}}
	if c.Result == resultFail || c.Result == resultWarn && len(c.Parts) == 0 {
		rows = append(rows, []string{indent + "  fix", "", c.Fix})
	}
	for _, part := range c.Parts {
		rows = append(rows, part.rows(indent+"  ")...)
	}
	return rows
}
