package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/durward/durward/internal/door/mcp"
	"github.com/durward/durward/internal/sandbox"
)

// An mcpServing is one `durward mcp`.
type mcpServing struct {
	*program
	file, level, names, profile string
	strict                      bool
}

func (p *program) mcpCommand() *cobra.Command {
	x := &mcpServing{program: p}
	cmd := &cobra.Command{
		Use:   "mcp --config FILE",
		Short: "serve files and commands under a policy, by the Model Context Protocol",
		Long: `Answers JSON-RPC on standard input and output: fs.read, fs.write and cmd.run, as methods of
their own and as tools of the Model Context Protocol. What may be read, written and run stands in
FILE (docs/policy.md). Nothing but answers goes to standard output. When the input ends, or on
SIGTERM, calls that run have five seconds to end.`,
		Example: `  durward mcp --config examples/policy.quickstart.yaml
  printf '{"jsonrpc":"2.0","id":1,"method":"ping"}\n' | durward mcp --config examples/policy.quickstart.yaml`,
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if x.file == "" {
				return usageError("name a policy: durward mcp --config FILE", "--config is missing")
			}
			return x.serve(cmd.Context(), x.stdin)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&x.file, "config", "", "serve what the policy in `FILE` allows (YAML)")
	f.StringVar(&x.level, "log-level", "", "tell this much on standard error: `LEVEL` is trace, debug, info, warn or error (default: the policy's)")
	f.StringVar(&x.names, "tool-names", "plain", "advertise the tools by `NAMES`: plain (fs_read) or dotted (fs.read)")
	f.StringVar(&x.profile, "profile", "", "serve what the profile `NAME` of the policy leaves")
	f.BoolVar(&x.strict, "strict", false, "refuse a policy that others may write")
	f.Bool("stdio", true, "talk on standard input and output (there is no other way)")
	return cmd
}

// serve answers what comes in until that ends or a signal comes.
func (x *mcpServing) serve(ctx context.Context, in io.Reader) error {
	if x.names != "plain" && x.names != "dotted" {
		return usageError("use plain or dotted", "--tool-names: there are no names %q", x.names)
	}
	policy, err := x.loadMCPPolicy(x.file, x.strict)
	if err != nil {
		return err
	}
	x.noteWarnings(policy)
	if x.profile != "" {
		if policy, err = policy.Narrow(x.profile); err != nil {
			return err
		}
	}
	logger, err := x.mcpLogger(policy)
	if err != nil {
		return err
	}
	h, err := x.openMCP(policy, logger)
	if err != nil {
		return err
	}
	var probing sync.WaitGroup
	probing.Go(func() { sandbox.Probe() }) // kept by the engine; the first answer does not wait for it
	ctx, signals := catchSignals(ctx, os.Interrupt, syscall.SIGTERM)
	defer signals.stop()
	surface := surfaceOf(policy, x.names == "dotted")
	err = mcp.Serve(ctx, mcp.Options{
		Runtime: h, Surface: func() mcp.Surface { return surface }, Version: x.version, Caller: x.caller(), Logger: logger,
	}, in, x.stdout)
	probing.Wait()
	return errors.Join(err, h.close())
}
