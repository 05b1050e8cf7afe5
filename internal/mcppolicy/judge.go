package mcppolicy

import (
	"fmt"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/toolcall"
)

const op = "cmd.run"

// A Scope tells whether a path that an argument names lies within an allowed root, by nil.
// A relative path counts from the working directory of the call.
type Scope func(path string) error

// An ArgError is the cause of every refusal of arguments. Its text holds no argument.
type ArgError struct {
	// Index is that of the argument, from 0, or -1 where there are too many.
	Index int
	// Problem says what is wrong with the argument.
	Problem string
	// Err is what a [Scope] said; it may be nil, and it may hold the argument.
	Err error

	limit, actual int64 // where there was too much of something
}

// Error gives "argument 2 holds a NUL byte".
func (e *ArgError) Error() string {
	if e.Index < 0 {
		return e.Problem
	}
	return fmt.Sprintf("argument %d %s", e.Index, e.Problem)
}

// Unwrap gives what a scope said.
func (e *ArgError) Unwrap() error { return e.Err }

// Judge tells whether the command may be run with args, which come behind the fixed ones.
// It asks scope about those that name paths; it must not be nil.
//
// The error is a [*durward.Error] with the reason, the rule and its place. Its cause is an
// [*ArgError], and its [durward.Detail] has the numbers.
func (c *Command) Judge(args []string, scope Scope) error {
	return (&judging{cmd: c, args: args, scope: scope}).judge()
}

// Explain judges like [Command.Judge], by the same steps, and tells all of them.
func (c *Command) Explain(args []string, scope Scope) ([]durward.Step, error) {
	j := &judging{cmd: c, args: args, scope: scope, explain: true}
	err := j.judge()
	return j.steps, err
}

// judging is one list of arguments on its way through the rules.
type judging struct {
	cmd     *Command
	args    []string
	scope   Scope
	explain bool
	steps   []durward.Step // kept if explain is set
}

func (j *judging) judge() error {
	if err := j.limits(); err != nil {
		return err
	}
	for i, arg := range j.args {
		if err := j.argument(i, arg); err != nil {
			j.unreached(i + 1)
			return err
		}
	}
	return nil
}

func (j *judging) limits() error {
	if n := len(j.args); n > toolcall.MaxArgs {
		return j.refuse("args", &ArgError{Index: -1, limit: toolcall.MaxArgs, actual: int64(n), Problem: fmt.Sprintf("%d arguments are more than %d", n, toolcall.MaxArgs)},
			durward.TooManyArgs, "pass long lists through standard input")
	}
	for i, arg := range j.args {
		switch n := len(arg); {
		case n > toolcall.MaxArgBytes:
			return j.refuse("args", &ArgError{Index: i, limit: toolcall.MaxArgBytes, actual: int64(n), Problem: fmt.Sprintf("has %d bytes, more than %d", n, toolcall.MaxArgBytes)},
				durward.ArgTooLong, "pass long data through standard input")
		case strings.ContainsRune(arg, 0):
			return j.refuse("args", &ArgError{Index: i, Problem: "holds a NUL byte"}, durward.ArgNUL, "remove it: no program could receive it")
		}
	}
	if j.explain {
		j.pass("args", durward.Position{}, fmt.Sprintf("%d of at most %d arguments", len(j.args), toolcall.MaxArgs))
	}
	return nil
}

// argument applies the rules in their order until one accepts or refuses.
func (j *judging) argument(i int, arg string) error {
	rules := j.cmd.Entry.Args
	if j.cmd.allow[arg] {
		return j.accept(i, "args.allow", rules.Allow.Where, "is listed")
	}
	if !rules.AllowMetacharacters.Value && strings.ContainsAny(arg, j.cmd.meta) {
		return j.refuse("args.allowMetacharacters", &ArgError{Index: i, Problem: "holds a character that means something to a shell"},
			durward.ArgMetachar, j.remedy("leave the character out"), rules.AllowMetacharacters.Where)
	}
	if err := j.match(i, arg); err != nil {
		return err
	}
	return j.reach(i, arg)
}

