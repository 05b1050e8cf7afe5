package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/durward/durward"
)

// narrowTo gives the judged grant the changes that change makes to a copy of it, as far
// as they make it narrower.
func (j *judging) narrowTo(change func(*durward.Grant)) {
	asked := clone(j.grant)
	change(&asked)
	j.grant = narrowGrant(j.grant, asked)
}

func judgeMode(j *judging) *refusal {
	asked, given := j.call.Ask.Mode, j.grant.Mode
	switch {
	case asked == "" || asked == given:
		return nil
	case wider(modes, asked, given):
		return &refusal{
			code: durward.ModeDenied, reason: fmt.Sprintf("the call asks for mode %q, the policy gives %s", asked, given),
			remedy: "ask for " + string(given) + " or less, or " + j.p.change("mode", string(asked)),
		}
	}
	j.narrowTo(func(g *durward.Grant) {
		g.Mode = asked
		for _, r := range requiredBy(asked) {
			r.Firm = true // the caller wants it held, whatever the door's default
			g.Require = append(g.Require, r)
		}
		if asked.Confines() && !given.Confines() {
			j.confine(g)
		}
	})
	return nil
}

// confine gives a grant of an unconfined mode what a confined one brings by itself.
func (j *judging) confine(g *durward.Grant) {
	g.Files.Deny = slices.Concat(g.Files.Deny, j.p.confined.Deny)
	g.Files.DenyGlobs = slices.Concat(g.Files.DenyGlobs, j.p.confined.DenyGlobs)
	g.Files.Protect = slices.Concat(g.Files.Protect, j.p.confined.Protect)
	if _, written := j.p.places["identity"]; !written {
		g.Identity = durward.Identity{}
	}
}

func judgeLevel(j *judging) *refusal {
	asked, fixed := j.call.Ask.MinLevel, j.grant.Level
	switch {
	case asked == durward.LevelAuto:
		return nil
	case asked < durward.LevelAuto || asked > durward.LevelMicroVM:
		return &refusal{code: durward.ModeDenied, reason: "the call asks for a level that there is none of", remedy: "ask for a level from 0 to 4"}
	case fixed != durward.LevelAuto && asked > fixed:
		return &refusal{
			rule: "sandbox.level", code: durward.ModeDenied,
			reason: fmt.Sprintf("the call asks for at least level %d, the policy runs at level %d", asked.Number(), fixed.Number()),
			remedy: fmt.Sprintf("ask for at least level %d, or %s", fixed.Number(), j.p.change("level", "auto")),
		}
	}
	j.narrowTo(func(g *durward.Grant) { g.MinLevel = asked })
	return nil
}

func judgeNetwork(j *judging) *refusal {
	asked, given := j.call.Ask.Network, j.grant.Network.Mode
	switch {
	case asked == "" || asked == given:
		return nil
	case wider(networkModes, asked, given):
		return &refusal{
			code: durward.NetworkDenied, reason: fmt.Sprintf("the call asks for network %q, the policy gives %s", asked, given),
			remedy: "ask for " + string(given) + " or less, or " + j.p.change("network.mode", string(asked)),
		}
	}
	j.narrowTo(func(g *durward.Grant) {
		g.Network.Mode = asked
		g.Require = append(g.Require, durward.Requirement{Guarantee: durward.Net, Firm: true})
	})
	return nil
}

func judgeLimits(j *judging) *refusal {
	asked := j.call.Ask.Limits
	if asked == (durward.Limits{}) {
		return nil
	}
	for _, row := range limitRows {
		want, have := *row.of(&asked), *row.of(&j.grant.Limits)
		if want == 0 || want > 0 && !exceeds(want, have) || want == durward.Unlimited && have <= 0 {
			continue
		}
		return &refusal{
			rule: "sandbox." + row.name, code: durward.LimitDenied,
			reason: fmt.Sprintf("the call asks for %s %v, the policy gives %v", shortName(row), askedValue(row, asked), limitValue(row, j.grant.Limits)),
			remedy: fmt.Sprintf("ask for at most %v, or %s", limitValue(row, j.grant.Limits), j.p.change(row.name, fmt.Sprint(askedValue(row, asked)))),
		}
	}
	j.narrowTo(func(g *durward.Grant) {
		for _, row := range limitRows {
			if want := *row.of(&asked); want > 0 {
				*row.of(&g.Limits) = want
			}
		}
	})
	return nil
}

