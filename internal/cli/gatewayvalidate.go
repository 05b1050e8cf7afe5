package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/domain"
	"github.com/durward/durward/internal/safetext"
	"github.com/durward/durward/internal/source/manifest"
)

// domainFlags gives a command the flags that name a domain package. Each has a variable, which
// it wins over.
func (p *program) domainFlags(cmd *cobra.Command) *manifest.Options {
	o := manifest.Variables(p.env)
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.ID, "domain", o.ID, "the domain `ID` that the manifest must have, and the folder domain/ID (DOMAIN_ID; default: "+manifest.DefaultID+")")
	f.StringVar(&o.Manifest, "manifest", o.Manifest, "the manifest in `FILE` (DOMAIN_MANIFEST_PATH; default: domain/ID/manifest.yaml)")
	f.StringVar(&o.Policies, "policies", o.Policies, "the policies in `FILE` (DOMAIN_POLICIES_PATH; default: domain/ID/policies.yaml)")
	for _, name := range []string{"domain", "manifest", "policies"} {
		f.Lookup(name).DefValue = "" // the help says it, whatever the variables are
	}
	return &o
}

func (p *program) gatewayValidateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "validate", Short: "check a domain package, and start nothing",
		Long: "Reads the manifest, the policies and all schemas as the gateway does, and names every mistake in them, one a line:\n" +
			"FILE:LINE: FIELD: what is wrong. The exit status is 1 if there are any.",
		Example: "  durward gateway validate --domain example_domain\n  durward gateway validate --manifest my/manifest.yaml --policies my/policies.yaml --json",
		Args:    exactly(0),
	}
	o := p.domainFlags(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		d, err := manifest.Load(*o)
		if err != nil {
			return p.refuseDomain(err)
		}
		return p.approveDomain(*o, d)
	}
	return cmd
}

// A checkedDomain is what was found out about a domain package that has no mistakes.
type checkedDomain struct {
	DomainID string           `json:"domain_id"`
	Version  string           `json:"version"`
	Manifest string           `json:"manifest"`
	Policies string           `json:"policies"`
	Tools    []durward.ToolID `json:"tools"`
	Hash     string           `json:"hash"`
}

func (p *program) approveDomain(o manifest.Options, d *domain.Domain) error {
	file, policies := o.Paths()
	if !p.json {
		_, err := fmt.Fprintf(p.stdout, "%s: the domain %s %s has %s and no mistakes\n",
			safetext.Line(file), safetext.Line(d.ID), safetext.Line(d.Version), plural(len(d.Tools), "tool"))
		return err
	}
	data := checkedDomain{DomainID: d.ID, Version: d.Version, Manifest: file, Policies: policies, Tools: []durward.ToolID{}, Hash: d.Hash}
	for _, t := range d.Tools {
		data.Tools = append(data.Tools, t.ID)
	}
	return p.print(data)
}

// A domainMistake is one line of what is wrong, taken apart.
type domainMistake struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
}

type domainMistakes struct {
	Problems []domainMistake `json:"problems"`
}

// refuseDomain names every mistake.
func (p *program) refuseDomain(err error) error {
	if !p.json {
		return err
	}
	data := domainMistakes{Problems: []domainMistake{}}
	for _, one := range config.ProblemsOf(err) {
		data.Problems = append(data.Problems, domainMistake{safetext.Line(one.Where.File), one.Where.Line, safetext.Line(one.Message)})
	}
	p.printFailure(failureOf(err, ""), data)
	return exitStatus(cmp.Or(statusOf(err), 1))
}
