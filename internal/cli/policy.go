package cli

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/durward/durward/internal/mcppolicy"
	"github.com/durward/durward/internal/safetext"
)

func (p *program) policyCommand() *cobra.Command {
	return group(&cobra.Command{
		Use: "policy", Short: "check, show and change what MCP clients may do",
		Example: "  durward policy validate\n  durward policy show",
	}, p.validateCommand(), p.showPolicyCommand(), p.schemaCommand(), p.explainPolicyCommand(), p.editPolicyCommand(), p.addRootCommand(), p.removeRootCommand())
}

type validateData struct {
	File     string   `json:"file"`
	Hash     string   `json:"policy_hash"`
	Warnings []string `json:"warnings"`
}

func (p *program) validateCommand() *cobra.Command {
	other := ""
	cmd := &cobra.Command{
		Use: "validate", Short: "name every mistake in a policy", Args: exactly(0),
		Long:    "A mistake is told as file:line:column on standard error, and the exit status is 3 then.",
		Example: "  durward policy validate\n  durward policy validate --policy examples/policy.quickstart.yaml",
	}
	file := policyFlag(cmd)
	cmd.Flags().StringVar(&other, "file", "", "the same as --policy `FILE`")
	cmd.RunE = func(*cobra.Command, []string) error {
		if *file != "" && other != "" {
			return usageError("leave one of them out", "--policy and --file are the same")
		}
		return p.validate(*file + other)
	}
	return cmd
}

func (p *program) validate(named string) error {
	policy, err := p.policyOf(named)
	if err != nil {
		return err
	}
	view := policy.View()
	if p.json {
		return p.print(validateData{view.File, view.Hash, view.Warnings})
	}
	p.noteWarnings(policy)
	_, err = fmt.Fprintf(p.stdout, "%s is valid; its hash is %s\n", safetext.Line(view.File), view.Hash)
	return err
}

// policyOf loads the policy that was named, or the user's.
func (p *program) policyOf(named string) (*mcppolicy.Policy, error) {
	file, err := p.policyPath(named)
	if err != nil {
		return nil, err
	}
	return p.loadMCPPolicy(file, false)
}

func (p *program) noteWarnings(policy *mcppolicy.Policy) {
	for _, w := range policy.Warnings {
		p.note("warning: %s", safetext.Line(w.Error()))
	}
}

func (p *program) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "print the JSON Schema of a policy", Args: exactly(0),
		Long:    "The schema is what editors complete and check a policy by. It is the same with --json.",
		Example: "  durward policy schema\n  durward policy schema > policy.schema.json",
		RunE: func(*cobra.Command, []string) error {
			var text bytes.Buffer
			if err := json.Indent(&text, mcppolicy.Schema(), "", "  "); err != nil {
				return err
			}
			_, err := p.stdout.Write(text.Bytes())
			return err
		},
	}
}
