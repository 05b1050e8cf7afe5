package cli

import (
	"cmp"
	"os"

	"github.com/spf13/cobra"
)

// policyFileName is what a policy is called in the folder of a configuration.
const policyFileName = "policy.yaml"

// policyFlag gives a command the flag that names its policy.
func policyFlag(cmd *cobra.Command) *string {
	cmd.Flags().SortFlags = false
	return cmd.Flags().String("policy", "", "the policy in `FILE` (default: "+varPolicy+", or policy.yaml of the user's configuration)")
}

// policyPath gives the policy that a command reads: the one that was named, by the flag or else by
// its variable, or the user's own, or the one that the configuration of mdmcpcfg has where there is
// no own.
func (p *program) policyPath(named string) (string, error) {
	if named = cmp.Or(named, p.env[varPolicy]); named != "" {
		return named, nil
	}
	own, other := join(p.userConfigDir(), policyFileName), p.otherPolicy()
	for _, file := range []string{own, other} {
		if _, err := os.Lstat(file); file != "" && err == nil {
			return file, nil
		}
	}
	if p.called == configurator && other != "" {
		own = other
	}
	if own == "" {
		return "", usageError("name a policy with --policy FILE", "no folder of a user's configuration is known")
	}
	return own, nil
}
