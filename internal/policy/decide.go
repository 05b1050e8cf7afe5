package policy

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/durward/durward"
)

// Limits of every call, whatever the policy.
const (
	MaxArgs     = 1024
	MaxArgBytes = 128 << 10
	MaxEnv      = 1024
)

// Decide tells whether a call of a tool may run. An allowing decision carries the
// complete grant; a denying one the first rule that refused, with its place and a
// remedy. Decide is pure and safe for concurrent use; the grant shares nothing with
// the policy.
func (p *Policy) Decide(c durward.Call, t durward.Tool) durward.Decision {
	return p.judge(c, t, func(rule, *judging, *refusal) {})
}

// judge applies the rules in their order until one refuses; each is shown to seen.
func (p *Policy) judge(c durward.Call, t durward.Tool, seen func(rule, *judging, *refusal)) durward.Decision {
	j := &judging{p: p, call: c, tool: t, grant: clone(p.grant)}
	for _, r := range rules {
		no := r.judge(j)
		seen(r, j, no)
		if no != nil {
			return p.denial(r, no)
		}
	}
	return p.allowance(settled(j.grant))
}

func (p *Policy) denial(r rule, no *refusal) durward.Decision {
	if no.rule == "" {
		no.rule = r.name
	}
	return durward.Decision{
		Rule: no.rule, Code: no.code, Reason: no.reason, Remedy: no.remedy,
		Where: p.place(no.rule), PolicyHash: p.hash, Detail: durward.Detail{Limit: no.limit, Actual: no.actual},
	}
}

func (p *Policy) allowance(g durward.Grant) durward.Decision {
	d := durward.Decision{
		Allow: true, Rule: "sandbox.mode", Where: p.place("sandbox.mode"), PolicyHash: p.hash, Grant: g,
		Reason: fmt.Sprintf("mode %s, level %v, network %s", g.Mode, levelWord(g.Level), g.Network.Mode),
	}
	if _, written := p.places["mode"]; !written {
		d.Rule = "default"
	}
	return d
}

// place tells where a rule stands: where its member was written, else where the
// document is that leaves it out.
func (p *Policy) place(rule string) durward.Position {
	member, ok := strings.CutPrefix(rule, "sandbox.")
	if !ok {
		return durward.Position{}
	}
	if at, ok := p.places[member]; ok {
		return at
	}
	return p.source
}

// change says how a member of the policy is changed, and where.
func (p *Policy) change(member, to string) string {
	at, written := p.places[member]
	if name, ok := strings.CutPrefix(member, "env."); ok && name != "set" {
		member = "env.set." + name
	}
	switch {
	case written && strings.HasPrefix(at.File, "--"):
		return fmt.Sprintf("change %s", at)
	case written:
		return fmt.Sprintf("set %s to %s at %s", member, to, at)
	case p.source != durward.Position{}:
		return fmt.Sprintf("add %s: %s to the sandbox at %s", member, to, p.source)
	}
	return fmt.Sprintf("run under a policy with %s: %s (--policy FILE)", member, to)
}

// A refusal is why a rule denies a call.
type refusal struct {
	rule           string // empty: the name of the rule itself
	code           durward.Reason
	reason, remedy string
	limit, actual  int64 // where there was too much of something
}

// judging is one call on its way through the rules. Each may narrow the grant.
type judging struct {
	p     *Policy
	call  durward.Call
	tool  durward.Tool
	grant durward.Grant
}

// A rule is one question put to every call.
type rule struct {
	name  string
	judge func(*judging) *refusal
	// note says for a person what the rule found. It is asked only of a rule that did not
	// refuse.
	note func(*judging) string
}

