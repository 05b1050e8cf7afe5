package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
)

func (p *program) runCommand() *cobra.Command {
	x := &mcpServing{program: p, names: "plain", patient: true}
	cmd := &cobra.Command{
		Use:   "run [--policy FILE] -- REQUESTS",
		Short: "send each line of a file to a fresh durward mcp, and print the answers",
		Long: `REQUESTS holds a JSON-RPC message on each line, as a client of durward mcp would send it. The calls
are real: they are decided, run and recorded. With --json each answer stands in an envelope, on a line of its own.`,
		Example: `  durward run -- requests.jsonl
  durward run --policy examples/policy.quickstart.yaml -- requests.jsonl`,
		Args: exactly(1),
	}
	file := policyFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path, err := p.policyPath(*file)
		if err != nil {
			return err
		}
		requests, err := openRequests(args[0])
		if err != nil {
			return &durward.Error{Reason: durward.BadUsage, Op: "run", Hint: "name a file that can be read", Err: err}
		}
		defer requests.Close()
		x.file = path
		return x.serve(cmd.Context(), requests)
	}
	return cmd
}

func openRequests(name string) (*os.File, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a directory", name)
	}
	return os.Open(name)
}

// enveloping puts each line that is written into an envelope of its own.
type enveloping struct {
	*program
	line []byte // what is there of the next one
}

func (e *enveloping) Write(p []byte) (int, error) {
	e.line = append(e.line, p...)
	for {
		line, rest, whole := bytes.Cut(e.line, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		if err := e.print(json.RawMessage(line)); err != nil {
			return 0, err
		}
		e.line = rest
	}
}
