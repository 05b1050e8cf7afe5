package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/durward/durward/internal/door/mcp"
	"github.com/durward/durward/internal/mcppolicy"
	"github.com/durward/durward/internal/sandbox"
)

// An mcpServing is one `durward mcp`.
type mcpServing struct {
	*program
	file, folder              string // a policy, or a folder to serve without one
	level, names, profile     string
	strict, reload, resources bool
	patient                   bool // with who sends more than can be taken
	trial                     bool // everything is answered but calls, and nothing is on record
}

func (p *program) mcpCommand() *cobra.Command {
	x := &mcpServing{program: p}
	stdio := true
	cmd := &cobra.Command{
		Use:   "mcp (--config FILE | --files DIR)",
		Short: "serve files and commands under a policy, by the Model Context Protocol",
		Long: `Answers JSON-RPC on standard input and output: fs.read, fs.write and cmd.run, as methods of
their own and as tools of the Model Context Protocol. What may be read, written and run stands in
FILE; durward policy schema says how. Nothing but answers goes to standard output. When the input ends, or on
SIGTERM, calls that run have five seconds to end. --files serves one folder in which all may be read and written,
and where nothing is run. With --reload the policy is read anew on SIGHUP;
calls in flight keep the one they began under.`,
		Example: `  durward mcp --config examples/policy.quickstart.yaml
  durward mcp --files docs
  printf '{"jsonrpc":"2.0","id":1,"method":"ping"}\n' | durward mcp --config examples/policy.quickstart.yaml`,
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := x.checkFlags(); err != nil {
				return err
			}
			if !stdio {
				return usageError("leave --stdio out", "--stdio=false: there is no other way to talk than standard input and output")
			}
			return x.serve(cmd.Context(), x.stdin)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&x.file, "config", "", "serve what the policy in `FILE` allows (YAML)")
	f.StringVar(&x.folder, "files", "", "serve the folder `DIR` without a policy: list_directory, read_file and write_file")
	f.StringVar(&x.level, "log-level", "", "tell this much on standard error: `LEVEL` is trace, debug, info, warn or error (default: the policy's)")
	f.StringVar(&x.names, "tool-names", "plain", "advertise the tools by `NAMES`: plain (fs_read) or dotted (fs.read)")
	f.StringVar(&x.profile, "profile", "", "serve what the profile `NAME` of the policy leaves")
	f.BoolVar(&x.strict, "strict", false, "refuse a policy that others may write")
	f.BoolVar(&x.reload, "reload", false, "read the policy anew on SIGHUP; one with a mistake changes nothing")
	f.BoolVar(&x.resources, "resources", false, "offer the list of commands and a summary of the policy to be read")
	f.BoolVar(&x.trial, "trial", false, "carry out no call and keep no record")
	_ = f.MarkHidden("trial") // for doctor
	f.BoolVar(&stdio, "stdio", true, "talk on standard input and output (there is no other way)")
	return cmd
}

// serve answers what comes in until that ends or a signal comes.
func (x *mcpServing) serve(ctx context.Context, in io.Reader) error {
	if x.names != "plain" && x.names != "dotted" {
		return usageError("use plain or dotted", "--tool-names: there are no names %q", x.names)
	}
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGHUP) // does not end us in any case
	defer signal.Stop(again)
	x.stderr.unhurry()
	policy, err := x.load()
	if err != nil {
		return err
	}
	x.noteWarnings(policy)
	logger, err := x.mcpLogger(policy)
	if err != nil {
		return err
	}
	served, err := x.openServed(policy, logger)
	if err != nil {
		return err
	}
	var probing sync.WaitGroup
	probing.Go(func() { sandbox.Probe() }) // kept by the engine; the first answer does not wait for it
	ctx, signals := catchSignals(ctx, os.Interrupt, syscall.SIGTERM)
	defer signals.stop()
	unfollow := func() {}
	if x.reload {
		unfollow = served.follow(again)
	}
	err = mcp.Serve(ctx, mcp.Options{
		Surface: served.surface, Enter: served.enter, Changed: served.changed, Version: x.version, Caller: x.caller(), Logger: logger,
		Patient: x.patient,
	}, in, x.answers())
	unfollow()
	probing.Wait()
	if errors.Is(err, mcp.ErrStuck) {
		return err // who closes what it uses would wait for it
	}
	err = errors.Join(err, served.close())
	if err == nil && x.patient && ctx.Err() != nil { // to a server a signal is an end like any other
		return exitStatus(signals.status())
	}
	return err
}

// answers is where they go: with --json each of a file of requests gets into an envelope.
func (x *mcpServing) answers() io.Writer {
	if x.patient && x.json {
		return &enveloping{program: x.program}
	}
	return x.stdout
}

func (x *mcpServing) checkFlags() error {
	switch {
	case x.file == "" && x.folder == "":
		return usageError("name a policy: durward mcp --config FILE", "--config is missing")
	case x.folder != "" && (x.file != "" || x.profile != "" || x.reload):
		return usageError("leave one of them out", "--files takes no policy")
	}
	return nil
}

// source names what is served in records.
func (x *mcpServing) source() string {
	if x.folder != "" {
		return "--files " + x.folder
	}
	return x.file
}

// load reads the policy as the flags want it.
func (x *mcpServing) load() (*mcppolicy.Policy, error) {
	if x.folder != "" {
		return x.folderPolicy()
	}
	policy, err := x.loadMCPPolicy(x.file, x.strict)
	if err != nil || x.profile == "" {
		return policy, err
	}
	return policy.Narrow(x.profile)
}
