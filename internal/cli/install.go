package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/release"
	"github.com/durward/durward/internal/safetext"
)

// An installing is one `durward install` or `durward update`.
type installing struct {
	*program
	from releaseChoice
	// dest is the folder of the program.
	dest          string
	force, dryRun bool
	// updates is set where a program has to be there, and is to become newer.
	updates bool
	// policy is the first one, if somebody named it.
	policy *string
	// noConnect is set where nobody wants to hear of clients.
	noConnect bool
}

type installData struct {
	DryRun bool `json:"dry_run"`
	// Program is the path of the program.
	Program string `json:"program"`
	Changed bool   `json:"changed"`
	Version string `json:"version"`
	// Former is the version that was there; absent where there was none, or none that tells.
	Former string `json:"former_version,omitempty"`
	// Previous is the path of the program that was replaced last, if one is kept.
	Previous string       `json:"previous,omitempty"`
	Release  *releaseData `json:"release,omitempty"`
	Policy   *madeData    `json:"policy,omitempty"`
	Links    []linkData   `json:"links,omitempty"`
}

// madeData is a file that is made where there is none.
type madeData struct {
	Path string `json:"path"`
	Made bool   `json:"made"`
}

func (p *program) installCommand() *cobra.Command {
	x := &installing{program: p}
	cmd := &cobra.Command{
		Use: "install", Short: "put a release of durward in its place", Args: atMost(0),
		Long: `Takes the newest release, verifies its signature, and puts the program into a folder of your own; one that is
there is kept beside it. Where there is no policy of durward mcp a first one is made; one that is there stays as
it is. No configuration of a client is touched: that is what durward connect is for. Exits with 4 when the release
cannot be verified, and nothing is changed then.`,
		Example: "  durward install --local-path releases --verify-key durward.pub --dest bin\n" +
			"  durward install --dry-run --local-path releases --verify-key durward.pub",
		RunE: func(cmd *cobra.Command, _ []string) error { return interruptible(cmd.Context(), x.install) },
	}
	x.policy = policyFlag(cmd)
	x.installFlags(cmd, "put the program into `DIR` (default: bin in the user's own data folder)")
	cmd.Flags().BoolVar(&x.noConnect, "no-claude-config", false, "say nothing of how to connect a client (none is connected in either case)")
	return cmd
}

// installFlags gives a command the flags that install and update share.
func (x *installing) installFlags(cmd *cobra.Command, dest string) {
	f := cmd.Flags()
	f.SortFlags = false
	x.from.flags(f)
	f.StringVar(&x.dest, "dest", "", dest)
	f.BoolVar(&x.force, "force", false, "replace the program by the same release, or an older one, too")
	f.BoolVar(&x.dryRun, "dry-run", false, "fetch and verify the release, say what would change and change nothing")
	f.BoolP("yes", "y", false, "agree to all questions (there are none)")
}

func (x *installing) install(ctx context.Context) error {
	file := join(x.dataDir(), "bin", programFile())
	if x.dest != "" {
		file = x.programIn(x.dest)
	}
	if file == "" {
		return usageError("name a folder with --dest DIR", "no folder of a user's data is known")
	}
	policy := x.firstPolicy(*x.policy)
	data, err := x.bring(ctx, file)
	if err != nil {
		return err
	}
	if policy.Path != "" {
		data.Policy = &policy.madeData
	}
	if x.called == configurator {
		data.Links = seedLinks(data.Program)
	}
	if !x.dryRun {
		err = errors.Join(policy.make(), makeLinks(data.Links))
	}
	if err != nil {
		return afterwards(data, err)
	}
	return x.tellInstall(data)
}

// afterwards says of an error that the program is installed all the same.
func afterwards(data installData, err error) error {
	return &durward.Error{
		Reason: durward.ReasonOf(linkError(err)), Op: "install", Err: fmt.Errorf("the program is in %s, but then: %w", data.Program, err),
		Hint: "mend that and run it again",
	}
}

// bring has a release take the place of the program in a file, unless it is there.
func (x *installing) bring(ctx context.Context, file string) (data installData, err error) {
	if file, err = x.replaceable(file); err != nil {
		return data, err
	}
	found, from, err := x.from.find(ctx, x.program)
	if err != nil {
		return data, err
	}
	data = installData{DryRun: x.dryRun, Program: file, Version: string(found.Version), Release: from}
	if err := x.compare(ctx, found.Version, &data); err != nil || !data.Changed {
		return data, err
	}
	program, err := x.fetch(ctx, found)
	if err != nil || x.dryRun {
		return data, err
	}
	return data, x.put(ctx, program, &data)
}

// replaceable gives the path of a program free of links, and refuses one that is not ours to
// replace. Neither it nor its folder need be there.
func (x *installing) replaceable(file string) (string, error) {
	if err := mayReplace(file); err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Dir(file)); err != nil && !x.updates {
		return file, nil // it will be made
	}
	file, err := release.Resolve(file)
	if err != nil {
		return "", err
	}
	return file, mayReplace(file)
}

