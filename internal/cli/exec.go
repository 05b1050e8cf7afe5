package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/policy"
	"github.com/durward/durward/internal/sandbox"
)

// An execution is one `durward exec`.
type execution struct {
	*program
	argv []string

	policyFile, root                string
	readPaths, writePaths, allowNet []string
	level                           string
	addEnv                          []string
	timeout                         time.Duration
	report, stream, tty, raw        bool
	dryRun, cow, yes                bool

	// given reports whether a flag was.
	given  func(flag string) bool
	call   durward.Call
	policy *policy.Policy
	// changes are what the command wrote to a copy, and applied says what became of it; both
	// nil before that is settled.
	changes []durward.Change
	applied *bool
	// whole is held while changes are applied: that is not to end half-way.
	whole sync.Mutex
	// began is when the time of the call begins to run.
	began time.Time
}

func (p *program) execCommand() *cobra.Command {
	x := &execution{program: p}
	cmd := &cobra.Command{
		Use:   "exec [FLAG…] -- ARGV…",
		Short: "run one command, decided, within limits and on record",
		Long: `The command keeps the working directory, gets a clean environment, and ends with all it
started. It reads standard input unless that is a terminal. What it prints is shown without
anything that a terminal would obey or a reader could not see; a file or a pipe gets each byte
as it is with --raw, and a terminal by --stream --tty, where input comes from it, too. Its exit status is
given on; after signal n it is 128+n. Of our own failures 124 is timed out, 125 refused or not to be prepared,
126 not executable, 127 not found, 137 ended by a limit or because a protected path changed, 1 that its output
could not be written. Without --policy it reads the root and the system, writes nothing but a private /tmp and
what --write names, and has no network. With --cow what it writes lands in a copy of the root, and in copies of what
--write names: it is shown when the command has ended, and applied when you agree, or else dropped. With --yes it is
applied whatever the exit status, and dropped where a limit ended the command; what cannot be applied as a whole is
not applied, and that is 125.`,
		Example: `  durward exec -- ls -l
  durward exec --timeout 5s --report -- sh -c 'echo "$HOME"'
  durward exec --stream -- sh -c 'echo one; echo two'
  durward exec --raw -- cat Makefile > copy
  durward exec --cow -- sh -c 'date > notes'
  durward exec --dry-run -- make all`,
		RunE: x.take,
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.SetInterspersed(false)
	x.callFlags(f)
	f.BoolVar(&x.stream, "stream", false, "pass input and output on as they come")
	f.BoolVar(&x.tty, "tty", false, "with --stream: give the command a terminal")
	f.BoolVar(&x.raw, "raw", false, "give output to a file or a pipe byte for byte, with what a terminal would obey")
	f.BoolVar(&x.report, "report", false, "print what was held as the last line on standard error")
	f.BoolVar(&x.yes, "yes", false, "with --cow: apply what was written without asking")
	f.BoolVar(&x.dryRun, "dry-run", false, "print what durward explain does and run nothing")
	return cmd
}

// callFlags are those that say what is to be decided.
func (x *execution) callFlags(f *pflag.FlagSet) {
	f.StringVar(&x.policyFile, "policy", x.env[varPolicy], "decide by the policy in `FILE` (YAML or JSON)")
	f.StringVar(&x.root, "root", "", "keep the working directory inside `DIR` (default: the working directory)")
	f.StringArrayVar(&x.readPaths, "read", nil, "let the command read `PATH`, too")
	f.StringArrayVar(&x.writePaths, "write", nil, "let the command write `PATH`")
	f.StringArrayVar(&x.allowNet, "allow-net", nil, "let the command reach `HOST:PORT`")
	f.BoolVar(&x.cow, "cow", false, "let the command write to a copy of the root; show what it wrote, and ask before it is applied")
	f.StringVar(&x.level, "level", "", "run at this sandbox `LEVEL`: 0, 1 or 2")
	f.Var(span{&x.timeout}, "timeout", "end the command after this `DURATION`")
	f.StringArrayVar(&x.addEnv, "env", nil, "add `NAME=VALUE` to the environment")
}

// take runs what a command line says.
func (x *execution) take(cmd *cobra.Command, argv []string) error {
	x.argv = append([]string{}, argv...)
	x.given = cmd.Flags().Changed
	return x.run(cmd.Context())
}

// run is the whole of it: from flags to a call, and from its end to an exit status.
func (x *execution) run(ctx context.Context) error {
	if err := x.prepare(); err != nil {
		return err
	}
	_, _, err := x.settings()
	x.noteProject()
	if err != nil {
		return err
	}
	if x.dryRun {
		return x.preview(ctx)
	}
	h, err := x.open(x.policy)
	if err != nil {
		return err
	}
	for _, o := range []*outlet{x.stdout, x.stderr} {
		o.exact = x.raw && !o.terminal
	}
	ctx, signals := catchSignals(ctx, endings...)
	defer signals.stop()
	x.began = time.Now()
	if x.stream {
		return x.runStream(ctx, signals, h)
	}
	return x.runPlain(ctx, signals, h)
}

// prepare makes the call and the policy.
func (x *execution) prepare() error {
	if err := x.checkFlags(); err != nil {
		return err
	}
	dir, err := x.dir()
	if err != nil {
		return noDir(err)
	}
	x.call = durward.Call{
		Door: "exec", Caller: x.caller(), Tool: commandTool, Argv: x.argv, Dir: dir,
		Ask: durward.Ask{Limits: durward.Limits{Wall: x.timeout}},
	}
	if len(x.argv) > 0 {
		x.call.Path = x.argv[0]
	}
	if err := x.environment(); err != nil {
		return err
	}
	return x.choosePolicy(dir)
}

func noDir(err error) error {
	return &durward.Error{
		Reason: durward.DirUnavailable, Op: "find working directory", Hint: "cd to a directory that exists", Err: err,
	}
}

func (x *execution) checkFlags() error {
	if err := x.readTimeout(); err != nil {
		return err
	}
	switch {
	case x.stream && x.json:
		return usageError("leave out one of them, or use --report", "--stream passes output on as it comes and --json holds it until the end")
	case x.raw && x.json:
		return usageError("leave out --raw", "--json holds every byte already, escaped")
	case x.tty && !x.stream:
		return usageError("add --stream", "--tty needs --stream")
	case x.cow && x.stream:
		return usageError("leave out --stream", "--cow shows what was written when the command has ended")
	case x.yes && !x.cow && x.policyFile == "":
		return usageError("add --cow", "--yes has a meaning only with --cow")
	case x.cow && x.policyFile != "":
		return usageError("write copyOnWrite: true into "+x.policyFile, "--cow changes the built-in policy")
	case x.policyFile != "" && len(x.readPaths)+len(x.writePaths)+len(x.allowNet) > 0:
		return usageError("write the path or address into "+x.policyFile,
			"--read, --write and --allow-net change the built-in policy; beside a policy file a flag could only widen it")
	}
	return checkAllowNet(x.allowNet)
}

// checkAllowNet refuses what names no host with its port.
func checkAllowNet(entries []string) error {
	for _, entry := range entries {
		if err := policy.CheckEndpoint(entry); err != nil {
			return usageError("write HOST:PORT, as in --allow-net example.com:443", "--allow-net: %w", err)
		}
	}
	return nil
}

// readTimeout takes the time from the flag, or else from the variable. It counts in
// whole milliseconds, as policies do.
func (x *execution) readTimeout() (err error) {
	const fix = "give a time like 30s, 5m or, in seconds, 2.5"
	from, text := "--timeout", x.env[varTimeout]
	if !x.given("timeout") {
		if text == "" {
			return nil
		}
		from = varTimeout
		x.timeout, err = spanOf(text)
	}
	if err != nil {
		return usageError(fix, "%s %q: %w", from, text, err)
	}
	if x.timeout <= 0 {
		return usageError(fix, "%s %s leaves no time", from, x.timeout)
	}
	x.timeout = max(x.timeout.Truncate(time.Millisecond), time.Millisecond)
	x.within = x.timeout
	return nil
}

func (x *execution) environment() error {
	for _, entry := range x.addEnv {
		name, value, ok := strings.Cut(entry, "=")
		if !ok {
			return usageError("write --env NAME=VALUE", "--env %s has no value", name)
		}
		if x.call.Env == nil {
			x.call.Env = map[string]string{}
		}
		if _, twice := x.call.Env[name]; twice {
			return usageError("leave out one of them", "--env gives %s twice", name)
		}
		x.call.Env[name] = value
	}
	return nil
}

func (p *program) caller() durward.Caller {
	return durward.Caller{Name: "local:" + strconv.Itoa(os.Getuid()), Method: "process"}
}

// choosePolicy takes the policy of the operator, or the built-in one as flags change it.
func (x *execution) choosePolicy(dir string) error {
	root, err := x.rootOr(dir)
	if err != nil {
		return err
	}
	level, err := x.levelFlag()
	if err != nil {
		return err
	}
	if x.policyFile != "" {
		x.call.Ask.MinLevel = level
		x.policy, err = x.loadPolicy(x.policyFile, root, x.timeout)
	} else {
		x.policy, err = x.builtIn(root, level)
	}
	if err == nil && x.yes && !x.copies() {
		return usageError("write copyOnWrite: true into "+x.policyFile, "--yes has a meaning only where a copy is written to")
	}
	if err == nil && x.stream {
		x.policy = x.policy.Keep(durward.KeepFlow)
	}
	return err
}

func (x *execution) rootOr(dir string) (string, error) {
	if x.root == "" {
		return dir, nil
	}
	root := x.root
	if !filepath.IsAbs(root) {
		root = filepath.Join(dir, root)
	}
	info, err := os.Stat(root)
	if err == nil && !info.IsDir() {
		err = errors.New("not a directory")
	}
	if err != nil {
		return "", usageError("name a directory that exists", "--root %s: %w", x.root, err)
	}
	// Only physical paths can be compared.
	return filepath.EvalSymlinks(root)
}

func (x *execution) levelFlag() (durward.Level, error) {
	if x.level == "" {
		return durward.LevelAuto, nil
	}
	return levelNamed("--level", x.level)
}

// levelNamed reads the value of a flag.
func levelNamed(flag, text string) (durward.Level, error) {
	levels := map[string]durward.Level{
		"auto": durward.LevelAuto, "0": durward.LevelNone, "1": durward.LevelRestrict, "2": durward.LevelIsolate,
	}
	level, ok := levels[text]
	if !ok {
		return 0, usageError("use "+flag+" 0, 1 or 2", "there is no level %q", text)
	}
	return level, nil
}

// loadPolicy reads and compiles a policy file. It waits for the file as long as wait,
// or for five seconds where that is zero.
func (p *program) loadPolicy(file, root string, wait time.Duration) (*policy.Policy, error) {
	text, err := readBounded(file, config.MaxBytes+1, cmp.Or(wait, 5*time.Second))
	if err != nil {
		return nil, &durward.Error{
			Reason: durward.PolicyInvalid, Op: "read policy", Hint: "name a policy file that can be read",
			Err: config.Problems{{Where: durward.Position{File: file}, Message: cause(err).Error()}},
		}
	}
	doc, err := policy.Parse(file, text)
	if err != nil {
		return nil, err
	}
	compiled, err := policy.Compile(doc, p.host(root, absolute(file, p.dir)))
	return compiled, p.blameHome(err)
}

func absolute(path string, dir func() (string, error)) string {
	if base, err := dir(); err == nil && !filepath.IsAbs(path) {
		return filepath.Join(base, path)
	}
	return filepath.Clean(path)
}

// cause gives what went wrong without the path, which is named beside it.
func cause(err error) error {
	var pathError *os.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}

// builtIn gives the policy that flags describe.
func (x *execution) builtIn(root string, level durward.Level) (*policy.Policy, error) {
	flags := policy.Flags{AllowNet: x.allowNet, Level: level, CopyOnWrite: x.cow}
	for _, row := range []struct {
		from []string
		into *[]string
	}{{x.readPaths, &flags.Read}, {x.writePaths, &flags.Write}} {
		for _, path := range row.from {
			*row.into = append(*row.into, absolute(path, x.dir))
		}
	}
	p, err := policy.Default(x.host(root), flags)
	return p, badFlags(x.blameHome(err))
}

// badFlags says of mistakes in a policy that flags describe that they stand on the command line.
func badFlags(err error) error {
	problems := config.ProblemsOf(err)
	if len(problems) == 0 {
		return err
	}
	fix := mainName + " exec --help lists the flags"
	if from := problems[0].Where.File; from == "--read" || from == "--write" {
		fix = "name a file or a folder that exists"
	}
	return usageError(fix, "%s", strings.Join(details(err), "; "))
}

// sayWhatIsWeak tells, before any output of a command that runs, what the built-in
// policy asks for and this machine cannot hold. A policy that somebody wrote is held or
// refused, and needs no such line.
func (x *execution) sayWhatIsWeak() {
	if x.policy.Grant().StepDown {
		x.noteWeakness()
	}
}

// noteWeakness tells what the built-in policy asks for and this machine cannot hold.
func (p *program) noteWeakness() {
	host := sandbox.Probe()
	switch {
	case host.Level(durward.LevelIsolate) == nil:
	case host.Level(durward.LevelRestrict) == nil:
		p.note("level 1: names, owners and times of all files are open, and other processes can be listed (durward doctor)")
	default:
		p.note("level 0: files and network are not confined (durward doctor)")
	}
}

// subject is what a refusal is about.
func (x *execution) subject() string {
	switch {
	case len(x.argv) == 0:
		return ""
	case x.argv[0] == "":
		return "''"
	}
	return shortened(filepath.Base(x.argv[0]))
}
