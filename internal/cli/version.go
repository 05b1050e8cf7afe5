package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

type versionData struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "print the version", Args: atMost(0),
		Example: "  durward version\n  durward version --json",
		RunE:    func(*cobra.Command, []string) error { return p.printVersion() },
	}
}

func (p *program) printVersion() error {
	if p.json {
		return p.print(versionData{p.version, runtime.Version(), runtime.GOOS, runtime.GOARCH})
	}
	_, err := fmt.Fprintf(p.stdout, "durward %s (%s %s/%s)\n", p.version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

func (p *program) completionCommand() *cobra.Command {
	shells := map[string]func(*cobra.Command) error{
		"bash":       func(c *cobra.Command) error { return c.GenBashCompletionV2(p.stdout, true) },
		"fish":       func(c *cobra.Command) error { return c.GenFishCompletion(p.stdout, true) },
		"powershell": func(c *cobra.Command) error { return c.GenPowerShellCompletionWithDesc(p.stdout) },
		"zsh":        func(c *cobra.Command) error { return c.GenZshCompletion(p.stdout) },
	}
	return &cobra.Command{
		Use: "completion SHELL", Short: "print completions for bash, fish, powershell or zsh", Args: exactly(1),
		ValidArgs: []string{"bash", "fish", "powershell", "zsh"},
		Example:   "  durward completion bash > durward.bash\n  durward completion zsh > _durward",
		RunE: func(_ *cobra.Command, args []string) error {
			generate, ok := shells[args[0]]
			if !ok {
				return usageError("use bash, fish, powershell or zsh", "there is no completion for %q", args[0])
			}
			return generate(Commands())
		},
	}
}
