package catalog

import (
	"slices"
	"sync"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/mcppolicy"
	"github.com/durward/durward/internal/policy"
)

// An entry is a command with what holds it.
type entry struct {
	*mcppolicy.Command

	mu   sync.Mutex
	last *held // guarded by mu; nil before the first call
}

// A held is what holds a command while the same of its grounds are there.
type held struct {
	grounds []bool
	gitDirs []string
	policy  *policy.Policy
}

// held gives what holds the command now. It is compiled when the command is first asked
// for, since there may be many and a client waits for the first answer, and again when a
// root or a zone came or went, or the files of git lie elsewhere.
func (e *entry) held() (*policy.Policy, error) {
	var grounds []bool
	for _, path := range e.Grounds() {
		grounds = append(grounds, e.There(path))
	}
	gitDirs := e.GitDirs()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.last == nil || !slices.Equal(e.last.grounds, grounds) || !slices.Equal(e.last.gitDirs, gitDirs) {
		p, err := e.Confine()
		if err != nil {
			return nil, err
		}
		e.last = &held{grounds, gitDirs, p}
	}
	return e.last.policy, nil
}

func entriesOf(p *mcppolicy.Policy) map[string]*entry {
	entries := make(map[string]*entry, len(p.Commands))
	for _, c := range p.Commands {
		entries[c.ID] = &entry{Command: c}
	}
	return entries
}

// grant decides what a call of a command gets.
func (e *entry) grant(c durward.Call, t durward.Tool) (durward.Decision, error) {
	env, err := e.Environ(c.Env)
	if err != nil {
		return durward.Decision{}, err
	}
	held, err := e.held()
	if err != nil {
		return durward.Decision{}, err
	}
	d := held.Decide(confined(c), t)
	if d.Allow {
		g := &d.Grant
		g.Env, g.PrivateDir, g.Keep = env, nil, e.Keep()
		g.BeginAtRoot = e.Entry.CwdPolicy.Value == "none"
		g.Limits.OutputHard = durward.Unlimited // the command is never held up by what it prints
		g.Limits.Wall = 2 * e.Timeout           // once to wait for a slot
	}
	return d, nil
}

// confined gives a call as the sandbox of its command judges it: variables, directory and
// time are judged by themselves. What is asked for beyond the policy's own time is no
// refusal: the shorter of the two counts.
func confined(c durward.Call) durward.Call {
	c.Env, c.Dir, c.Ask.Limits.Wall = nil, "", 0
	return c
}
