package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/credential"
	"github.com/durward/durward/internal/engine/mcpclient"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/safetext"
	"github.com/durward/durward/internal/sandbox"
	"github.com/durward/durward/internal/source/mcpservers"
)

// A serverTrial is what became of a server that was started to be looked at.
type serverTrial struct {
	hubconfig.Server
	mcpclient.Status
	tools  []mcpservers.Tool
	stderr []byte
	took   time.Duration
}

// try starts servers as the hub does, at once, lets somebody look at what they are, and ends
// them. Nothing of them is left, also where a signal ends it.
func (e *hubEstate) try(ctx context.Context, servers []hubconfig.Server, look func([]serverTrial) error) (err error) {
	ctx, signals := catchSignals(ctx, endings...)
	defer signals.stop()
	engine, err := mcpclient.New(mcpclient.Options{Servers: servers, SandboxDir: e.settings.sandbox, Environ: e.env, Version: e.version})
	if err != nil {
		return err
	}
	done := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-signals.second:
			engine.Kill()
		case <-done:
		}
	}()
	sandbox.Probe() // its time is none of a server's
	began := time.Now()
	engine.Start(ctx)
	if ctx.Err() == nil {
		err = look(trialsOf(servers, engine, time.Since(began)))
	}
	err = errors.Join(err, engine.Close())
	close(done)
	<-watched
	e.idle = true
	if ctx.Err() != nil {
		return exitStatus(signals.status())
	}
	return err
}

func trialsOf(servers []hubconfig.Server, engine *mcpclient.Engine, took time.Duration) []serverTrial {
	var trials []serverTrial
	for i, status := range engine.Servers() {
		t := serverTrial{Server: servers[i], Status: status, stderr: engine.Stderr(status.Name), took: took}
		for _, tool := range engine.Tools(status.Name) {
			t.tools = append(t.tools, mcpservers.Tool(tool))
		}
		trials = append(trials, t)
	}
	return trials
}

// runs reports whether the server came so far as to tell its tools.
func (t *serverTrial) runs() bool { return t.State == mcpclient.Running }

// failed says why it did not.
func (e *hubEstate) failed(t *serverTrial) error {
	hint := "mend its entry in " + e.settings.file + ", and try again"
	if t.Broken != "" {
		hint = "set what is missing, or write a default there: ${NAME:-default}"
	}
	return &durward.Error{
		Reason: durward.ServerFailed, Op: "start the server", Hint: hint,
		Err: fmt.Errorf("%s: %s%s", t.Server.Name, e.commandOf(t.Server), e.hide(t.Server, t.LastError)),
	}
}

// commandOf gives the command as it is started, and a colon; for a server that is asked over HTTP
// its URL.
func (e *hubEstate) commandOf(s hubconfig.Server) string {
	switch {
	case s.Remote != nil:
		return plainURL(s.Remote.URL) + ": "
	case s.Command == "":
		return ""
	}
	command := s.Command
	dir := s.Dir
	if dir == "" {
		dir = e.settings.sandbox
	}
	if program, err := sandbox.FindProgram(command, e.env["PATH"], dir); err == nil {
		command = program.Path
		_ = program.Close() // it was only read
	}
	return e.hide(s, commandLine(append([]string{command}, s.Args...))) + ": "
}

// hide takes secrets out of what is shown of a server.
func (e *hubEstate) hide(s hubconfig.Server, text string) string {
	headers := map[string]string{}
	if s.Remote != nil {
		headers = s.Remote.Headers
	}
	return credential.Redact(text, s.Env, headers, e.env)
}

// shownStderr is how many of the last lines of a server that failed are shown.
const shownStderr = 10

// lastLines gives the last lines that a server printed as errors, which the engine redacts.
func lastLines(t *serverTrial) []string {
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(t.stderr), "\ufffd")), "\n")
	lines = lines[max(len(lines)-shownStderr, 0):]
	for i, line := range lines {
		lines[i] = safetext.Line(strings.TrimSuffix(line, "\r"))
	}
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}

// tellFailed tells of a server that did not start, with the last that it said.
func (e *hubEstate) tellFailed(t *serverTrial) error {
	err := e.failed(t)
	f := failureOf(err, "")
	lines := lastLines(t)
	f.Details = append(f.Details, lines...)
	if e.json {
		e.printFailure(f, nil)
		return exitStatus(statusOf(err))
	}
	e.explain(f, "")
	for _, line := range lines {
		fmt.Fprintf(e.stderr, "  stderr: %s\n", line)
	}
	return exitStatus(statusOf(err))
}

// printWith prints what was found, also where some of it could not be.
func (e *hubEstate) printWith(data any, failed error) error {
	if failed == nil {
		return e.print(data)
	}
	e.printFailure(failureOf(failed, ""), data)
	return exitStatus(statusOf(failed))
}

type trialData struct {
	Server          string   `json:"server"`
	Command         string   `json:"command,omitempty"`
	Era             string   `json:"era"`
	ProtocolVersion string   `json:"protocol_version,omitempty"`
	Tools           []string `json:"tools"`
	TookMs          int64    `json:"took_ms"`
}

func (p *program) testServerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "test NAME", Short: "start one server, see what it offers, and end it", Args: exactly(1),
		Long: `Starts the server as the hub would, with the same environment and sandbox, also one that is disabled. Exits with 8
when it does not come so far as to tell its tools; what it printed last is shown then. Nothing of it is left running.`,
		Example: "  durward server test filesystem --sandbox-dir .\n  durward server test filesystem --sandbox-dir . --json",
	}
	x := p.hubFlags(cmd)
	x.sandboxFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return x.testServer(cmd.Context(), args[0]) }
	return cmd
}

func (x *hubServing) testServer(ctx context.Context, name string) error {
	e, err := x.estate(true)
	if err != nil {
		return err
	}
	servers, err := e.startable(name)
	if err != nil {
		return err
	}
	return e.try(ctx, servers, func(trials []serverTrial) error {
		if !trials[0].runs() {
			return e.tellFailed(&trials[0])
		}
		return e.printTrial(&trials[0])
	})
}

func (e *hubEstate) printTrial(t *serverTrial) error {
	data := trialData{
		Server: t.Server.Name, Command: strings.TrimSuffix(e.commandOf(t.Server), ": "), Era: t.Era, ProtocolVersion: t.ProtocolVersion,
		Tools: []string{}, TookMs: t.took.Milliseconds(),
	}
	for _, tool := range t.tools {
		data.Tools = append(data.Tools, tool.Name)
	}
	if e.json {
		return e.print(data)
	}
	rows := [][]string{
		{"WHAT", "VALUE"},
		{"server", data.Server},
		{"command", data.Command},
		{"era", data.Era},
		{"protocol", data.ProtocolVersion},
		{"took", fmt.Sprintf("%d ms", data.TookMs)},
		{"tools", fmt.Sprint(len(data.Tools))},
	}
	for _, name := range data.Tools {
		rows = append(rows, []string{"tool", name})
	}
	return e.table(rows)
}
