package cli

import "github.com/spf13/cobra"

// Commands gives all commands as a tree, for what is written about them. The tree knows no
// variables and is not to be run.
func Commands() *cobra.Command { return (&program{env: map[string]string{}}).root() }
