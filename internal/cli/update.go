package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/release"
	"github.com/durward/durward/internal/safetext"
)

func (p *program) updateCommand() *cobra.Command {
	x, rollback := &installing{program: p, updates: true}, false
	cmd := &cobra.Command{
		Use: "update", Short: "have a newer release take the place of durward", Args: atMost(0),
		Long: `Takes the newest release of the channel, verifies its signature, and has it take the place of this program in one
step. The former one is kept: --rollback goes back to it, and a second --rollback returns. An older release is
refused. Exits with 4 when the release cannot be verified, and nothing is changed then.`,
		Example: "  durward update --local-path releases --verify-key durward.pub --dest bin\n" +
			"  durward update --dry-run --channel stable --local-path releases --verify-key durward.pub --dest bin",
	}
	x.installFlags(cmd, "update the program in `DIR` (default: the one that runs)")
	cmd.Flags().BoolVar(&rollback, "rollback", false, "go back to the former program; twice returns")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		file, err := x.programToUpdate()
		if err != nil {
			return err
		}
		if rollback {
			if x.from.given(cmd.Flags()) {
				return usageError("leave the release out", "--rollback goes back to the program that is kept, and takes no release")
			}
			return interruptible(cmd.Context(), func(ctx context.Context) error { return x.goBack(ctx, file) })
		}
		return interruptible(cmd.Context(), func(ctx context.Context) error { return x.update(ctx, file) })
	}
	return cmd
}

// programToUpdate is the file of the program that runs, or of the one in the folder that was
// named. Who runs the former program, because the one that took its place does not start, means
// that one.
func (x *installing) programToUpdate() (string, error) {
	if x.dest != "" {
		return x.programIn(x.dest), nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", usageError("name its folder with --dest DIR", "nobody knows where this program is: %w", err)
	}
	self, err = filepath.EvalSymlinks(self)
	return release.Installed(self), err
}

func (x *installing) update(ctx context.Context, file string) error {
	data, err := x.bring(ctx, file)
	if err != nil {
		return err
	}
	if x.json {
		return x.print(data)
	}
	line := fmt.Sprintf("updated %s from %s to %s; durward update --rollback goes back", data.Program, data.Former, data.Version)
	switch {
	case !data.Changed:
		line = fmt.Sprintf("%s is %s already, the newest of channel %s; nothing changed", data.Program, data.Version, data.Release.Channel)
	case x.dryRun:
		line = fmt.Sprintf("would update %s from %s to %s", data.Program, data.Former, data.Version)
	}
	_, err = fmt.Fprintln(x.stdout, safetext.Line(line))
	return err
}

// goBack has the program and the one it replaced change places.
func (x *installing) goBack(ctx context.Context, file string) error {
	file, err := x.replaceable(file)
	if err != nil {
		return err
	}
	place, err := release.Open(file)
	if err != nil {
		return err
	}
	data, err := x.rollback(ctx, place)
	if err = errors.Join(err, place.Close()); err != nil {
		return err
	}
	if x.json {
		return x.print(data)
	}
	line := fmt.Sprintf("%s is %s again; durward update --rollback returns", data.Program, data.Version)
	if data.Former != "" {
		line += " to " + data.Former
	}
	if x.dryRun {
		line = fmt.Sprintf("would go back from %s to %s in %s", data.Former, data.Version, data.Program)
	}
	_, err = fmt.Fprintln(x.stdout, safetext.Line(line))
	return err
}

func (x *installing) rollback(ctx context.Context, place *release.Place) (installData, error) {
	data := installData{DryRun: x.dryRun, Program: place.Path, Changed: true, Previous: place.Previous()}
	data.Former = x.installedVersion(ctx, place.Path)
	err := place.Rollback(func(former string) (err error) {
		if err := x.stillKept(former); err != nil {
			return err
		}
		if data.Version, err = versionOf(ctx, former); err != nil {
			return err
		}
		if x.dryRun {
			return errRehearsed
		}
		return nil
	})
	if errors.Is(err, errRehearsed) {
		err = nil
	}
	return data, err
}

// stillKept refuses a former program that others could have written: it need not be the one that
// was kept, and is not started.
func (p *program) stillKept(former string) error {
	info, err := os.Lstat(former)
	if err == nil {
		err = p.untrusted(former, info)
	}
	if err == nil {
		return nil
	}
	e := &durward.Error{
		Reason: durward.NothingKept, Op: "roll back", Err: fmt.Errorf("%s may be another than was kept: %w", former, err),
		Hint: "nothing was changed; take a release that can be verified, with durward install --force",
	}
	if trust := (*trustError)(nil); errors.As(err, &trust) {
		e.Err = fmt.Errorf("%s may be another than was kept: %s", former, trust.why)
	}
	return e
}

// errRehearsed ends what was only to be tried.
var errRehearsed = errors.New("a rehearsal")
