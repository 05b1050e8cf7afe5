package pages

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

// Rules decide a call by the page it names, and then by the operator's policy, which
// gives the grant. It is a [core.Policy].
type Rules struct {
	Operator core.Policy
	// Env holds the server's variables, which a request cannot override, and Path, if
	// set, the PATH of every command.
	Env  map[string]string
	Path string
	// NoGuard lets callers name any path.
	NoGuard bool
	// Fetches says that curl is a built-in command, which judges every URL by itself.
	Fetches bool
	// Elsewhere says that commands do not run in directories of this machine, so that
	// the operator's policy has none to judge.
	Elsewhere bool
	// Components lets pages run their own.
	Components bool
}

// Decide decides. The command must be one that the page allows, word for word.
func (r Rules) Decide(c durward.Call, t durward.Tool) durward.Decision {
	page, ok := t.Spec.(*Page)
	if !ok {
		return denied(fmt.Errorf("tool %q is no page", t.ID))
	}
	v, err := r.judge(page, c)
	if err != nil {
		return denied(err)
	}
	c.Env, c.Dir = nil, page.Dir
	if r.Elsewhere {
		c.Dir = ""
	}
	d := r.Operator.Decide(c, t)
	if !d.Allow {
		return d
	}
	d.Rule, d.Where, d.Reason = v.rule, v.where, "the page allows it"
	d.PolicyHash = hashOf(d.PolicyHash, page.hash)
	d.Grant.Env = r.environment(v.env, d.Grant.Env)
	d.Grant.PrivateDir = nil
	if c.Surface == ComponentSurface {
		d.Grant.Keep = durward.KeepHead // what it prints beyond its limit is left out
	}
	return d
}

// A verdict names the rule of a page that allows a call, and holds the variables of the
// request that go on.
type verdict struct {
	rule  string
	where durward.Position
	env   map[string]string
}

// judge finds the rule of the page that allows the call.
func (r Rules) judge(page *Page, c durward.Call) (verdict, error) {
	if page.Dir == "" {
		return verdict{}, &durward.Error{
			Reason: durward.DirUnavailable, Op: "decide", Hint: "serve the page from a directory", Err: errors.New("the page lies in no directory that a command could run in"),
		}
	}
	if c.Surface == ComponentSurface {
		return r.judgeComponent(page, c)
	}
	if page.refused != nil {
		return verdict{}, page.refused
	}
	env, err := requested(c.Env, page.allows())
	if err != nil {
		return verdict{}, err
	}
	i, err := page.frontmatter.Match(c.Argv)
	if err != nil {
		return verdict{}, at(page, err)
	}
	spec := page.frontmatter.Tools[i]
	return verdict{fmt.Sprintf("tools[%d]", i), spec.Where, env}, r.guard(spec, c.Argv, env)
}

func (r Rules) judgeComponent(page *Page, c durward.Call) (verdict, error) {
	if !r.Components || !page.hasComponent(c.Argv) {
		return verdict{}, &durward.Error{Reason: durward.CommandNotAllowed, Op: "decide", Rule: "components", Hint: "turn components on, for a page that its commands cannot write, or remove the block"}
	}
	env, err := requested(listed(c.Env, page.frontmatter.Env), page.allows())
	return verdict{"components", durward.Position{File: page.Path}, env}, err
}

// guard judges what a caller put into a command that the page allows.
func (r Rules) guard(spec ToolSpec, command []string, env map[string]string) error {
	if r.NoGuard {
		return nil
	}
	if err := spec.guard(command, r.Fetches && command[0] == "curl"); err != nil {
		return err
	}
	return spec.guardVariables(env, r.Env)
}

// at adds the page to an error that names no place in it.
func at(page *Page, err error) error {
	e := durward.AsError(err)
	if e == nil || e.Where != (durward.Position{}) {
		return err
	}
	located := *e
	located.Where.File = page.Path
	return &located
}

// environment puts the variables of a request below the operator's, the server's and
// the fixed ones.
func (r Rules) environment(request, operator map[string]string) map[string]string {
	env := merged(request, operator, r.Env)
	maps.Copy(env, Fixed())
	if r.Path != "" {
		env["PATH"] = r.Path
	}
	return env
}

// hashOf gives the digest of two policies that were both asked.
func hashOf(operator, page string) string {
	sum := sha256.Sum256([]byte(operator + "\n" + page))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func denied(err error) durward.Decision {
	d := durward.Decision{Code: durward.ReasonOf(err), Reason: err.Error()}
	if d.Code == "" {
		d.Code = durward.Defect
	}
	if e := durward.AsError(err); e != nil {
		d.Rule, d.Where, d.Remedy = e.Rule, e.Where, e.Hint
		if d.Reason = e.Reason.Summary(); e.Err != nil {
			d.Reason = e.Err.Error()
		}
	}
	return d
}
