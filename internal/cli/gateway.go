package cli

import "github.com/spf13/cobra"

func (p *program) gatewayCommand() *cobra.Command {
	return group(&cobra.Command{
		Use: "gateway", Short: "offer the tools of a domain package",
		Example: "  durward gateway validate\n  DOMAIN_ID=example_domain durward gateway validate --json",
	}, p.gatewayValidateCommand())
}