func shortName(row limitRow) string { return strings.TrimPrefix(row.name, "limits.") }

func askedValue(row limitRow, l durward.Limits) any {
	if v := *row.of(&l); v < durward.Unlimited {
		return v
	}
	return limitValue(row, l)
}

func judgeStdin(j *judging) *refusal {
	size, most := int64(len(j.call.Stdin)), j.grant.Limits.Stdin
	if !exceeds(size, most) || size == 0 {
		return nil
	}
	return &refusal{
		code: durward.StdinTooLarge, reason: fmt.Sprintf("the input has %d bytes, more than %d", size, most),
		remedy: "send less, or " + j.p.change("limits.stdinBytes", fmt.Sprint(size)), limit: most, actual: size,
	}
}

func judgeEnv(j *judging) *refusal {
	for _, name := range slices.Sorted(maps.Keys(j.call.Env)) {
		value := j.call.Env[name]
		if no := judgeVariable(j, name, value); no != nil {
			return no
		}
		if j.grant.Env == nil {
			j.grant.Env = map[string]string{}
		}
		j.grant.Env[name] = value
		j.grant.PrivateDir = filter(j.grant.PrivateDir, func(n string) bool { return n != name })
	}
	return nil
}

func judgeVariable(j *judging, name, value string) *refusal {
	family, settable := reserved(name)
	switch {
	case j.p.allowed[name]:
		return nil
	case family != "" && !harmless(family, value):
		remedy := "leave it out"
		if settable {
			remedy = "leave it out, or " + j.p.change("env.set", "{"+name+": …}")
		}
		return &refusal{code: durward.EnvDenied, reason: name + " is refused" + because(family), remedy: remedy}
	}
	own, held := j.p.held(name)
	if !held || own == name && j.grant.Env[own] == value {
		return nil
	}
	return &refusal{
		rule: "sandbox.env." + own, code: durward.EnvDenied,
		reason: "the policy fixes the value of " + own, remedy: "leave " + name + " out, or " + j.p.change("env."+own, "another value"),
	}
}

// held tells whether the policy fixes the value of a variable, and how it spells it.
func (p *Policy) held(name string) (own string, held bool) {
	for _, own := range slices.Sorted(maps.Keys(p.grant.Env)) {
		if own != name && !(p.foldEnv && strings.EqualFold(own, name)) {
			continue
		}
		_, written := p.places["env."+own]
		return own, written || own != "LANG"
	}
	return "", false
}

// AllowEnv gives the policy with reserved names that a request may set nevertheless,
// because whoever runs the door lists them for a command. The loader's variables can
// never be listed. Narrow first: a list holds only for the policy it was given to.
func (p *Policy) AllowEnv(names ...Text) (*Policy, error) {
	q := *p
	q.allowed = maps.Clone(p.allowed)
	if q.allowed == nil {
		q.allowed = map[string]bool{}
	}
	var c compiler
	for _, name := range names {
		family, _ := reserved(name.Value)
		switch {
		case !envName().MatchString(name.Value):
			c.problems.Add(name.Where, "%q is not a name of a variable", name.Value)
		case neverAllowed(family):
			c.problems.Add(name.Where, "%s can never be allowed%s", name.Value, because(family))
		}
		q.allowed[name.Value] = true
	}
	if err := c.problems.Err(); err != nil {
		return nil, Invalid(err)
	}
	return q.sealed(), nil
}