// rules lists all rules in their order: the form of the call, then what it asks for,
// then what it brings.
var rules = [...]rule{
	{"call.argv", judgeArgv, func(j *judging) string { return plural(len(j.call.Argv), "argument") }},
	{"call.env", judgeEnvForm, func(j *judging) string { return plural(len(j.call.Env), "variable") }},
	{"call.terminal", judgeTerminal, noteTerminal},
	{"sandbox.mode", judgeMode, func(j *judging) string { return string(j.grant.Mode) }},
	{"sandbox.minLevel", judgeLevel, noteLevel},
	{"sandbox.network.mode", judgeNetwork, func(j *judging) string { return string(j.grant.Network.Mode) }},
	{"sandbox.limits", judgeLimits, func(j *judging) string { return fmt.Sprintf("wall time %s", j.grant.Limits.Wall) }},
	{"sandbox.limits.stdinBytes", judgeStdin, func(j *judging) string { return plural(len(j.call.Stdin), "byte") }},
	{"sandbox.env", judgeEnv, func(j *judging) string { return plural(len(j.grant.Env), "variable") + " in all" }},
	{"sandbox.filesystem", judgeDir, func(j *judging) string {
		if j.call.Dir == "" {
			return "the tool's own directory"
		}
		return j.call.Dir
	}},
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func noteLevel(j *judging) string {
	note := fmt.Sprintf("level %v", levelWord(j.grant.Level))
	if j.grant.MinLevel != durward.LevelAuto {
		note += fmt.Sprintf(", at least %d", j.grant.MinLevel.Number())
	}
	return note
}

func noteTerminal(j *judging) string {
	if j.call.Terminal == nil {
		return "none"
	}
	return fmt.Sprintf("%d rows, %d columns", j.call.Terminal.Rows, j.call.Terminal.Cols)
}

func judgeArgv(j *judging) *refusal {
	argv := j.call.Argv
	switch {
	case argv == nil && j.call.Input != nil:
		return nil
	case argv != nil && j.call.Input != nil:
		return &refusal{code: durward.BadCall, reason: "the call has both arguments and structured input", remedy: "send one of the two"}
	case len(argv) == 0 || argv[0] == "":
		return &refusal{code: durward.ArgvEmpty, reason: "no program is named", remedy: "name the program as the first argument"}
	case len(argv) > MaxArgs:
		return &refusal{
			code: durward.TooManyArgs, reason: fmt.Sprintf("%d arguments are more than %d", len(argv), MaxArgs),
			remedy: "pass long lists through standard input or a file",
		}
	}
	for i, arg := range argv {
		if no := judgeArg(i, arg); no != nil {
			return no
		}
	}
	return nil
}

func judgeArg(i int, arg string) *refusal {
	switch {
	case len(arg) > MaxArgBytes:
		return &refusal{
			code: durward.ArgTooLong, reason: fmt.Sprintf("argument %d has %d bytes, more than %d", i, len(arg), MaxArgBytes),
			remedy: "pass long data through standard input or a file",
		}
	case strings.ContainsRune(arg, 0):
		return &refusal{code: durward.ArgNUL, reason: fmt.Sprintf("argument %d holds a NUL byte", i), remedy: "remove it: no program could receive it"}
	case !utf8.ValidString(arg):
		return &refusal{code: durward.ArgNotUTF8, reason: fmt.Sprintf("argument %d is not UTF-8", i), remedy: "encode it as UTF-8"}
	}
	return nil
}

func judgeEnvForm(j *judging) *refusal {
	if len(j.call.Env) > MaxEnv {
		return &refusal{code: durward.BadEnvName, reason: fmt.Sprintf("more than %d variables", MaxEnv), remedy: "send fewer"}
	}
	for _, name := range slices.Sorted(maps.Keys(j.call.Env)) {
		value, wrong := j.call.Env[name], ""
		switch {
		case len(name) > MaxArgBytes || !envName().MatchString(name):
			return &refusal{
				code: durward.BadEnvName, reason: fmt.Sprintf("%.64q is not a name of a variable", name),
				remedy: "use letters, digits and _ and begin with no digit",
			}
		case strings.ContainsRune(value, 0):
			wrong = "holds a NUL byte"
		case !utf8.ValidString(value):
			wrong = "is not UTF-8"
		case len(value) > MaxArgBytes:
			wrong = fmt.Sprintf("is longer than %d bytes", MaxArgBytes)
		}
		if wrong != "" {
			return &refusal{code: durward.BadEnvName, reason: fmt.Sprintf("the value of %.64s %s", name, wrong), remedy: "change the value or leave it out"}
		}
	}
	return nil
}

func judgeTerminal(j *judging) *refusal {
	if t := j.call.Terminal; t != nil && (t.Rows == 0 || t.Cols == 0) {
		return &refusal{code: durward.BadCall, reason: "the terminal has no rows or no columns", remedy: "ask for at least one of each"}
	}
	return nil
}

// judgeDir keeps the working directory where the policy reaches, by its name only: what
// the name leads to is judged by whoever opens it.
func judgeDir(j *judging) *refusal {
	dir := j.call.Dir
	if dir == "" {
		return nil
	}
	if !filepath.IsAbs(dir) || climbs(dir) || strings.ContainsRune(dir, 0) {
		return &refusal{
			code: durward.DirDenied, reason: fmt.Sprintf("the working directory %q is not an absolute path, or holds ..", dir),
			remedy: "write out the path it leads to",
		}
	}
	dir = filepath.Clean(dir)
	if root := j.p.workspace; len(root) > 0 && !anyContains(root, dir) {
		return &refusal{
			code: durward.DirDenied, reason: fmt.Sprintf("the working directory %s is outside the root", dir),
			remedy: "work inside the root, or choose another root with --root",
		}
	}
	return judgeReach(j, dir)
}

// judgeReach refuses a directory that the command could not see.
func judgeReach(j *judging, dir string) *refusal {
	f := j.grant.Files
	if !j.grant.Mode.Confines() {
		return nil
	}
	// The root may have been named by a link; the sets hold physical paths.
	dir = j.p.physicalDir(dir)
	if accessAt(f, dir) == noAccess {
		return &refusal{
			rule: "sandbox.filesystem.read", code: durward.DirDenied,
			reason: fmt.Sprintf("the working directory %s is not among the readable paths", dir),
			remedy: j.p.change("filesystem.read", fmt.Sprintf("[…, %q]", dir)),
		}
	}
	if anyContains(f.Deny, dir) {
		return &refusal{
			rule: "sandbox.filesystem.deny", code: durward.DirDenied,
			reason: fmt.Sprintf("the working directory %s is denied", dir), remedy: "work in another directory",
		}
	}
	return nil
}

// physicalDir puts the physical workspace in place of the one that was written.
func (p *Policy) physicalDir(dir string) string {
	if p.root == [2]string{} {
		return dir
	}
	if rest, err := filepath.Rel(p.root[0], dir); err == nil && contains(p.root[0], dir) {
		return filepath.Join(p.root[1], rest)
	}
	return dir
}
