package cli

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/door/mcp"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/mcppolicy"
)

// An explaining is one `durward policy explain`.
type explaining struct {
	*program
	file, profile, tool, params string
}

func (p *program) explainPolicyCommand() *cobra.Command {
	x := &explaining{program: p}
	cmd := &cobra.Command{
		Use: "explain --tool TOOL --params JSON", Short: "say what a policy would make of a call, and run nothing", Args: exactly(0),
		Long: `Takes the call down the road that durward mcp would take it, by the same code, and stops before its
first effect. It prints the decision with its rule and the rule's place, what a client would be told, each step in
its order, and for a command the grant, what would be held, and the plan. Where paths lead is shown, also outside of
the roots. That somebody asked is put on record, under the trace that is printed. The exit status is 0
where the call would run, 4 where the policy denies it, and else that of the error, as 2 for a call that is none.`,
		Example: `  durward policy explain --policy examples/policy.quickstart.yaml --tool fs.read --params '{"path":"examples/policy.quickstart.yaml"}'
  durward policy explain --policy examples/policy.quickstart.yaml --tool cmd.run --params '{"commandId":"ls","args":["-l"]}'`,
	}
	file := policyFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&x.profile, "profile", "", "decide by what the profile `NAME` of the policy leaves")
	f.StringVar(&x.tool, "tool", "", "the `TOOL` that is called: fs.read, fs.write or cmd.run")
	f.StringVar(&x.params, "params", "{}", "what it is called with: an object, as `JSON`")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		x.file = *file
		return x.run(cmd.Context())
	}
	return cmd
}

func (x *explaining) run(ctx context.Context) error {
	call, err := x.call()
	if err != nil {
		return err
	}
	path, err := x.policyPath(x.file)
	if err != nil {
		return err
	}
	policy, err := (&mcpServing{program: x.program, file: path, profile: x.profile}).load()
	if err != nil {
		return err
	}
	v, err := x.foresee(ctx, policy, call)
	if err != nil {
		return err
	}
	if v.refusal == nil {
		return x.printPreview(v)
	}
	f := failureOf(v.refusal, "")
	v.Decision.Remedy = f.Fix
	if x.json {
		x.printFailure(f, v.data())
		return exitStatus(statusOf(v.refusal))
	}
	err = x.printPreview(v)
	x.program.explain(f, x.tool)
	return errors.Join(err, exitStatus(statusOf(v.refusal)))
}

// call makes the call that is asked about.
func (x *explaining) call() (durward.Call, error) {
	input := json.RawMessage(strings.TrimSpace(x.params))
	limits := jsonx.Limits{Bytes: int64(len(input))}
	var members map[string]json.RawMessage
	if err := jsonx.Decode(input, &members, jsonx.Options{Limits: limits}); err != nil || members == nil {
		return durward.Call{}, usageError(`give an object like {"path":"README.md"}`, "--params is no JSON object")
	}
	call, ok := mcp.NewCall(x.tool, input)
	if !ok {
		return durward.Call{}, usageError("use fs.read, fs.write or cmd.run", "--tool: there is no tool %q", x.tool)
	}
	call.Caller = x.caller()
	return call, nil
}

// foresee takes the call as far as a call goes that is not run, and puts that on record.
func (x *explaining) foresee(ctx context.Context, policy *mcppolicy.Policy, call durward.Call) (preview, error) {
	log, err := x.openLog(nil, leaveOf(policy))
	if err != nil {
		return preview{}, err
	}
	engines := newMCPEngines(policy)
	v, seen, err := x.previewed(ctx, policy, engines, call)
	if err == nil {
		err = log.Explained(seen.Call, seen.Decision)
	}
	x.idle = true
	return v, errors.Join(err, engines.close(), log.Close())
}

// previewed shows what the core says of a call, with the places of the policy's rules.
func (x *explaining) previewed(
	ctx context.Context, policy *mcppolicy.Policy, engines mcpEngines, call durward.Call,
) (v preview, seen core.Preview, err error) {
	h, err := x.openMCP(policy, false, engines, noRecord{})
	if err != nil {
		return v, seen, err
	}
	seen, err = h.Preview(ctx, call)
	if err := errors.Join(err, h.close()); err != nil {
		return v, seen, err
	}
	tool, err := h.tools.Find(ctx, seen.Call.Tool)
	if err != nil {
		return v, seen, err
	}
	for i, s := range seen.Steps {
		if s.Where == (durward.Position{}) {
			seen.Steps[i].Where = policy.Locate(s.Rule)
		}
	}
	v = preview{
		Explanation: h.tools.Explain(seen.Call, tool), what: whatOf(seen.Call), program: programOf(policy, seen.Call.CommandID),
		refusal: seen.Refusal, plan: seen.Plan, trace: seen.Call.Trace.ID(),
	}
	v.settle(seen)
	if seen.Refusal != nil {
		v.answer = mcp.AnswerTo(seen.Refusal)
	}
	return v, seen, nil
}

// whatOf names a call as a command line would: "fs.read notes/a.txt", "cmd.run git status".
func whatOf(c durward.Call) string {
	words := []string{string(c.Tool)}
	if c.Path != "" {
		words = append(words, c.Path)
	}
	if c.Argv == nil && c.CommandID != "" {
		words = append(words, c.CommandID)
	}
	return commandLine(append(words, c.Argv...))
}

// programOf gives what a command was written to run; empty without such a command.
func programOf(policy *mcppolicy.Policy, id string) string {
	known, err := policy.Command(id)
	if err != nil {
		return ""
	}
	return known.Entry.Exec.Value
}
