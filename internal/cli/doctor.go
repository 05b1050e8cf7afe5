package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/mcppolicy"
	"github.com/durward/durward/internal/policy"
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
	Gives string `json:"gives,omitempty"`
	Error string `json:"error,omitempty"`
	Fix   string `json:"fix,omitempty"`
	err   error
}

func (p *program) doctorCommand() *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use: "doctor", Short: "find out by trying what this machine can hold", Args: atMost(0),
		Long: `Tries each level of the sandbox, a call, and the log. Where there is a policy of durward mcp it starts
that server and talks with it, too. Exits with 0 when commands can be run and recorded here, with 3 for an invalid
policy, with 9 otherwise.`,
		Example: "  durward doctor\n  durward doctor --json",
	}
	cmd.Flags().StringVar(&file, "policy", p.env[varPolicy], "check the policy in `FILE`, of exec or of mcp (default: the user's policy of mcp, if there is one)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.doctor(cmd.Context(), file) }
	return cmd
}

func (p *program) doctor(ctx context.Context, policyFile string) error {
	p.idle = true // it waits for the one command that it tries
	data := doctorData{
		Levels: levels(sandbox.ProbeAll(), os.DirFS("/proc/sys")),
		Checks: []checkData{p.checkConfig(), p.checkState(), p.checkLog(ctx), p.checkCall(ctx)},
	}
	data.Checks = append(data.Checks, p.checkPolicies(ctx, policyFile)...)
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

// checkState finds out whether a record could be written.
func (p *program) checkState() checkData {
	dir, err := p.auditDir()
	if err == nil {
		err = audit.Private(filepath.Dir(dir))
	}
	if err == nil {
		err = writable(dir)
	}
	return check("state", safetext.Line(dir), err)
}

// writable makes a file in dir, or in the nearest folder above it that exists, and
// removes it.
func writable(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, os.ErrNotExist) && filepath.Dir(dir) != dir {
		return writable(filepath.Dir(dir))
	}
	fix := "make it a folder that you can write, or name another one with " + varStateDir
	if err == nil && filepath.Base(dir) == "audit" && info.Mode().Perm()&0o077 != 0 {
		err, fix = fmt.Errorf("%s is open to others (mode %04o)", dir, info.Mode().Perm()), "chmod 700 "+dir
	}
	var f *os.File
	if err == nil {
		f, err = os.CreateTemp(dir, ".durward-doctor-")
	}
	if err == nil {
		_, full := f.Write([]byte{'\n'})
		err = errors.Join(full, f.Close(), os.Remove(f.Name()))
	}
	if err == nil {
		return nil
	}
	return &durward.Error{Kind: durward.Unavailable, Reason: durward.AuditUnavailable, Hint: fix, Err: err}
}

// checkLog proves what has been recorded so far.
func (p *program) checkLog(ctx context.Context) checkData {
	dir, err := p.auditDir()
	if err != nil {
		return check("audit", "", err)
	}
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return check("audit", "nothing recorded yet", nil)
	}
	summary, err := audit.Verify(ctx, dir)
	var records uint64
	for _, c := range summary.Chains {
		records += c.Records
	}
	gives := fmt.Sprintf("%s proved in %s", plural(int(records), "record"), plural(len(summary.Chains), "chain"))
	return check("audit", gives, withHint(err, "see all of it with durward audit verify"))
}

// checkCall takes a call that does nothing down the road of exec, but for the record.
func (p *program) checkCall(ctx context.Context) checkData {
	const harmless = "true"
	err := p.try(ctx, harmless)
	if durward.ReasonOf(err) == durward.ProgramNotFound {
		return check("exec", "a command would be run; there is no "+harmless+" here to try", nil)
	}
	return check("exec", "a command was run", err)
}

func (p *program) try(ctx context.Context, program string) error {
	dir, err := p.dir()
	if err != nil {
		return noDir(err)
	}
	builtIn, err := policy.Default(p.host(dir), policy.Flags{})
	if err != nil {
		return p.blameHome(err)
	}
	h, err := p.build(builtIn, trialRecorder{})
	if err != nil {
		return err
	}
	_, err = h.Do(ctx, durward.Call{
		Door: "doctor", Caller: p.caller(), Tool: commandTool, Argv: []string{program}, Path: program, Dir: dir,
	})
	return errors.Join(err, h.close())
}

// A trialRecorder keeps no record of a call that only tries the machine.
type trialRecorder struct{}

func (trialRecorder) Deny(durward.Call, durward.Decision) error   { return nil }
func (trialRecorder) Intent(durward.Call, durward.Decision) error { return nil }
func (trialRecorder) Refused(durward.Call, durward.Decision, durward.Contact) error {
	return nil
}

func (trialRecorder) Outcome(durward.Call, durward.Decision, durward.Result, error) error {
	return nil
}

// checkConfig reads the configuration as exec does.
func (p *program) checkConfig() checkData {
	_, read, err := p.settings()
	gives := "built-in; there is no file"
	if len(read) > 0 {
		gives = safetext.Line(strings.Join(read, ", "))
	}
	if why := p.configured.untrusted; why != nil && err == nil {
		return warned("config", gives+"; "+why.Error(), "read it, and then durward trust add "+projectConfig)
	}
	return firstMistake(check("config", gives, err))
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

// result is OK, WARN or FAIL.
func (c checkData) result() string {
	switch {
	case !c.OK:
		return "FAIL"
	case c.Warning:
		return "WARN"
	}
	return "OK"
}

// checkPolicies checks the policy that was named, or the user's own of durward mcp.
func (p *program) checkPolicies(ctx context.Context, named string) []checkData {
	file := named
	if file == "" {
		own, err := p.policyPath("")
		if _, missing := os.Stat(own); err != nil || missing != nil {
			return nil
		}
		return p.checkMCP(ctx, own)
	}
	if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() { // what comes by a pipe comes once
		if text, _, err := readMCPPolicy(file); err == nil && mcppolicy.Is(text) {
			return p.checkMCP(ctx, file)
		}
	}
	return []checkData{p.checkPolicy(file)} // says what cannot be read, too
}

func (p *program) checkPolicy(file string) checkData {
	dir, err := p.dir()
	var loaded *policy.Policy
	if err == nil {
		loaded, err = p.loadPolicy(file, dir, 0)
	}
	c := check("policy", file, err)
	if err == nil {
		c.Gives = file + " " + loaded.Hash()
	}
	return firstMistake(c)
}

// printDoctor prints what was tried, a line each, with what to change below.
func (p *program) printDoctor(data doctorData) error {
	rows := [][]string{{"CHECK", "RESULT", "DETAIL"}}
	add := func(indent string, c checkData) {
		result, detail := "ok", c.Gives
		if !c.OK {
			result, detail = "no", c.Error
		}
		if indent == "" {
			result = c.result()
		}
		rows = append(rows, []string{indent + c.Name, result, detail})
		if c.Fix != "" && (!c.OK || c.Warning) {
			rows = append(rows, []string{indent, "fix", c.Fix})
		}
	}
	for _, l := range data.Levels {
		result := "no"
		if l.Available {
			result = "yes"
		}
		rows = append(rows, []string{fmt.Sprintf("level %d", l.Level), result, l.Detail})
		for _, c := range l.Trials {
			add("  ", c)
		}
	}
	for _, c := range data.Checks {
		add("", c)
	}
	return p.table(rows)
}