// match refuses an argument that no pattern accepts.
func (j *judging) match(i int, arg string) error {
	rules := j.cmd.Entry.Args
	if rules.Any.Value {
		return j.accept(i, "args.any", rules.Any.Where, "is accepted like all others")
	}
	option := len(arg) > 1 && arg[0] == '-'
	matched, admitted := false, false
	for k, p := range j.cmd.patterns {
		admitted = admitted || p.options
		if !p.re.MatchString(arg) {
			continue
		}
		if matched = true; !option || p.options {
			return j.accept(i, fmt.Sprintf("args.patterns[%d]", k), p.where, "matches")
		}
	}
	return j.unmatched(i, option && len(j.cmd.patterns) > 0 && (matched || !admitted))
}

// unmatched refuses an argument. meantForWords is set for an option where the patterns
// are for other arguments.
func (j *judging) unmatched(i int, meantForWords bool) error {
	var at durward.Position
	if list := j.cmd.patterns; len(list) > 0 {
		at = list[0].where
	}
	if meantForWords {
		return j.refuse("args.patterns", &ArgError{Index: i, Problem: "is an option, and no pattern whose every branch begins with a hyphen accepts it"},
			durward.ArgDashNotAllowed, j.remedy("leave the option out"), at)
	}
	return j.refuse("args.patterns", &ArgError{Index: i, Problem: "is neither listed nor accepted by a pattern"},
		durward.ArgNotAllowed, j.remedy("use arguments that the command accepts"), at, j.cmd.Entry.Args.Allow.Where)
}

// reach refuses an argument that names a path outside the allowed roots.
func (j *judging) reach(i int, arg string) error {
	rules := j.cmd.Entry.Args
	at := rules.PathScope.Where
	if rules.PathScope.Value == scopeNone {
		return j.accept(i, "args.pathScope", at, "may name any path")
	}
	path, ok := pathIn(arg, j.cmd.host.windows())
	if !ok {
		return j.accept(i, "args.pathScope", at, "names no path")
	}
	if err := j.scope(path); err != nil {
		return j.refuse("args.pathScope", &ArgError{Index: i, Problem: "names a path outside the allowed roots", Err: err},
			durward.ArgOutsideRoots, "name a path within an allowed root", at)
	}
	return j.accept(i, "args.pathScope", at, "names a path within an allowed root")
}

// pathIn gives the part of an argument that names a path, and whether there is one: the
// value of an option, else all of it.
func pathIn(arg string, windows bool) (string, bool) {
	path := arg
	if name, value, found := strings.Cut(arg, "="); found && strings.HasPrefix(name, "-") && !strings.ContainsAny(name, `/\`) {
		path = value
	}
	drive := windows && len(path) > 1 && path[1] == ':'
	return path, drive || strings.ContainsAny(path, `/\`) || strings.HasPrefix(path, ".")
}

// accept notes that a rule has nothing against an argument.
func (j *judging) accept(i int, rule string, at durward.Position, note string) error {
	if j.explain {
		j.pass(rule, at, fmt.Sprintf("argument %d %s", i, note))
	}
	return nil
}

func (j *judging) pass(rule string, at durward.Position, note string) {
	j.steps = append(j.steps, durward.Step{Rule: j.cmd.rule(rule), Where: j.place(at), Verdict: durward.Passed, Note: note})
}

// refuse makes the error of a rule; at are the places it may have been written at.
func (j *judging) refuse(rule string, cause *ArgError, reason durward.Reason, hint string, at ...durward.Position) error {
	where := j.place(at...)
	if j.explain {
		j.steps = append(j.steps, durward.Step{Rule: j.cmd.rule(rule), Where: where, Verdict: durward.Refused, Note: cause.Error()})
	}
	detail := durward.Detail{Limit: cause.limit, Actual: cause.actual, Err: cause}
	if cause.Index >= 0 {
		detail.ArgIndex = &cause.Index
	}
	return &durward.Error{Reason: reason, Op: op, Rule: j.cmd.rule(rule), Where: where, Hint: hint, Err: detail}
}

// unreached notes the arguments behind one that was refused.
func (j *judging) unreached(from int) {
	for i := from; i < len(j.args) && j.explain; i++ {
		j.steps = append(j.steps, durward.Step{Rule: j.cmd.rule("args"), Where: j.place(), Verdict: durward.Unreached, Note: fmt.Sprintf("argument %d", i)})
	}
}

func (j *judging) place(at ...durward.Position) durward.Position {
	return j.cmd.place(append(at, j.cmd.Entry.Args.Where)...)
}

// remedy says what to do about an argument that is not listed.
func (j *judging) remedy(instead string) string {
	return fmt.Sprintf("%s, or list the argument under args.allow at %s", instead, j.place(j.cmd.Entry.Args.Allow.Where))
}