func (x *installing) fetch(ctx context.Context, found *release.Verified) ([]byte, error) {
	working := x.working("fetching durward " + string(found.Version))
	defer working.done()
	return found.Program(ctx)
}

// put puts a program in place. What is there is compared once more: somebody else may have put
// it there meanwhile.
func (x *installing) put(ctx context.Context, program []byte, data *installData) (err error) {
	if !x.updates {
		if err := os.MkdirAll(filepath.Dir(data.Program), 0o755); err != nil {
			return linkError(err)
		}
	}
	place, err := release.Open(data.Program)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.Close()) }()
	data.Program = place.Path
	if err := x.compare(ctx, release.Version(data.Version), data); err != nil || !data.Changed {
		return err
	}
	if err := place.Put(program, func(fresh string) error { return isFit(ctx, fresh, data.Version) }); err != nil {
		return err
	}
	if _, err := os.Lstat(place.Previous()); err == nil {
		data.Previous = place.Previous()
	}
	return nil
}

// compare decides whether the release is to take the place of what is there.
func (x *installing) compare(ctx context.Context, found release.Version, data *installData) error {
	_, err := os.Lstat(data.Program)
	data.Changed = true
	if errors.Is(err, fs.ErrNotExist) {
		return x.compareNothing(data)
	}
	if err != nil {
		return linkError(err)
	}
	data.Former = x.installedVersion(ctx, data.Program)
	former, err := release.ParseVersion(data.Former)
	switch {
	case x.force:
		return nil
	case err != nil && x.updates:
		return &durward.Error{
			Reason: durward.ProgramForeign, Op: "compare the versions", Err: fmt.Errorf("%s is no release of durward; its version is %q", data.Program, data.Former),
			Hint: "replace it all the same with --force, or put a release elsewhere: durward install",
		}
	case err != nil: // who installs wants a release, and what was there is kept
		return nil
	case found.Older(former):
		return older(fmt.Errorf("%s is %s, and the newest that was found is %s", data.Program, former, found))
	}
	data.Changed = former != found
	return nil
}

func (x *installing) compareNothing(data *installData) error {
	if !x.updates {
		return nil
	}
	return &durward.Error{
		Reason: durward.FileNotFound, Op: "update", Err: fmt.Errorf("there is no %s", data.Program),
		Hint: "durward install puts one there",
	}
}

func older(err error) error {
	return &durward.Error{Reason: durward.ReleaseOlder, Op: "compare the versions", Err: err, Hint: "stay with it, or replace it all the same with --force"}
}

// tellInstall says what was done, or would be, and what to do next.
func (x *installing) tellInstall(data installData) error {
	if x.json {
		return x.print(data)
	}
	var done []string
	switch {
	case !data.Changed:
		done = append(done, fmt.Sprintf("durward %s is in %s already", data.Version, data.Program))
	case x.dryRun:
		done = append(done, fmt.Sprintf("would install durward %s in %s", data.Version, data.Program))
	default:
		done = append(done, fmt.Sprintf("installed durward %s in %s", data.Version, data.Program))
	}
	made := "made "
	if x.dryRun {
		made = "would make "
	}
	if data.Policy != nil && data.Policy.Made {
		done = append(done, made+data.Policy.Path)
	}
	for _, l := range data.Links {
		if l.Made {
			done = append(done, made+l.Path)
		}
	}
	if next := x.nextStep(data.Program); !x.dryRun && next != "" {
		done = append(done, "next: "+next)
	}
	_, err := fmt.Fprintln(x.stdout, safetext.Line(strings.Join(done, "; ")))
	return err
}

// nextStep is what to type to have a client use the program.
func (x *installing) nextStep(file string) string {
	if x.noConnect {
		return ""
	}
	for _, dir := range filepath.SplitList(x.env["PATH"]) {
		if filepath.Join(dir, programFile()) == file {
			file = mainName
		}
	}
	return shellPath(file) + " connect CLIENT"
}

// programFile is what the program's file is called.
func programFile() string {
	if runtime.GOOS == "windows" {
		return mainName + ".exe"
	}
	return mainName
}

func (x *installing) programIn(dir string) string {
	return filepath.Join(absolute(dir, x.dir), programFile())
}

// installs reports whether the command is one with the exit statuses of mdmcpcfg.
func (p *program) installs() bool { return p.command == "install" || p.command == "update" }

// installStatus gives the exit status of a command that installs.
func installStatus(err error) int {
	switch durward.ReasonOf(err) {
	case durward.BadUsage:
		return 2
	case durward.PolicyInvalid, durward.ConfigInvalid:
		return 3
	case durward.ReleaseUnverified:
		return 4
	}
	return 1
}
